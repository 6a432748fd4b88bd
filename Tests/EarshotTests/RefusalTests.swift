import Foundation
import Glibc
import Primitives
import Reactor
import Synchronization
import Testing

@testable import Earshot

/// A port that nobody else can bind, and whose host refuses what comes there.
private final class KeptPort {
  private let socket: UDPSocket
  var address: SocketAddress { socket.localAddress }

  /// - Throws: Where the address cannot be bound, or not connected to the port for discarding
  ///   (RFC 863) of a host where nobody sends from it.
  init(_ address: SocketAddress) throws {
    socket = try UDPSocket(binding: address)
    var nobody = sockaddr_in()
    nobody.sin_family = sa_family_t(AF_INET)
    nobody.sin_port = in_port_t(9).bigEndian
    nobody.sin_addr.s_addr = in_addr_t(0x7f00_4d02).bigEndian
    let (number, size) = (socket.fileNumber, socklen_t(MemoryLayout<sockaddr_in>.size))
    let status = unsafe withUnsafePointer(to: &nobody) { nobody in
      unsafe nobody.withMemoryRebound(to: sockaddr.self, capacity: 1) { nobody in
        unsafe connect(number, nobody, size)
      }
    }
    guard status == 0 else { throw ReactorError("connect", "a UDP socket", errno: errno) }
  }
}

/// When the log said what, by the endpoint's own thread: tests beside this one may keep all others.
private final class LogTimes: Sendable {
  private let entries = Mutex<[(time: Instant, entry: LogEntry)]>([])

  func add(_ entry: LogEntry) { entries.withLock { $0.append((SystemClock.now, entry)) } }

  /// From the first line to the first warning, in ms.
  var untilWarning: UInt64? {
    entries.withLock { entries in
      guard let first = entries.first,
        let told = entries.first(where: { $0.entry.level == .warning })
      else { return nil }
      return told.time.nanoseconds(since: first.time) / 1_000_000
    }
  }
}

/// A rendezvous that is not there, on a host that says so.
@Suite(.serialized) struct RefusalTests {
  /// That it takes less than a second is held by the schedule below and by
  /// tools/acceptance/mistakes.
  /// Method: the port is kept by a socket that hears another port alone, so that its host refuses
  /// all others; a port that was free a moment ago may be bound by any test beside this one.
  @Test(.timeLimit(.minutes(1)))
  func `a refusal is told after two questions, and a true answer still wins`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var kept: KeptPort? = try KeptPort(SocketAddress(v4: 127, 0, 77, 1, port: 0))
    let address = try #require(kept?.address)
    var configuration = Configuration(rendezvous: address.description)
    configuration.bind = "127.0.77.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    let times = LogTimes()
    configuration.logHandler = { times.add($0) }
    let endpoint = try await Endpoint.open(configuration)
    var events = await endpoint.events().makeAsyncIterator()
    while let event = await events.next() {
      if case .registrationChanged(.reconnecting(.some)) = event { break }
    }
    // Nobody waited when it was told: whoever waits now hears it.
    let error = await #expect(throws: EarshotError.self) {
      try await endpoint.waitUntilRegistered()
    }
    let waited = try #require(times.untilWarning)
    #expect(
      error == .nothingListens(address) && (700..<6000).contains(waited), "\(waited) ms, \(error)")
    kept = nil
    // It was a hint: attempts go on, and the server that is started now is found.
    let rendezvous = try LoopbackRendezvous(binding: address)
    while let event = await events.next() {
      if case .registrationChanged(.registered) = event { break }
    }
    #expect(try await endpoint.waitUntilRegistered() == .none)
    await endpoint.close()
    rendezvous.stop()
  }

  private static func steps(
    _ refusals: (Int) -> Int, answeredAt: Int = .max
  ) -> [RefusalSchedule.Step] {
    var schedule = RefusalSchedule()
    return (1...13).map { tick in
      let finding: RefusalWatch.Finding =
        tick >= answeredAt ? .answered : refusals(tick) > 0 ? .refused : .silent
      return schedule.step(finding, refusals: refusals(tick))
    }
  }

  /// Method: ticks of 125 ms. A refusal comes a round trip after its question.
  @Test func `refusals are told within a second over a line of 600 ms, and an answer ends it`() {
    let near = Self.steps { $0 > 3 ? 2 : $0 > 1 ? 1 : 0 }
    #expect(Array(near.prefix(6)) == [.ask, .wait, .ask, .wait, .wait, .tell])
    // Questions at 125 and 375 ms, refusals at 725 and 975 ms.
    let far = Self.steps { $0 >= 8 ? 2 : $0 >= 6 ? 1 : 0 }
    #expect(far.firstIndex(of: .tell) == 7)
    let single = Self.steps { $0 > 1 ? 1 : 0 }
    #expect(!single.contains(.tell) && single.contains(.end))
    #expect(single.count { $0 == .ask } == 3)
    let silent = Self.steps { _ in 0 }
    #expect(!silent.contains(.tell) && silent[11...].allSatisfy { $0 == .end })
    // The true answer over 600 ms is there before the verdict.
    let forged = Self.steps({ $0 > 3 ? 2 : 0 }, answeredAt: 5)
    #expect(!forged.contains(.tell) && forged[4] == .end)
  }

  /// Method: an address where nobody answers, so that only the end ends the wait.
  @Test(.timeLimit(.minutes(1)))
  func `nobody waits for an endpoint that is closed`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let silent = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    var configuration = Configuration(rendezvous: silent.localAddress.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    let endpoint = try await Endpoint.open(configuration)
    let waits = Task { () -> EarshotError? in
      do throws(EarshotError) {
        _ = try await endpoint.waitUntilRegistered()
        return nil
      } catch {
        return error
      }
    }
    let reads = Task { for await _ in await endpoint.events() {} }
    await endpoint.close()
    #expect(await waits.value?.code == .closed)
    await reads.value
    await #expect(throws: EarshotError.self) { try await endpoint.waitUntilRegistered() }
    for await _ in await endpoint.events() { Issue.record("it has ended") }
    _ = silent.localAddress
  }
}
