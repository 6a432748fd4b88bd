import Primitives
import Reactor
import Testing
import Tokens

@testable import Earshot
@testable import Peer

extension Endpoint {
  /// Its channels find that so much time has gone by.
  fileprivate func wait(seconds: Int64) {
    driver.withMachine { machine, now in
      machine.channels.handleTimeout(now: now + .seconds(seconds))
    }
  }
}

/// A stay in a channel, through the public interface, over loopback.
@Suite struct ChannelMediaTests {
  private var noise: (GatheredSound) -> Bool { { $0.samples.contains { abs(Int($0)) > 1000 } } }

  /// Goal: whoever joins is heard, and hears all, with nothing done for each member.
  @Test(.timeLimit(.minutes(1)))
  func `hosts hear each other, and who listens hears both`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"])
    let own = GatheredSound()
    var alice = try await MediaMember(town.endpoints[0], .host)
    var bob = try await MediaMember(town.endpoints[1], .host)
    var carol = try await MediaMember(town.endpoints[2], .audience, own: own)
    let uids = [await alice.joined(), await bob.joined(), await carol.joined()]
    #expect(await alice.firstFrame() == uids[1])
    #expect(await bob.firstFrame() == uids[0])
    let both = [await carol.firstFrame(), await carol.firstFrame()]
    #expect(Set(both) == Set(uids[0...1]))
    // A call makes its numbers each 2 s: there was sound by then.
    #expect(await carol.numbers()?.received.packetsReceived ?? 0 > 20)
    #expect(noise(carol.heard) && noise(own))
    await expectStanding(carol)
    try await expectMessages(&alice, &bob, &carol)
    await alice.media.setAudioMuted(true)
    #expect(await alice.media.isAudioMuted)
    #expect(await bob.muted() == true)
    await alice.media.setAudioMuted(false)
    #expect(await bob.muted() == false)
    // A listener becomes a host, and is heard.
    try await carol.media.setRole(.host)
    #expect(await bob.firstFrame() == uids[2])
    await bob.media.leave()
    #expect(await bob.end() == .left)
    let left = await alice.first {
      if case .channel(.userOffline(let uid, .left)) = $0 { uid } else { nil }
    }
    #expect(left == uids[1])
    await carol.media.leave()
    await carol.media.leave()
    #expect(await carol.end() == .left && own.finishes == 2, "one of each host")
    await town.close()
    #expect(await alice.end() == .closed)
    for member in [alice, bob, carol] { member.finish() }
    #expect(alice.heard.finishes == 1 && noise(alice.heard))
  }

  private func expectStanding(_ carol: MediaMember) async {
    #expect(await carol.media.callStatistics().count == 2)
    let standing = await carol.media.standing
    #expect(standing.memberCount == 3 && standing.metCount == 2 && standing.heardCount == 2)
    #expect(!standing.isRelayed && standing.relay == nil && standing.fingerprint == nil)
    #expect(standing.members.allSatisfy { $0.isThere && $0.heard > .milliseconds(500) })
    #expect(standing.members.allSatisfy { $0.level > -40 && $0.packets ?? 0 > 20 })
  }

  private func expectMessages(
    _ alice: inout MediaMember, _ bob: inout MediaMember, _ carol: inout MediaMember
  ) async throws {
    #expect(try await alice.media.send(Array("tea".utf8)) == 1)
    #expect(await alice.delivery() == true)
    #expect(await bob.message() == Array("tea".utf8))
    #expect(await carol.message() == Array("tea".utf8))
    let listener = carol.media
    await #expect(throws: EarshotError.self) { try await listener.send([1]) }
    let host = alice.media
    await #expect(throws: EarshotError.self) { try await host.send([]) }
  }

  /// Goal: of two who share two channels each is heard in the one where it is host.
  @Test(.timeLimit(.minutes(1)))
  func `two who share two channels hear each other in both`() async throws {
    let town = try await LoopbackTown()
    let speaking = try await MediaMember(town.alice, .host)
    var hearing = try await MediaMember(town.bob, .audience)
    #expect(await hearing.firstFrame() != nil)
    var listening = try await MediaMember(town.alice, .audience, room: "milk")
    let answering = try await MediaMember(town.bob, .host, room: "milk")
    #expect(await listening.firstFrame() != nil)
    // An INVITE of the one ends no call of the other that is silent for 4 s.
    await speaking.media.setAudioMuted(true)
    await town.alice.pause(.seconds(5))
    await speaking.media.setAudioMuted(false)
    #expect(await hearing.media.callStatistics().count == 1)
    #expect(await listening.media.callStatistics().count == 1)
    #expect(noise(hearing.heard) && noise(listening.heard))
    for member in [speaking, hearing, listening, answering] {
      await member.media.leave()
      member.finish()
    }
    await town.close()
  }

  /// Goal: whoever asks to listen only is silent at once, whatever becomes of the rendezvous.
  @Test(.timeLimit(.minutes(1)))
  func `a host that asks to listen only is silent without the rendezvous`() async throws {
    let town = try await LoopbackTown()
    var alice = try await MediaMember(town.alice, .host)
    var bob = try await MediaMember(town.bob, .host)
    #expect(await bob.firstFrame() != nil)
    #expect(await alice.firstFrame() != nil)
    town.stopRendezvous()
    try await alice.media.setRole(.audience)
    #expect(await bob.muted() == true)
    #expect(await alice.media.role == .host, "nobody has said otherwise")
    // Who thinks better of it is heard again.
    try await alice.media.setRole(.host)
    #expect(await bob.muted() == false)
    await bob.media.leave()
    #expect(await bob.end() == .left)
    for member in [alice, bob] { member.finish() }
    for endpoint in town.endpoints { await endpoint.close() }
  }

  /// Goal: a rendezvous that is away for 20 minutes ends nobody's talk.
  /// Method: the channels of both are told that 1300 s have gone by.
  @Test(.timeLimit(.minutes(1)))
  func `a channel whose calls carry sound outlives the rendezvous`() async throws {
    let town = try await LoopbackTown()
    var alice = try await MediaMember(town.alice, .host)
    var bob = try await MediaMember(town.bob, .host)
    #expect(await bob.firstFrame() != nil)
    #expect(await alice.firstFrame() != nil)
    for endpoint in town.endpoints { await endpoint.wait(seconds: 1300) }
    let before = [alice.heard.samples.count, bob.heard.samples.count]
    await town.alice.pause(.seconds(1))
    for (member, count) in zip([alice, bob], before) {
      let later = member.heard.samples.dropFirst(count)
      #expect(later.contains { abs(Int($0)) > 1000 }, "it is heard on")
      #expect(await member.media.standing.memberCount == 2)
    }
    await bob.media.leave()
    #expect(await bob.end() == .left)
    // Nothing is left that carries sound.
    _ = await alice.first { if case .channel(.userOffline) = $0 { true } else { nil } }
    _ = await alice.media.callStatistics()
    await town.alice.wait(seconds: 3000)
    #expect(await alice.end() == .channelFailed(.contactLost))
    for member in [alice, bob] { member.finish() }
    await town.close()
  }

  @Test(.timeLimit(.minutes(1)))
  func `by a relay as well`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    var alice = try await MediaMember(endpoints[0], .host, .relay)
    var bob = try await MediaMember(endpoints[1], .host, .relay)
    let way = await alice.first { if case .wayChanged(let way) = $0 { way } else { nil } }
    #expect(way == .relay)
    #expect(await alice.firstFrame() != nil)
    #expect(await bob.firstFrame() != nil)
    #expect(try await alice.media.send([7]) == 1)
    #expect(await bob.message() == [7])
    #expect(await alice.delivery() == true)
    await bob.media.setAudioMuted(true)
    #expect(await alice.muted() == true)
    await bob.media.setAudioMuted(false)
    // A seat makes its numbers each 2 s: there was sound by then.
    let hosts = await alice.first {
      if case .relay(.statistics(let all)) = $0 { all.hosts.count } else { nil }
    }
    #expect(hosts == 1)
    #expect(await alice.media.relay != nil)
    let now = await alice.media.standing
    #expect(now.isRelayed && now.fingerprint != nil && now.memberCount == 2)
    await alice.media.leave()
    #expect(await alice.end() == .left)
    let standing = await alice.media.standing
    #expect(standing.relay?.opened ?? 0 > 0 && standing.relay?.sent ?? 0 > 0)
    #expect(standing.relay?.fingerprint == now.fingerprint && noise(alice.heard))
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
    for member in [alice, bob] { member.finish() }
  }

  @Test(.timeLimit(.minutes(1)))
  func `by a relay who asks to listen only is silent before anybody knows`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    var alice = try await MediaMember(endpoints[0], .host, .relay)
    var bob = try await MediaMember(endpoints[1], .host, .relay)
    #expect(await alice.firstFrame() != nil)
    #expect(await bob.firstFrame() != nil)
    let sound = alice.heard
    func heard() async -> Bool {
      await endpoints[0].pause(.milliseconds(700))
      let count = sound.samples.count
      await endpoints[0].pause(.milliseconds(700))
      return sound.samples.dropFirst(count).contains { abs(Int($0)) > 1000 }
    }
    #expect(await heard())
    await bob.media.relay?.setResigning(true)
    #expect(await !heard())
    await bob.media.relay?.setResigning(false)
    #expect(await heard())
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
    for member in [alice, bob] { member.finish() }
  }

  /// Goal: whoever takes a seat later verifies those who have renewed their tokens meanwhile.
  /// Method: bob's token of 10 s is renewed; alice takes a new seat after its end.
  @Test(.timeLimit(.minutes(1)))
  func `in a channel with a key a new seat verifies a member by its newer token`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    var random = RandomSource.system
    let key = TokenSigningKey(random: &random)
    let room = "tea@\(key.publicKey.text)"
    let name = try #require(ChannelName(room))
    func token(of endpoint: Endpoint, seconds: UInt64) -> String {
      let now = SystemClock.wallNanoseconds / 1_000_000_000
      let claims = TokenClaims(
        audience: name.audience, subject: endpoint.id, scope: "host",
        expires: (now + seconds) * 1000)
      return PublicToken(signing: claims.json, by: key).text
    }
    var alice = try await MediaMember(
      endpoints[0], .host, .relay, room: room, token: token(of: endpoints[0], seconds: 600))
    var bob = try await MediaMember(
      endpoints[1], .host, .relay, room: room, token: token(of: endpoints[1], seconds: 10))
    #expect(await alice.firstFrame() != nil)
    #expect(await bob.firstFrame() != nil)
    try await bob.media.channel.renewToken(token(of: endpoints[1], seconds: 600))
    await endpoints[0].pause(.seconds(11))
    await alice.media.relay?.rest()
    await alice.media.relay?.start()
    _ = await alice.first { if case .relay(.connected) = $0 { true } else { nil } }
    let heard = await alice.first { if case .relay(.firstFrame) = $0 { true } else { nil } }
    #expect(heard == true)
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
    for member in [alice, bob] { member.finish() }
  }

  @Test(.timeLimit(.minutes(1)))
  func `without a relay a stay that is to be by one is over`() async throws {
    let town = try await LoopbackTown()
    var alice = try await MediaMember(town.alice, .host, .relay)
    #expect(await alice.end() == .noRelay)
    // By the relay alone it is waited for: asked about twice, the stay goes on.
    var patient = try await MediaMember(town.bob, .host, .relayOnly)
    for _ in 0..<2 { #expect(await patient.relayMissing() == true) }
    await patient.media.leave()
    #expect(await patient.end() == .left)
    // The channel was left: it can be joined again.
    var again = try await MediaMember(town.alice, .host)
    #expect(await again.joined() != nil)
    await again.media.leave()
    var bad = ChannelMedia.Options()
    bad.bitrate = 1
    let tea = try #require(ChannelName("tea"))
    do throws(EarshotError) {
      _ = try await town.bob.join(tea, as: .host, media: bad)
      #expect(Bool(false), "one bit a second is too few")
    } catch {
      #expect(error.code == .invalidArgument)
    }
    await town.close()
  }

  @Test func `a message is delivered once all its parts are`() {
    var flights = ChannelFlights()
    let call = CallID(bytes: Array(0..<16))
    #expect(flights.begin([.relay(4), .call(call, 9)]) == 1)
    #expect(flights.names(call) && flights.finish(.relay(4), isDelivered: true).isEmpty)
    let told = flights.delivery(.messageDelivery(tag: 9, delivered: true), of: call)
    guard case .messageDelivery(1, true)? = told else {
      return #expect(Bool(false), "\(told as Any)")
    }
    #expect(flights.begin([.call(call, 10)]) == 2)
    guard case .messageDelivery(2, false)? = flights.end(of: call).first else {
      return #expect(Bool(false), "its call is over")
    }
    _ = flights.begin([.relay(5)])
    #expect(flights.closeAll().count == 1 && !flights.names(call))
  }
}
