import Channels
import Foundation
import Primitives
import Synchronization
import Testing
import Wire

@testable import Earshot

/// A channel's sound by a relay, through the public interface, over loopback.
@Suite struct ChannelRelayTests {
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

  private func close(_ all: [Endpoint], _ followers: [Task<Void, Never>], _ town: RelayTown) async {
    for endpoint in all { await endpoint.close() }
    for follower in followers { follower.cancel() }
    town.stop()
  }

  private func untilFirstFrame(
    _ steps: AsyncStream<ChannelRelayStep>
  ) async -> (seen: [ChannelRelayStep], states: [String]) {
    var (seen, states): ([ChannelRelayStep], [String]) = ([], [])
    for await step in steps {
      if case .progress(.some, .streamChanged(let change)) = step {
        states.append("\(change.stream) \(change.new)")
        continue
      }
      seen.append(step)
      if case .firstFrame = step { break }
    }
    return (seen, states)
  }

  private func stop(_ relays: [ChannelRelay]) async {
    for relay in relays { await relay.stop() }
    #expect(await relays[1].counts.opened >= 10, "over all seats")
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

  /// Goal: the host is told how its own stream begins, and that the relay has what it sent.
  private func expectResults(_ steps: AsyncStream<ChannelRelayStep>) async {
    var tags: Set<UInt64> = []
    var published: [String] = []
    for await step in steps {
      if case .progress(nil, let change) = step { published.append(name(of: change)) }
      guard case .messageDelivery(let tag, let isDelivered) = step else { continue }
      #expect(isDelivered)
      tags.insert(tag)
      if tags.count == 2 { break }
    }
    #expect(tags == [1, 2])
    #expect(
      published == [
        "localAudio capturing", "audioPublish publishing", "localAudio encoding",
        "audioPublish published", "firstFrameSent",
      ])
  }

  /// Goal: each 2 s the numbers of the way and of each host, with grades.
  private func expectStatistics(
    _ relays: [ChannelRelay], _ endpoint: Endpoint, _ steps: AsyncStream<ChannelRelayStep>
  ) async throws {
    var told: RelayStatistics?
    for await step in steps {
      if case .statistics(let all) = step { told = all }
      if told?.hosts.first?.numbers.interval != nil { break }
    }
    let all = try #require(told)
    #expect(all.hosts[0].numbers.interval?.durationMs ?? 0 >= 1900)
    #expect(RelayedNumbers.interval == .seconds(2))
    let host = try #require(all.hosts.first).numbers
    #expect(all.hosts.count == 1 && host.received.packetsReceived >= 100)
    #expect(host.received.packetsLost == 0 && host.received.jitterBufferDelayMs != nil)
    #expect(host.received.mos ?? 0 > 3 && host.qualityRx == 1)
    #expect(host.interval.map { $0.audioReceivedBps > 10_000 } == true)
    #expect(host.audio?.agora.totalFrozenTime == 0 && host.audio?.agora.mosValue ?? 0 > 0)
    #expect(all.own.qualityRx == 1 && all.own.qualityTx == 0 && all.own.currentRttMs != nil)
    #expect(all.own.received.packetsReceived == host.received.packetsReceived)
    let sender = try #require(await relays[0].statistics).own
    #expect(sender.sent.packetsSent >= 100 && sender.sent.bitrateBps > 10_000)
    // Five packets of a hundred and more, and as many again.
    #expect(sender.sent.lostFraction ?? 1 <= 0.1 && (1...4).contains(sender.qualityTx))
    withKnownIssue("what was sent before the relay reports is lost", isIntermittent: true) {
      #expect(sender.qualityTx == 1 && sender.sent.lostFraction == 0)
    }
    let (count, overhead) = try await overhead(of: relays[0], endpoint)
    #expect((30 * count...43 * count).contains(overhead), "\(overhead) of \(count)")
  }

