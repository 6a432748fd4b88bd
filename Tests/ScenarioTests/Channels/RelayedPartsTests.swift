import Channels
import Forwarding
import GroupKeys
import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import Peer
@testable import Rendezvous

/// The parts of a member's end of a relay, and a relay's own registration.
struct RelayedPartsTests {
  private func label(_ time: UInt16) -> ChannelAudioLabel {
    ChannelAudioLabel(length: .milliseconds20, isMarked: false, mediaTime: time, level: 20)
  }

  private func identity(_ seed: UInt64) -> LocalIdentity {
    var random = RandomSource(seed: seed)
    return LocalIdentity(
      kind: .peer, unixSeconds: RelayedWorld.unixSeconds, random: &random)
  }

  @Test func `what is known of a member is forgotten when it leaves`() {
    var talk = RelayedTalk(messages: RelayedMessages(epoch: 1))
    talk.add(3, now: .zero)
    let calm = talk.nextDeadline
    #expect(calm != nil)
    let message = DataPart(epoch: 5, number: 2, bytes: [1])
    #expect(talk.messages.handle(message, of: 3, now: .zero) == [], "the first one may come yet")
    #expect(talk.nextDeadline == .zero + .seconds(2))
    talk.remove(3)
    #expect(talk.nextDeadline == nil)
    talk.add(3, now: .zero)
    #expect(talk.nextDeadline == calm)
  }

