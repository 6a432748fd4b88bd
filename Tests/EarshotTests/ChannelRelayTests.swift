import Channels
import Forwarding
import Foundation
import Peer
import Primitives
import Reactor
import Rendezvous
import SecureSession
import Synchronization
import Testing
import Tokens
import Wire

@testable import Earshot

/// A channel's sound by a relay, through the public interface, over loopback.
@Suite struct ChannelRelayTests {
  /// A rendezvous and a relay that is registered with it, in this process.
  private final class Town {
    let loop: EventLoop
    let address: SocketAddress
    let rendezvous: MachineDriver<RendezvousMachine>
    let relay: MachineDriver<RendezvousMachine>
    private let registration: MachineDriver<RelayRegistrationMachine>

    init() throws {
      let wall = SystemClock.wallNanoseconds / 1_000_000
      let zero = wall - SystemClock.now.nanoseconds / 1_000_000
      var random = RandomSource.system
      let local = SocketAddress(v4: 127, 0, 0, 1, port: 0)
      var own = LocalIdentity(kind: .peer, unixSeconds: wall / 1000, random: &random)
      let host = LocalIdentity(kind: .rendezvous, unixSeconds: wall / 1000, random: &random)
      let (relayID, hostID) = (own.id, host.id)
      let card = try own.makeCard(unixSeconds: wall / 1000)
      loop = try EventLoop()
      let socket = try UDPSocket(binding: local)
      let here = socket.localAddress
      var settings = ServerSettings(
        identity: own.copy(), card: card, bootCounter: 1, resetKey: random.bytes(32),
        wallMilliseconds: zero, tokenKey: TokenPublicKey(bytes: Bytes32(hostID)))
      settings.forwarding = ForwardingLimits()
      relay = MachineDriver(
        RendezvousMachine(settings, store: MemoryStore(), random: .system), socket: socket,
        on: loop)
      var other = host.copy()
      let otherCard = try other.makeCard(unixSeconds: wall / 1000)
      var server = ServerSettings(
        identity: other, card: otherCard, bootCounter: 1, resetKey: random.bytes(32),
        wallMilliseconds: zero)
      server.relayIDs = [relayID]
      let bound = try UDPSocket(binding: local)
      address = bound.localAddress
      rendezvous = MachineDriver(
        RendezvousMachine(server, store: MemoryStore(), random: .system), socket: bound, on: loop)
      var configuration = PeerConfiguration(rendezvous: address, wallClockAtZero: Int64(zero))
      configuration.rendezvousID = hostID
      registration = MachineDriver(
        RelayRegistrationMachine(
          configuration, listening: here, identity: own, random: .system, now: SystemClock.now),
        socket: try UDPSocket(binding: local), on: loop)
      for driver in [relay, rendezvous] { try driver.start { _ in } }
      try registration.start { _ in }
      try loop.start()
    }

    func stop() {
      loop.stop()
      loop.join()
    }
  }