  /// Of half a second in which this host sent at its pace: reports come by time, not by packets.
  private func overhead(
    of relay: ChannelRelay, _ endpoint: Endpoint
  ) async throws -> (count: Int, bytes: Int) {
    var first = try #require(await relay.statistics).own.sent
    for _ in 0..<40 {
      await endpoint.pause(.milliseconds(500))
      let later = try #require(await relay.statistics).own.sent
      let count = later.packetsSent - first.packetsSent
      if (22...28).contains(count) {
        let bytes = later.wireBytesSent - later.bytesSent - first.wireBytesSent + first.bytesSent
        return (count, bytes)
      }
      first = later
    }
    return (0, -1)
  }

  /// Goal: the numbers of the whole seat when it is given up, and all streams end.
  private func expectEnd(
    _ steps: AsyncStream<ChannelRelayStep>, _ hostSteps: AsyncStream<ChannelRelayStep>
  ) async {
    var states: [String] = []
    for await step in steps {
      if case .progress(.some, .streamChanged(let change)) = step {
        states.append("\(change.stream) \(change.new)")
      }
      guard case .ended(let all) = step else { continue }
      #expect(all.hosts.count == 1 && all.hosts[0].numbers.qualityRx == 1)
      break
    }
    #expect(states.suffix(2) == ["remoteAudio stopped", "audioSubscribe idle"])
    var published: [String] = []
    for await step in hostSteps {
      if case .progress(nil, let change) = step { published.append(name(of: change)) }
      if case .ended = step { break }
    }
    #expect(published.suffix(2) == ["localAudio stopped", "audioPublish idle"])
  }

  private func name(of step: CallProgress) -> String {
    guard case .streamChanged(let change) = step else { return "\(step)" }
    return "\(change.stream) \(change.new)"
  }