  @Test func `what waits leaves in order, with copies, and not when it is old`() {
    var outbox = RelayedOutbox()
    for time in 0..<12 as Range<UInt16> {
      outbox.append(
        label(time * 2), [UInt8](repeating: UInt8(time), count: 20).span, payloadByteCount: 7)
    }
    var times: [UInt16] = []
    var copies: [Int] = []
    while outbox.hasFrame {
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: 1200) { outbox.write(copies: 2, limit: 1184, into: &$0) }
      var reader = FrameReader(bytes.span)
      var count = 0
      while let frame = try? reader.next() {
        if case .channelAudio(let audio, _) = frame { times.append(audio.label.mediaTime) }
        if case .channelCopy = frame { count += 1 }
      }
      copies.append(count)
    }
    #expect(times == [8, 10, 12, 14, 16, 18, 20, 22] && copies == Array(repeating: 2, count: 8))
    #expect(outbox.sentCount == 8)
    #expect([nil, 0.005, 0.02, 0.2].map { RelayedOutbox.copyCount(loss: $0) } == [0, 0, 1, 2])
  }

  @Test func `an inbox takes what a relay may send, and lends its bytes`() {
    let inbox = ChannelInbox()
    let packet: [UInt8] = [1, 2, 3, 4]
    inbox.append(.channelWho(uid: 1), in: packet.span)
    #expect(inbox.frames.isEmpty)
    for _ in 0..<20 {
      inbox.append(.channelSource(ChannelSourceFrame(source: 1, uid: 2)), in: packet.span)
    }
    #expect(inbox.frames.count == 16 && inbox.packet == packet)
    #expect(inbox.bytes(at: PacketRange(1..<9)) == [2, 3, 4])
    var bytes = inbox.takePacket()
    bytes[0] = 9
    inbox.putBack(bytes)
    inbox.removeAll()
    #expect(inbox.packet == [9, 2, 3, 4] && inbox.frames.isEmpty)
  }

  @Test func `a member is verified by the card of the roster's ID alone`() throws {
    let tea = try #require(ChannelIdentity("tea"))
    var members = RelayedMembers(tea, own: 1)
    let now = Instant(nanoseconds: 1)
    var bob = identity(2)
    var eve = identity(3)
    let member = ChannelMember(uid: 2, role: .host, joinNumber: 5, id: bob.id)
    let own = ChannelMember(uid: 1, role: .host, joinNumber: 4, id: eve.id)
    let first = members.handleRoster([own, member], now: now)
    let questions = [members.popQuestion(now: now), members.popQuestion(now: now)]
    #expect(first.isEmpty && questions == [2, nil])
    #expect(members.nextDeadline == now + .milliseconds(20))
    let time = RelayedWorld.unixSeconds
    members.handleCard(try eve.makeCard(unixSeconds: time).bytes, of: 2)
    members.handleCard([1, 2, 3], of: 2)
    let verified1 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified1 == nil)
    #expect(members.refusedCount == 2)
    // One that is out of date is no good either; it is asked for again.
    members.handleCard(try bob.makeCard(unixSeconds: time).bytes, of: 2)
    let verified2 = members.popVerified(unixMilliseconds: (time + 90 * 86_400) * 1000)
    #expect(verified2 == nil)
    members.handleCard(try bob.makeCard(unixSeconds: time).bytes, of: 2)
    let verified3 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified3?.id == bob.id)
    #expect(members.known == [member] && members.nextDeadline == nil)
    // A later stay is another member.
    var later = member
    later.joinNumber = 6
    let gone = members.handleRoster([own, later], now: now)
    #expect(gone == [2])
    #expect(members.known.isEmpty)
  }

  @Test func `one whose card is no good keeps nobody behind it from being verified`() throws {
    var members = RelayedMembers(try #require(ChannelIdentity("tea")), own: 1)
    let (now, time) = (Instant(nanoseconds: 1), RelayedWorld.unixSeconds)
    var bob = identity(2)
    var carol = identity(3)
    let roster = [
      ChannelMember(uid: 2, role: .host, joinNumber: 5, id: bob.id),
      ChannelMember(uid: 3, role: .host, joinNumber: 6, id: carol.id),
    ]
    _ = members.handleRoster(roster, now: now)
    // It was good for a while, long ago.
    members.handleCard(try bob.makeCard(unixSeconds: time - 400 * 86_400).bytes, of: 2)
    members.handleCard(try carol.makeCard(unixSeconds: time).bytes, of: 3)
    let verified = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified?.id == carol.id && members.refusedCount == 1)
    let more = members.popVerified(unixMilliseconds: time * 1000)
    #expect(more == nil && members.known == [roster[1]])
  }

  @Test func `a relay that has no card yet is asked again soon, later less often`() throws {
    var members = RelayedMembers(try #require(ChannelIdentity("tea")), own: 1)
    let now = Instant(nanoseconds: 1)
    let member = ChannelMember(uid: 2, role: .host, joinNumber: 5, id: identity(2).id)
    _ = members.handleRoster([member], now: now)
    var times: [Int64] = []
    var latest = now
    for _ in 0..<15 {
      let due = members.nextDeadline ?? now
      times.append((due - latest).milliseconds)
      latest = due
      _ = members.popQuestion(now: due)
    }
    #expect(times.prefix(7) == [0, 20, 40, 80, 160, 250, 250] && times.suffix(2) == [1000, 1000])
  }

  /// Method: its card is asked for each second; then a message of it comes each 100 ms.
  @Test func `a member whose messages come has its card asked for each 250 ms`() throws {
    var members = RelayedMembers(try #require(ChannelIdentity("tea")), own: 1)
    let member = ChannelMember(uid: 2, role: .audience, joinNumber: 5, id: identity(2).id)
    var now = Instant(nanoseconds: 1)
    _ = members.handleRoster([member], now: now)
    for _ in 0..<15 {
      now = members.nextDeadline ?? now
      _ = members.popQuestion(now: now)
    }
    #expect(members.nextDeadline == now + .seconds(1))
    var asked: [Int64] = []
    for step in 1...20 as ClosedRange<Int64> {
      let time = now + .milliseconds(100 * step)
      members.keepMessage([3], of: 2, now: time)
      if members.popQuestion(now: time) != nil { asked.append(100 * step) }
    }
    #expect(asked == [300, 600, 900, 1200, 1500, 1800])
    #expect(members.popMessage(of: 2) == nil, "of the audience nothing is kept")
  }

  @Test func `a host that becomes one of a large audience is verified no more`() throws {
    let tea = try #require(ChannelIdentity("tea"))
    var members = RelayedMembers(tea, own: 1)
    var bob = identity(2)
    var member = ChannelMember(uid: 2, role: .host, joinNumber: 5, id: bob.id)
    let audience = (UInt32(3)...120).map {
      ChannelMember(uid: $0, role: .audience, joinNumber: UInt64($0), id: bob.id)
    }
    _ = members.handleRoster([member] + audience, as: .audience, now: .zero)
    let time = RelayedWorld.unixSeconds
    members.handleCard(try bob.makeCard(unixSeconds: time).bytes, of: 2)
    let verified = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified?.uid == 2)
    let stays = members.handleRoster([member] + audience, as: .audience, now: .zero)
    #expect(stays.isEmpty && members.known == [member])
    member.role = .audience
    let gone = members.handleRoster([member] + audience, as: .audience, now: .zero)
    #expect(gone == [2] && members.known.isEmpty)
  }

  @Test func `in a channel with a key nobody is verified without a token`() throws {
    var random = RandomSource(seed: 8)
    let key = TokenSigningKey(random: &random)
    let name = try #require(PeerName("tea"))
    let tea = ChannelIdentity(name: name, key: key.publicKey)
    var members = RelayedMembers(tea, own: 1)
    var bob = identity(2)
    let member = ChannelMember(uid: 2, role: .host, joinNumber: 5, id: bob.id)
    let time = RelayedWorld.unixSeconds
    _ = members.handleRoster([member], now: .zero)
    members.handleCard(try bob.makeCard(unixSeconds: time).bytes, of: 2)
    let verified4 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified4 == nil)
    var claims = TokenClaims(
      audience: tea.audience, subject: member.id, scope: "audience",
      expires: (time + 60) * 1000)
    let listens = Array(PublicToken(signing: claims.json, by: key).text.utf8)
    claims.scope = "host"
    let speaks = Array(PublicToken(signing: claims.json, by: key).text.utf8)
    members.handleToken(listens, of: 2, joinNumber: 5)
    let verified5 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified5 == nil)
    members.handleToken(speaks, of: 2, joinNumber: 4)
    let verified6 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified6 == nil)
    members.handleToken(speaks, of: 2, joinNumber: 5)
    let verified7 = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified7?.uid == 2)
  }

  /// Goal: whoever takes a new seat verifies a member that has renewed its token meanwhile.
  @Test func `a token that has ended costs no card, and a newer one is taken at once`() throws {
    var random = RandomSource(seed: 8)
    let key = TokenSigningKey(random: &random)
    let tea = ChannelIdentity(name: try #require(PeerName("tea")), key: key.publicKey)
    var members = RelayedMembers(tea, own: 1)
    var bob = identity(2)
    let member = ChannelMember(uid: 2, role: .host, joinNumber: 5, id: bob.id)
    let time = RelayedWorld.unixSeconds
    func token(until end: UInt64) -> [UInt8] {
      let claims = TokenClaims(
        audience: tea.audience, subject: member.id, scope: "host", expires: end * 1000)
      return Array(PublicToken(signing: claims.json, by: key).text.utf8)
    }
    _ = members.handleRoster([member], now: .zero)
    members.handleCard(try bob.makeCard(unixSeconds: time).bytes, of: 2)
    for _ in 0..<3 {
      members.handleToken(token(until: time - 1), of: 2, joinNumber: 5)
      let early = members.popVerified(unixMilliseconds: time * 1000)
      #expect(early == nil)
    }
    let question = members.popQuestion(now: .zero + .seconds(60))
    #expect(question == nil && members.refusedCount == 1)
    members.handleToken(token(until: time + 60), of: 2, joinNumber: 5)
    let verified = members.popVerified(unixMilliseconds: time * 1000)
    #expect(verified?.uid == 2)
  }

  /// Four seconds in which all that is sent arrives.
  private func exchange(
    _ machine: inout RelayRegistrationMachine, _ rendezvous: inout RendezvousMachine,
    from here: SocketAddress, to address: SocketAddress, now: inout Instant
  ) -> [RelayRegistrationEvent] {
    var steps: [RelayRegistrationEvent] = []
    var events: [ServerEvent] = []
    for _ in 0..<200 {
      now = now + .milliseconds(20)
      machine.handleTimeout(now: now)
      rendezvous.handleTimeout(now: now)
      var out = DatagramList()
      _ = drain(&machine, into: &out, events: &steps, now: now)
      for (bytes, path) in out.datagrams where path.remote == address {
        var copy = bytes
        var span = copy.mutableSpan
        rendezvous.handle(&span, from: here, marks: DatagramMarks(), now: now)
      }
      var back = DatagramList()
      _ = drain(&rendezvous, into: &back, events: &events, now: now)
      for (bytes, _) in back.datagrams {
        var copy = bytes
        var span = copy.mutableSpan
        machine.handle(&span, from: address, marks: DatagramMarks(), now: now)
      }
    }
    return steps
  }

  @Test func `a relay says where it is, and a rendezvous that is told so offers it`() throws {
    let relay = identity(4)
    let server = identity(5)
    var host = server.copy()
    let card = try host.makeCard(unixSeconds: RelayedWorld.unixSeconds)
    var settings = ServerSettings(
      identity: host, card: card, bootCounter: 1, resetKey: Array(repeating: 2, count: 32),
      wallMilliseconds: RelayedWorld.unixSeconds * 1000)
    settings.relayIDs = [relay.id]
    var rendezvous = RendezvousMachine(
      settings, store: MemoryStore(), random: RandomSource(seed: 6))
    let address = SocketAddress(v4: 192, 0, 2, 9, port: 7400)
    // Its name led elsewhere when the relay began.
    var configuration = PeerConfiguration(
      rendezvous: SocketAddress(v4: 192, 0, 2, 8, port: 7400),
      wallClockAtZero: Int64(RelayedWorld.unixSeconds * 1000))
    configuration.rendezvousID = server.id
    var now = Instant(nanoseconds: 1_000_000_000)
    let here = SocketAddress(v4: 192, 0, 2, 10, port: 7500)
    var machine = RelayRegistrationMachine(
      configuration, listening: here, identity: relay.copy(), random: RandomSource(seed: 7),
      now: now)
    let before = exchange(&machine, &rendezvous, from: here, to: address, now: &now)
    #expect(!before.contains { if case .step(.registered) = $0 { true } else { false } })
    machine.redial([address], now: now)
    let steps = exchange(&machine, &rendezvous, from: here, to: address, now: &now)
    #expect(steps.contains { if case .step(.registered) = $0 { true } else { false } })
    #expect(rendezvous.counters.messagesInvalid == 0)
    let seat = SeatClaim(channel: .zero, uid: 1, role: .host)
    let grant = rendezvous.channels.relays.grant(
      seat, by: relay.id, to: server.id, rendezvous.settings, now: now)
    #expect(grant?.relay == relay.id && grant?.address == here)
    // Of a rendezvous that stands no other address is asked.
    machine.redial([SocketAddress(v4: 192, 0, 2, 77, port: 7400)], now: now)
    let more = exchange(&machine, &rendezvous, from: here, to: address, now: &now)
    #expect(more.isEmpty && rendezvous.counters.messagesInvalid == 0)
    machine.shutDown(now: now)
    let isQuiet = machine.isQuiet
    #expect(!isQuiet)
  }
}
