import Cryptography
import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import GroupKeys

@Suite struct GroupKeyMachineTests {
  /// Two hosts and one of an audience, who have each other's keys.
  private func trio() throws -> TestGroup {
    let group = TestGroup()
    try group.join(TestMember(0, uid: 1))
    try group.join(TestMember(1, uid: 2))
    try group.join(TestMember(2, uid: 3, role: .audience))
    group.settle()
    return group
  }

  @Test func `every member opens the frames of every host`() throws {
    let group = try trio()
    for host in [UInt32(1), 2] {
      for round in 0..<3 {
        let frame = try group[host].seal([7, UInt8(round)], metadata: [1, 2])
        for other in group.members where other.member.uid != host {
          let text = try other.open(frame, from: host, metadata: [1, 2], now: group.now)
          #expect(text == [7, UInt8(round)])
        }
      }
    }
    #expect(throws: SFrameError.notPublishing) { try group[3].seal([1]) }
    let texts = Set(group.members.map(\.fingerprint))
    #expect(texts.count == 1)
  }

  @Test func `another sender, other metadata or a replay does not open`() throws {
    let group = try trio()
    let frame = try group[1].seal([1], metadata: [5])
    let now = group.now
    #expect(throws: SFrameError.notAuthentic) {
      try group[3].open(frame, from: 1, metadata: [6], now: now)
    }
    #expect(throws: SFrameError.notAuthentic) {
      try group[3].open(frame, from: 2, metadata: [5], now: now)
    }
    #expect(group[3].refusal(of: frame, from: 3, now: now) == .unknownSender)
    #expect(group[3].refusal(of: frame, from: 77, now: now) == .unknownSender)
    _ = try group[3].open(frame, from: 1, metadata: [5], now: now)
    #expect(throws: SFrameError.replayed) {
      try group[3].open(frame, from: 1, metadata: [5], now: now)
    }
  }

  @Test func `a newcomer hears from now on, and nothing before; nobody else is told`() throws {
    let group = try trio()
    let before = try group[1].seal([1])
    group.wait(100)
    try group.join(TestMember(3, uid: 4, role: .audience))
    #expect(group[1].step == 1)
    #expect(group[2].step == 0, "it has sealed nothing")
    #expect(group.settle() == 4, "two envelopes, two receipts")
    let after = try group[1].seal([2])
    #expect(try group[4].open(after, from: 1, now: group.now) == [2])
    #expect(group[4].refusal(of: before, from: 1, now: group.now) == .tooOld)
    #expect(try group[3].open(after, from: 1, now: group.now) == [2])
    #expect(try group[3].open(before, from: 1, now: group.now) == [1])
  }

  @Test func `newcomers within 50 ms share a ratchet`() throws {
    let group = try trio()
    for number in 3..<9 {
      _ = try group[1].seal([1])
      try group.join(TestMember(number, uid: UInt32(number + 1), role: .audience))
      group.wait(5)
    }
    #expect(group[1].step == 1)
    let early = try group[1].seal([1])
    group.wait(50)
    #expect(group[1].step == 2)
    group.settle()
    #expect(group[9].refusal(of: early, from: 1, now: group.now) == .tooOld)
    let frame = try group[1].seal([3])
    for uid in UInt32(4)...9 { #expect(try group[uid].open(frame, from: 1, now: group.now) == [3]) }
  }

  @Test func `who left hears nothing once all others have the fresh key`() throws {
    let group = try trio()
    let gone = group[3]
    group.leave(3)
    #expect(group[1].freshKeyCount == 2)
    #expect(group[1].generation == 0, "the others do not have it yet")
    group.settle()
    #expect(group[1].generation == 1)
    let frame = try group[1].seal([1])
    #expect(gone.refusal(of: frame, from: 1, now: group.now) == .unknownKey)
    #expect(try group[2].open(frame, from: 1, now: group.now) == [1])
  }

  @Test func `the fresh key is used within 900 ms, whoever has it`() throws {
    let group = try trio()
    group.leave(3)
    group.wait(899)
    #expect(group[1].generation == 0)
    #expect(group[1].nextDeadline == group.now + .milliseconds(1))
    group.wait(1)
    #expect(group[1].generation == 1)
  }

  @Test(arguments: [Departure.removed, .banned, .expired])
  func `after a removal it is used within 250 ms, whatever else waits`(departure: Departure) throws
  {
    let group = try trio()
    try group.join(TestMember(3, uid: 4, role: .audience))
    group.settle()
    group.leave(4)
    group.settle()
    group.wait(10)
    group.leave(3, departure)
    #expect(group[1].freshKeyCount == 3)
    group.wait(250)
    #expect(group[1].generation == 2)
  }

  /// Goal: who takes its own uid again and again costs no more than who leaves.
  @Test func `a uid that another identity takes is a removal, one of the same is a leave`() throws {
    for isSame in [true, false] {
      let group = try trio()
      try group.join(TestMember(3, uid: 4, role: .audience))
      group.settle()
      group.leave(4)
      group.settle()
      group.wait(10)
      let successor = isSame ? group[3].member.id : TestChannel.people[5].card.id
      group.leave(3, .replaced, successor: successor)
      #expect(group[1].freshKeyCount == (isSame ? 2 : 3))
      group.wait(990)
      #expect(group[1].freshKeyCount == 3)
    }
  }

  @Test func `leaves within a second share a fresh key`() throws {
    let group = TestGroup()
    for number in 0..<8 {
      try group.join(
        TestMember(number, uid: UInt32(number) + 1, role: number < 1 ? .host : .audience))
    }
    group.settle()
    for uid in UInt32(2)...7 {
      group.leave(uid)
      group.settle()
      group.wait(50)
    }
    #expect(group[1].freshKeyCount == 2)
    group.wait(700)
    group.settle()
    #expect(group[1].freshKeyCount == 3)
    #expect(group[1].generation == 2)
  }

  @Test func `a leave of somebody who holds no key changes nothing`() throws {
    let group = try trio()
    try group.join(TestMember(3, uid: 4, role: .audience))
    group.leave(4)
    #expect(group[1].freshKeyCount == 1)
  }

  @Test func `a lost envelope is sent again, and a lost receipt is answered again`() throws {
    let group = try trio()
    let newcomer = try TestMember(3, uid: 4, role: .audience)
    try group.join(newcomer)
    let lost = try #require(group[1].poll(now: group.now))
    #expect(lost.recipient == 4)
    group.wait(250)
    let again = try #require(group[1].poll(now: group.now))
    #expect(again == lost, "the same bytes: no second sealing")
    try newcomer.receive(again.bytes, from: 1, now: group.now)
    _ = newcomer.poll(now: group.now)
    try newcomer.receive(again.bytes, from: 1, now: group.now)
    let receipt = try #require(newcomer.poll(now: group.now))
    try group[1].receive(receipt.bytes, from: 4, now: group.now)
    #expect(newcomer.counters.openedEnvelopes == 1)
    group.wait(5_000)
    let isQuiet = group[1].poll(now: group.now) == nil
    #expect(isQuiet)
  }

  @Test func `a member without the key asks for it`() throws {
    let group = try trio()
    let newcomer = try TestMember(3, uid: 4, role: .audience)
    try group.join(newcomer)
    let frame = try group[1].seal([1])
    #expect(newcomer.refusal(of: frame, from: 1, now: group.now) == .unknownKey)
    group.wait(300)
    let request = try #require(newcomer.poll(now: group.now))
    #expect(request == OutgoingKeyMessage(recipient: 1, bytes: [3]))
    // Its envelope waits already.
    #expect(throws: KeyMessageError.unexpected) {
      try group[1].receive(request.bytes, from: 4, now: group.now)
    }
    group.settle()
    #expect(try newcomer.open(frame, from: 1, now: group.now) == [1])
    group.wait(1_000)
    try group[1].receive(request.bytes, from: 4, now: group.now)
    #expect(group[1].poll(now: group.now)?.recipient == 4, "it may have started anew")
  }

  @Test func `one that is not verified gets nothing and says nothing`() throws {
    let group = try trio()
    let ghost = TestChannel.people[5]
    #expect(throws: MembershipFault.token(.signature)) {
      var random = RandomSource(seed: 8)
      let token = Person.token(
        of: ghost.identity.id, scope: "listen", by: TokenSigningKey(random: &random))
      return try TestChannel.verified(ghost.claim(uid: 9, role: .audience, token: token))
    }
    for bytes in [[3], [UInt8(1)] + Array(repeating: 0, count: KeyEnvelope.byteCount)] {
      #expect(throws: KeyMessageError.unknownSender) {
        try group[1].receive(bytes, from: 9, now: group.now)
      }
    }
    #expect(group[1].counters.dropped(.unknownSender) == 2)
    #expect(group.settle() == 0)
  }

  @Test func `bytes that are none of ours are counted by reason`() throws {
    let group = try trio()
    let noise = [UInt8(1)] + Array(repeating: UInt8(7), count: KeyEnvelope.byteCount)
    let wrong: [([UInt8], UInt32, KeyMessageError)] = [
      ([], 2, .malformed), ([9], 2, .malformed), (noise, 2, .notAuthentic),
      (noise, 3, .unknownSender), (KeyMessage.receipt(generation: 0, .zero).bytes, 2, .unexpected),
    ]
    for (bytes, uid, reason) in wrong {
      #expect(throws: reason) { try group[1].receive(bytes, from: uid, now: group.now) }
      #expect(group[1].counters.dropped(reason) > 0)
    }
    for _ in 0..<100 { try? group[1].receive(noise, from: 2, now: group.now) }
    #expect(group[1].counters.dropped(.notAuthentic) <= GroupKeyLimits().envelopes)
    #expect(group[1].counters.dropped(.limited) >= 100 - GroupKeyLimits().envelopes)
  }

  @Test func `a fork of the roster is told`() throws {
    let group = try trio()
    _ = drain(group[2])
    // The rendezvous shows host 1 one more member than the others, at the same revision.
    let extra = try TestChannel.people[6].member(uid: 6, role: .audience)
    let shown = group.revision + 1
    try group[1].machine.handleJoin(extra, revision: shown, now: group.now)
    let other = try TestChannel.people[7].member(uid: 7, role: .audience)
    for uid in [UInt32(2), 3] {
      try group[uid].machine.handleJoin(other, revision: shown, now: group.now)
    }
    group[1].machine.handleLeave(3, .left, revision: shown + 1, now: group.now)
    group[2].machine.handleLeave(3, .left, revision: shown + 1, now: group.now)
    group.settle()
    #expect(drain(group[2]).contains(.rosterDiffers(from: 1)))
    #expect(group[1].fingerprint != group[2].fingerprint)
  }

  @Test func `a roster that comes later is no fork`() throws {
    let group = try trio()
    _ = drain(group[2])
    let late = try TestMember(3, uid: 4)
    try group[1].machine.handleJoin(late.member, revision: 9, now: group.now)
    group[1].machine.handleLeave(3, .left, revision: 10, now: group.now)
    group.settle()
    try group[2].machine.handleJoin(late.member, revision: 9, now: group.now)
    group[2].machine.handleLeave(3, .left, revision: 10, now: group.now)
    #expect(!drain(group[2]).contains(.rosterDiffers(from: 1)))
    #expect(group[1].fingerprint == group[2].fingerprint)
  }

  @Test func `who comes back with another join number is somebody new`() throws {
    let group = try trio()
    let old = group[3]
    let again = try TestMember(2, uid: 3, role: .audience, joinNumber: 33)
    for uid in [UInt32(1), 2] {
      try group[uid].machine.handleJoin(again.member, revision: 9, now: group.now)
    }
    #expect(group[1].freshKeyCount == 2)
    let envelopes = [group[1].poll(now: group.now), group[1].poll(now: group.now)]
    for message in envelopes.compactMap({ $0 }) where message.recipient == 3 {
      #expect(throws: KeyMessageError.notAuthentic) {
        try old.receive(message.bytes, from: 1, now: group.now)
      }
    }
    #expect(group[1].memberCount == 2)
  }

  @Test func `a host that becomes audience is no longer heard, and the other way round`() throws {
    let group = try trio()
    let frame = try group[2].seal([1])
    let person = TestChannel.people[1]
    let listening = try person.member(uid: 2, role: .audience)
    try group[1].machine.handleJoin(listening, revision: 9, now: group.now)
    #expect(group[1].refusal(of: frame, from: 2, now: group.now) == .unknownSender)
    try group[2].machine.handleJoin(listening, revision: 9, now: group.now)
    #expect(!group[2].isPublishing)
    let speaking = try person.member(uid: 2)
    for uid in [UInt32(1), 2, 3] {
      try group[uid].machine.handleJoin(speaking, revision: 10, now: group.now)
    }
    group[2].machine.startPublishing()
    group.settle()
    let later = try group[2].seal([2])
    #expect(try group[1].open(later, from: 2, now: group.now) == [2])
  }

  @Test func `limits of members and hosts hold`() throws {
    var limits = GroupKeyLimits()
    limits.members = 3
    limits.hosts = 2
    let host = try TestMember(0, uid: 1, limits: limits)
    let people = TestChannel.people
    let now = instant(0)
    try host.machine.handleJoin(people[1].member(uid: 2), revision: 1, now: now)
    try host.machine.handleJoin(people[2].member(uid: 3), revision: 2, now: now)
    #expect(throws: GroupKeyError.tooManyHosts) {
      try host.machine.handleJoin(people[3].member(uid: 4), revision: 3, now: now)
    }
    try host.machine.handleJoin(people[3].member(uid: 4, role: .audience), revision: 3, now: now)
    #expect(throws: GroupKeyError.tooManyMembers) {
      try host.machine.handleJoin(people[4].member(uid: 5, role: .audience), revision: 4, now: now)
    }
    #expect(throws: GroupKeyError.ownUID) {
      try host.machine.handleJoin(people[4].member(uid: 1), revision: 4, now: now)
    }
    try host.machine.handleJoin(people[1].member(uid: 2), revision: 5, now: now)
    #expect(host.memberCount == 3)
  }

  /// Goal: the figure of docs/protocol/sframe.md §1 and of decision 0071.
  @Test func `an audio frame grows by 13 bytes in a long channel with leaves`() throws {
    let group = try trio()
    for number in 3..<8 {
      try group.join(TestMember(number, uid: UInt32(number + 1), role: .audience))
      group.settle()
      group.leave(UInt32(number + 1))
      group.wait(1_000)
      group.settle()
    }
    let body = [UInt8](repeating: 1, count: 80)
    let first = try group[1].seal(body)
    #expect(first.count - body.count == 1 + 2 + 0 + 8)
    var last = first
    for _ in 0..<300 { last = try group[1].seal(body) }
    #expect(last.count - body.count == 1 + 2 + 2 + 8)
    let hop = 9 + 16
    let audioFrame = 3
    let relayFields = 2  // stream and level; the frame number is the AUDIO frame's media time
    #expect(hop + audioFrame + relayFields + (last.count - body.count) <= 44)
  }

  private func drain(_ member: TestMember) -> [GroupKeyEvent] {
    var events: [GroupKeyEvent] = []
    while let event = member.machine.pollEvent() { events.append(event) }
    return events
  }
}