  /// Goal: music and effects go with the own sound, and only where there is some.
  private func expectMixing(
    _ host: ChannelMixing, _ listener: ChannelMixing, _ steps: AsyncStream<ChannelRelayStep>
  ) async throws {
    let clip = try #require(
      AudioClip(samples: Array(repeating: 500, count: 4800), channelCount: 1))
    await #expect(throws: EarshotError.self) { try await listener.start(clip) }
    await #expect(throws: EarshotError.self) { try await host.setVolume(401) }
    try await host.start(clip, options: AudioMixingOptions(loops: nil))
    #expect(try await host.position() != nil)
    try await host.pause()
    try await host.resume()
    try await host.setVolume(50)
    try await host.playEffect(9, clip)
    var told: [CallProgress] = []
    for await step in steps {
      guard case .progress(nil, let change) = step else { continue }
      told.append(change)
      if change == .effectEnded(9) { break }
    }
    #expect(
      told.prefix(3) == [
        .audioMixingChanged(AudioMixingChange(.playing, .startedByUser)),
        .audioMixingChanged(AudioMixingChange(.paused, .pausedByUser)),
        .audioMixingChanged(AudioMixingChange(.playing, .resumedByUser)),
      ])
    try await host.stop()
    try await host.stopEffect(nil)
    #expect(try await host.position() == nil)
  }

  /// Goal: who wants nothing of a host hears nothing of it, and its stream says so.
  private func expectUnwanted(
    _ relay: ChannelRelay, _ endpoint: Endpoint, _ ear: Ear, _ steps: AsyncStream<ChannelRelayStep>
  ) async throws {
    for isMuted in [true, false] {
      await relay.setAllRemoteAudioMuted(isMuted)
      var reason: StreamReason?
      for await step in steps where reason == nil {
        guard case .progress(.some, .streamChanged(let change)) = step,
          change.stream == .audioSubscribe
        else { continue }
        reason = change.reason
        break
      }
      #expect(reason == (isMuted ? .localMuted : .localUnmuted))
      await endpoint.pause(.milliseconds(300))
      let last = ear.heard.withLock { Array($0.suffix(4800)) }
      #expect(last.allSatisfy { $0 == 0 } == isMuted)
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a tone goes by the relay, and is heard`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try RelayTown()
    let tea = try #require(ChannelName("tea"))
    var endpoints: [Endpoint] = []
    for name in ["alice", "bob"] { endpoints.append(try await town.endpoint(name, folder)) }
    let (steps, feed) = AsyncStream.makeStream(of: ChannelRelayStep.self)
    let (hostSteps, hostFeed) = AsyncStream.makeStream(of: ChannelRelayStep.self)
    let ear = Ear()
    var relays: [ChannelRelay] = []
    var followers: [Task<Void, Never>] = []
    for (endpoint, role) in zip(endpoints, [ChannelRole.host, .audience]) {
      let events = await endpoint.events()
      let relay = ChannelRelay(
        try await endpoint.join(tea, as: role),
        ChannelRelay.Options(
          makeSource: { Tone() }, makeSink: { _ in ear },
          onStep: { (role == .audience ? feed : hostFeed).yield($0) }))
      relays.append(relay)
      followers.append(follow(events, tea, relay))
    }
    let first = await untilFirstFrame(steps)
    #expect(first.seen.first == .connected && first.seen.count == 2)
    #expect(first.states == ["audioSubscribe subscribing", "remoteAudio starting"])
    try await expectOpened(relays[1], endpoints[1])
    #expect(await relays[1].standing.verified == 1)
    #expect(await relays[0].standing.fingerprint == relays[1].standing.fingerprint)
    try await expectVolumes(relays[1], steps)
    try await expectMessage(from: relays[0], to: relays[1], steps)
    await expectResults(hostSteps)
    try await expectStatistics(relays, endpoints[1], steps)
    try await expectUnwanted(relays[1], endpoints[1], ear, steps)
    try await expectMixing(relays[0].mixing, relays[1].mixing, hostSteps)
    await stop(relays)
    await expectEnd(steps, hostSteps)
    await #expect(throws: EarshotError.self) { try await relays[1].setVolumeIndication(nil) }
    await close(endpoints, followers, town)
  }

  /// A tone of a second, then nothing at all.
  private final class Hush: AudioSource {
    let channelCount = 1
    private let tone = Tone()
    private let position = Mutex(0)

    func read(into samples: inout [Int16], frameCount: Int) -> Int {
      let start = position.withLock { value in
        defer { value += frameCount }
        return value
      }
      if start < 48_000 { return tone.read(into: &samples, frameCount: frameCount) }
      for index in 0..<frameCount { samples[index] = 0 }
      return frameCount
    }
  }

  /// Goal: what the relay leaves out of silence is neither lost nor frozen.
  @Test(.timeLimit(.minutes(1)))
  func `a host that says nothing loses nothing`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try RelayTown()
    let tea = try #require(ChannelName("tea"))
    let (steps, feed) = AsyncStream.makeStream(of: ChannelRelayStep.self)
    var endpoints: [Endpoint] = []
    var relays: [ChannelRelay] = []
    var followers: [Task<Void, Never>] = []
    for (name, role) in [("bob", ChannelRole.audience), ("alice", .host)] {
      endpoints.append(try await town.endpoint(name, folder))
      let events = await endpoints[endpoints.count - 1].events()
      let relay = ChannelRelay(
        try await endpoints[endpoints.count - 1].join(tea, as: role),
        ChannelRelay.Options(
          makeSource: { Hush() }, makeSink: { _ in Ear() },
          onStep: { if role == .audience { feed.yield($0) } }))
      relays.append(relay)
      followers.append(follow(events, tea, relay))
    }
    var states: [StreamState] = []
    var row: CallStatistics?
    for await step in steps {
      if case .progress(.some, .streamChanged(let change)) = step, change.stream == .remoteAudio {
        states.append(change.new)
      }
      guard case .statistics(let all) = step, let host = all.hosts.first else { continue }
      row = host.numbers
      if host.numbers.atMs > 5500 { break }
    }
    let numbers = try #require(row)
    #expect(states == [.starting, .decoding])
    #expect((20...90).contains(numbers.received.packetsReceived))
    #expect(numbers.received.packetsLost <= 1 && numbers.qualityRx <= 1)
    #expect(numbers.audio?.agora.totalFrozenTime ?? 1000 < 300)
    for relay in relays { await relay.stop() }
    await close(endpoints, followers, town)
  }

  @Test func `whoever leaves by another's will leaves a key behind that is changed`() {
    #expect(RelayedMembership.departure(.banned) == .banned)
    #expect(RelayedMembership.departure(.tokenExpired) == .expired)
    #expect(RelayedMembership.departure(.left) == nil)
  }
}
