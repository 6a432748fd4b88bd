import Foundation
import Primitives
import Reactor
import Testing

@testable import Earshot

/// A rendezvous that is not there, on a host that says so.
@Suite(.serialized) struct RefusalTests {
  /// That it takes less than a second is held by the schedule below and by
  /// tools/acceptance/mistakes.
  /// On an address of its own: Linux refuses once a second for each host that asks, and other tests
  /// are refused as well.
  @Test(.timeLimit(.minutes(1)))
  func `a refusal is told after two questions, and a true answer still wins`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let address = try { () throws -> SocketAddress in
      let socket = try UDPSocket(binding: SocketAddress(v4: 127, 0, 77, 1, port: 0))
      return socket.localAddress
    }()
    var configuration = Configuration(rendezvous: address.description)
    configuration.bind = "127.0.77.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    let began = SystemClock.now
    let endpoint = try await Endpoint.open(configuration)
    let events = await endpoint.events()
    let error = await #expect(throws: EarshotError.self) {
      try await endpoint.waitUntilRegistered()
    }
    let waited = SystemClock.now.nanoseconds(since: began) / 1_000_000
    #expect(error == .nothingListens(address) && (700..<6000).contains(waited), "\(waited) ms")
    // It was a hint: attempts go on, and the server that is started now is found.
    let rendezvous = try LoopbackRendezvous(binding: address)
    for await event in events {
      if case .registrationChanged(.registered) = event { break }
    }
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
