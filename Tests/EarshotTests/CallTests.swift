import Earshot
import Foundation
import Synchronization
import Testing

/// A sine that never ends.
final class Tone: AudioSource {
  let channelCount = 1
  private let position = Mutex(0)

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let start = position.withLock { value in
      defer { value += frameCount }
      return value
    }
    for index in 0..<frameCount {
      samples[index] = Int16(8000 * sin(Double(start + index) * 2 * .pi * 440 / 48_000))
    }
    return frameCount
  }
}

/// Keeps what was heard.
final class Ear: AudioSink {
  let channelCount = 1
  let heard = Mutex<[Int16]>([])

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    let copy = Array(samples[0..<frameCount])
    heard.withLock { $0 += copy }
  }

  func finish() {}
}

@Suite(.serialized) struct CallTests {
  /// Goal: two endpoints and a rendezvous on the loopback address have a call with audio both ways.
  @Test(.timeLimit(.minutes(1)))
  func `two endpoints talk through a rendezvous`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let bob = try await endpoint("bob", rendezvous, folder)
    // Alice's socket has no address of its own, as by default.
    let alice = try await endpoint("alice", rendezvous, folder, bind: "0.0.0.0:0")
    #expect(try await bob.waitUntilRegistered() == .granted)
    #expect(try await alice.waitUntilRegistered() == .granted)

    let bobsEar = Ear()
    // Before the invitation can come: a stream has only what happens after it was asked for.
    let bobsEvents = await bob.events()
    let bobsReport = Task {
      try await Self.answer(bob, bobsEvents, CallOptions(source: Tone(), sink: bobsEar))
    }
    let alicesEar = Ear()
    let events = await alice.events()
    let call = try await alice.call(
      "bob", options: CallOptions(source: Tone(), sink: alicesEar))
    var report: CallReport?
    for await event in events {
      switch event {
      case .callStateChanged(_, .connected, _):
        // Half a second of sound is enough to hear that there is some.
        Task {
          while alicesEar.heard.withLock({ $0.count }) < 24_000 { await Task.yield() }
          await call.hangUp(reason: "enough")
        }
      case .callEnded(_, let ended): report = ended
      default: break
      }
      if report != nil { break }
    }
    let other = try await bobsReport.value
    #expect(report?.outcome == .completed)
    #expect(other?.outcome == .completed)
    #expect(report?.callID == other?.callID)
    #expect(other?.reason.contains("enough") == true)
    #expect(report?.statistics?.received.packetsLost == 0)
    #expect(report?.statistics?.overheadBytesPerAudioPacket == 28)
    let ends = try #require(report?.statistics?.path)
    #expect(ends.local.description == "127.0.0.1:\(alice.localAddress.port)")
    #expect(ends.remote == bob.localAddress)
    #expect(Self.loudness(alicesEar) > 3000)
    #expect(Self.loudness(bobsEar) > 3000)
    await alice.close()
    await bob.close()
    rendezvous.stop()
  }

  func endpoint(
    _ name: String, _ rendezvous: LoopbackRendezvous, _ folder: URL, bind: String = "127.0.0.1:0"
  ) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.name = name
    configuration.bind = bind
    configuration.identityFile = folder.appending(path: name + "/identity").path
    return try await Endpoint.open(configuration)
  }

  static func answer(
    _ endpoint: Endpoint, _ events: AsyncStream<EndpointEvent>, _ options: CallOptions
  ) async throws -> CallReport? {
    for await event in events {
      switch event {
      case .incomingCall(let incoming):
        try await endpoint.call(incoming.id).accept(options)
      case .callEnded(_, let report): return report
      default: break
      }
    }
    return nil
  }

  /// Root mean square of the last quarter of a second.
  private static func loudness(_ ear: Ear) -> Double {
    let samples = ear.heard.withLock { Array($0.suffix(12_000)) }
    let energy = samples.reduce(0.0) { $0 + Double($1) * Double($1) }
    return (energy / Double(max(1, samples.count))).squareRoot()
  }
}
