import Channels
import Foundation
import Testing
import Wire

@testable import Earshot

/// Channels through the public interface, over loopback.
@Suite struct ChannelTests {
  private func endpoint(
    _ name: String, _ rendezvous: LoopbackRendezvous, _ folder: URL
  ) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: name + "/identity").path
    return try await Endpoint.open(configuration)
  }

  /// The steps of `channel` until one fulfils `isLast`.
  private func steps(
    _ events: AsyncStream<EndpointEvent>, _ channel: ChannelName,
    until isLast: (ChannelStep) -> Bool
  ) async -> [ChannelStep] {
    var steps: [ChannelStep] = []
    for await event in events {
      guard case .channel(channel, let step) = event else { continue }
      steps.append(step)
      if isLast(step) { break }
    }
    return steps
  }

  @Test(.timeLimit(.minutes(1)))
  func `two join, change roles, and one leaves`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let tea = try #require(ChannelName("tea"))
    let (alice, bob) = (
      try await endpoint("alice", rendezvous, folder), try await endpoint("bob", rendezvous, folder)
    )
    let (hears, sees) = (await alice.events(), await bob.events())
    for endpoint in [alice, bob] { _ = try await endpoint.waitUntilRegistered() }

    let first = try await alice.join(tea, as: .host, uid: 7)
    let joined = await steps(hears, tea) { if case .joined = $0 { true } else { false } }
    #expect(joined.first == .stateChanged(.joining, .joining))
    let second = try await bob.join(tea, as: .audience)
    let met = await steps(sees, tea) { if case .userJoined = $0 { true } else { false } }
    guard case .userJoined(let user, _)? = met.last else { return #expect(Bool(false), "\(met)") }
    #expect(user == ChannelUser(uid: 7, id: alice.id, role: .host))
    #expect(await second.members.count == 2)

    try await second.setRole(.host)
    let changed = await steps(sees, tea) { if case .roleChanged = $0 { true } else { false } }
    #expect(changed.last == .roleChanged(from: .audience, to: .host))
    await #expect(throws: EarshotError.self) {
      _ = try await bob.join(try #require(ChannelName("coffee")), as: .host)
    }
    await #expect(throws: EarshotError.self) { _ = try await bob.join(tea, as: .audience) }
    await #expect(throws: EarshotError.self) { try await second.renewToken("no token") }

    await first.leave()
    let gone = await steps(sees, tea) { if case .userOffline = $0 { true } else { false } }
    #expect(gone.last == .userOffline(uid: 7, .left))
    #expect(await first.members.isEmpty)
    for endpoint in [alice, bob] { await endpoint.close() }
    rendezvous.stop()
  }

  /// Scenario 25.
  @Test(.timeLimit(.minutes(1)))
  func `leaving one channel touches no other`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let (tea, milk) = (try #require(ChannelName("tea")), try #require(ChannelName("milk")))
    let (alice, bob) = (
      try await endpoint("alice", rendezvous, folder), try await endpoint("bob", rendezvous, folder)
    )
    let (hears, sees) = (await alice.events(), await bob.events())
    for endpoint in [alice, bob] { _ = try await endpoint.waitUntilRegistered() }
    let first = try await alice.join(tea, as: .host, uid: 7)
    let second = try await alice.join(milk, as: .audience, uid: 7)
    _ = await steps(hears, milk) { if case .joined = $0 { true } else { false } }
    let other = try await bob.join(milk, as: .host)
    _ = await steps(sees, milk) { if case .audienceJoined = $0 { true } else { false } }

    await second.leave()
    let gone = await steps(sees, milk) { if case .audienceLeft = $0 { true } else { false } }
    #expect(gone.last == .audienceLeft(uid: 7, .left))
    let left = await steps(hears, milk) { if case .left = $0 { true } else { false } }
    guard case .left(let duration)? = left.last else { return #expect(Bool(false), "\(left)") }
    #expect(duration > .zero)
    // What was left is used no more; the other one goes on.
    await #expect(throws: EarshotError.self) { try await second.setRole(.host) }
    #expect(await second.members.isEmpty)
    #expect(await first.members.count == 1)
    await first.leave()
    #expect(await first.members.isEmpty)
    #expect(await other.members.count == 1)
    for endpoint in [alice, bob] { await endpoint.close() }
    rendezvous.stop()
  }

  @Test func `a name may have a key`() throws {
    let open = try #require(ChannelName("tea"))
    #expect(!open.needsToken && open.description == "tea" && open.audience.utf8.count == 52)
    #expect(ChannelName("tea@k4.public.x") == nil)
    let none = "k4.public." + String(repeating: "A", count: 43)
    #expect(ChannelName("tea@" + none) == nil, "its channel would be that without a key")
    let key = "k4.public.AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    let keyed = try #require(ChannelName("tea@" + key))
    #expect(
      keyed.needsToken && keyed.audience != open.audience && keyed.description == "tea@" + key)
  }

  @Test func `every reason has a word of its own`() {
    #expect(Set(ChannelReason.allCases.map(\.rawValue)).count == ChannelReason.allCases.count)
    #expect(ChannelRole.allCases.map(\.wire.scope) == ["host", "audience"])
    #expect(ChannelConnection(.reconnecting) == .reconnecting)
  }
}