  private func endpoint(_ name: String, _ town: Town, _ folder: URL) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: town.address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: name + "/identity").path
    let endpoint = try await Endpoint.open(configuration)
    _ = try await endpoint.waitUntilRegistered()
    return endpoint
  }

  /// What a member does with every step of its channel.
  private func follow(
    _ events: AsyncStream<EndpointEvent>, _ name: ChannelName, _ relay: ChannelRelay
  ) -> Task<Void, Never> {
    Task {
      for await event in events {
        guard case .channel(name, let step) = event else { continue }
        if case .joined = step { await relay.start() }
        await relay.handle(step)
      }
    }
  }

  /// What comes is what was sealed for this member.
  private func expectOpened(_ relay: ChannelRelay, _ endpoint: Endpoint) async throws {
    let early = await relay.counts.unopened  // They came before the key.
    await endpoint.pause(.milliseconds(500))
    let counts = await relay.counts
    #expect(counts.opened >= 10 && counts.unopened == early)
  }

  /// Goal: who listens by a relay is told how loud each host is, as in calls.
  private func expectVolumes(
    _ relay: ChannelRelay, _ steps: AsyncStream<ChannelRelayStep>
  ) async throws {
    await #expect(throws: EarshotError.self) {
      try await relay.setVolumeIndication(VolumeIndication(smoothing: 11))
    }
    try await relay.setVolumeIndication(VolumeIndication(interval: .milliseconds(50)))
    var reports: [VolumeReport] = []
    for await step in steps {
      if case .volumes(let report) = step { reports.append(report) }
      if reports.last.map({ $0.totalVolume > 0 }) ?? false { break }
    }
    let last = try #require(reports.last)
    // An audience has no sound of its own.
    #expect(reports.allSatisfy { !$0.isLocal } && last.speakers.count == 1)
    #expect(last.speakers[0].uid != nil && last.speakers[0].call == nil)
  }

  /// Goal: a host's message is with all members, and who listens sends none.
  private func expectMessage(
    from host: ChannelRelay, to listener: ChannelRelay, _ steps: AsyncStream<ChannelRelayStep>
  ) async throws {
    let first = try await host.send(Array("tea is ready".utf8))
    #expect(try await host.send([1], stream: 127, ordered: false) == first + 1)
    var told: [UInt8: [UInt8]] = [:]
    for await step in steps {
      guard case .message(_, let stream, let bytes) = step else { continue }
      told[stream] = bytes
      if told.count == 2 { break }
    }
    #expect(told == [8: Array("tea is ready".utf8), 127: [1]])
    for stream in [0, 7, 128] as [UInt8] {
      await #expect(throws: EarshotError.self) { try await host.send([1], stream: stream) }
    }
    for bad in [[], Array(repeating: 0, count: 65_537)] as [[UInt8]] {
      await #expect(throws: EarshotError.self) { try await host.send(bad) }
    }
    await #expect(throws: EarshotError.self) { try await listener.send([1]) }
  }

  /// Goal: the host is told that the relay has what it sent.
  private func expectResults(_ steps: AsyncStream<ChannelRelayStep>) async {
    var tags: Set<UInt64> = []
    for await step in steps {
      guard case .messageDelivery(let tag, let isDelivered) = step else { continue }
      #expect(isDelivered)
      tags.insert(tag)
      if tags.count == 2 { break }
    }
    #expect(tags == [1, 2])
  }

  @Test(.timeLimit(.minutes(1)))
  func `a tone goes by the relay, and is heard`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try Town()
    let tea = try #require(ChannelName("tea"))
    var endpoints: [Endpoint] = []
    for name in ["alice", "bob"] { endpoints.append(try await endpoint(name, town, folder)) }
    let (steps, feed) = AsyncStream.makeStream(of: ChannelRelayStep.self)
    let (hostSteps, hostFeed) = AsyncStream.makeStream(of: ChannelRelayStep.self)
    var relays: [ChannelRelay] = []
    var followers: [Task<Void, Never>] = []
    for (endpoint, role) in zip(endpoints, [ChannelRole.host, .audience]) {
      let events = await endpoint.events()
      let relay = ChannelRelay(
        try await endpoint.join(tea, as: role),
        ChannelRelay.Options(
          makeSource: { Tone() }, makeSink: { _ in Ear() },
          onStep: { (role == .audience ? feed : hostFeed).yield($0) }))
      relays.append(relay)
      followers.append(follow(events, tea, relay))
    }
    var seen: [ChannelRelayStep] = []
    for await step in steps {
      seen.append(step)
      if case .firstFrame = step { break }
    }
    #expect(seen.first == .connected && seen.count == 2)
    try await expectOpened(relays[1], endpoints[1])
    #expect(await relays[1].standing.verified == 1)
    #expect(await relays[0].standing.fingerprint == relays[1].standing.fingerprint)
    try await expectVolumes(relays[1], steps)
    try await expectMessage(from: relays[0], to: relays[1], steps)
    await expectResults(hostSteps)
    for relay in relays { await relay.stop() }
    await #expect(throws: EarshotError.self) { try await relays[1].setVolumeIndication(nil) }
    for endpoint in endpoints { await endpoint.close() }
    for follower in followers { follower.cancel() }
    town.stop()
  }
}
