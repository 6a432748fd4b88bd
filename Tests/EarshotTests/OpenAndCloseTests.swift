import Foundation
import Primitives
import Reactor
import Testing

@testable import Earshot

/// What an endpoint takes of its host, and gives back.
@Suite(.serialized) struct OpenAndCloseTests {
  /// An endpoint without files, and a rendezvous of which nothing is heard.
  private static var silent: Configuration {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.bind = "127.0.0.1:0"
    configuration.isEphemeral = true
    return configuration
  }

  /// Threads of this process by that name.
  private static func threads(_ name: String) throws -> Int {
    let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    return tasks.count { task in
      // One that has ended meanwhile has no name.
      let found = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
      return found == name + "\n"
    }
  }

  /// Goal: a program that tries to open one for hours keeps nothing of what failed. Tests beside
  /// this one open endpoints meanwhile: some threads more are theirs.
  @Test func `an endpoint that cannot be opened leaves no thread behind`() async throws {
    let holder = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    var configuration = Self.silent
    configuration.bind = holder.localAddress.description
    let before = try Self.threads("earshot-pins")
    for _ in 0..<120 {
      let error = await #expect(throws: EarshotError.self) {
        try await Endpoint.open(configuration)
      }
      #expect(error?.code == .addressInUse)
    }
    let after = try Self.threads("earshot-pins")
    #expect(after - before < 60)
    #expect(holder.localAddress.port != 0)
  }

  /// Goal: the address is free although the endpoint is still held.
  @Test func `an address can be bound again once its endpoint is closed`() async throws {
    let first = try await Endpoint.open(Self.silent)
    await first.close()
    var configuration = Self.silent
    configuration.bind = first.localAddress.description
    let second = try await Endpoint.open(configuration)
    #expect(second.localAddress == first.localAddress)
    await second.close()
  }

  @Test func `whoever closes an endpoint that is being closed waits for its end`() async throws {
    let rendezvous = try LoopbackRendezvous()
    var configuration = Self.silent
    configuration.rendezvous = rendezvous.address.description
    let endpoint = try await Endpoint.open(configuration)
    _ = try await endpoint.waitUntilRegistered()
    let ends = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<3 {
        group.addTask {
          await endpoint.close()
          return await endpoint.readers.hasEnded
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(ends == [true, true, true])
    await endpoint.close()
    rendezvous.stop()
  }

  /// Goal: nobody waits for ever on a loop that is gone.
  @Test(.timeLimit(.minutes(1)))
  func `a wait ends with its loop, and is none after it`() async throws {
    let endpoint = try await Endpoint.open(Self.silent)
    let waiting = Task { await endpoint.pause(.seconds(600)) }
    await endpoint.pause(.milliseconds(20))
    await endpoint.close()
    await endpoint.pause(.seconds(600))
    await waiting.value
  }
}
