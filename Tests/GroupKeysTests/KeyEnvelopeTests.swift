import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@testable import GroupKeys

@Suite struct KeyEnvelopeTests {
  private let alice = TestChannel.people[0]
  private let bob = TestChannel.people[1]

  private func parties(
    channel: Bytes32 = TestChannel.id, from sender: VerifiedMember? = nil,
    to receiver: VerifiedMember? = nil
  ) throws -> KeyEnvelope.Parties {
    KeyEnvelope.Parties(
      channel: channel, sender: try sender ?? alice.member(uid: 1),
      receiver: try receiver ?? bob.member(uid: 2))
  }

  private func sealed() throws -> [UInt8] {
    var random = RandomSource(seed: 5)
    let envelope = KeyEnvelope(
      key: SenderKey(generation: 7, step: 300, baseKey: secretKey(4)),
      receipt: Bytes16(InlineArray(repeating: 6)), rosterRevision: 99,
      rosterDigest: Bytes16(InlineArray(repeating: 8)))
    return try envelope.seal(for: parties(), by: alice.identity, random: &random)
  }

  private func refusal(
    _ bytes: [UInt8], _ parties: KeyEnvelope.Parties, by person: Person
  ) -> KeyMessageError? {
    do throws(KeyMessageError) {
      _ = try KeyEnvelope.open(bytes.span, for: parties, by: person.identity)
      return nil
    } catch {
      return error
    }
  }

  @Test func `brings a key from one member to one other`() throws {
    let bytes = try sealed()
    #expect(bytes.count == KeyEnvelope.byteCount)
    #expect(KeyEnvelope.byteCount == 178)
    let opened = try KeyEnvelope.open(bytes.span, for: parties(), by: bob.identity)
    let (generation, step) = (opened.key.generation, opened.key.step)
    #expect(generation == 7 && step == 300)
    let isKey = Secret.areEqual(opened.key.baseKey.span, [UInt8](repeating: 4, count: 32).span)
    #expect(isKey)
    let rest = (opened.receipt, opened.rosterRevision, opened.rosterDigest)
    #expect(rest.0 == Bytes16(InlineArray(repeating: 6)))
    #expect(rest.1 == 99)
    #expect(rest.2 == Bytes16(InlineArray(repeating: 8)))
  }

  @Test func `opens for no other channel, stay, uid, sender or receiver`() throws {
    let bytes = try sealed()
    let carol = TestChannel.people[2]
    let wrong = [
      try parties(channel: .zero),
      try parties(from: alice.member(uid: 3)),
      try parties(from: alice.member(uid: 1, joinNumber: 2)),
      try parties(from: carol.member(uid: 1)),
      try parties(to: bob.member(uid: 4)),
      try parties(to: bob.member(uid: 2, joinNumber: 3)),
      try parties(to: carol.member(uid: 2)),
    ]
    for parties in wrong { #expect(refusal(bytes, parties, by: bob) == .notAuthentic) }
    #expect(refusal(bytes, try parties(), by: carol) == .notAuthentic)
    #expect(refusal(bytes, try parties(), by: bob) == nil)
  }

  @Test func `does not open when a byte is changed, missing or too many`() throws {
    let bytes = try sealed()
    let parties = try parties()
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 0x10
      #expect(refusal(changed, parties, by: bob) == .notAuthentic, "byte \(index)")
    }
    #expect(refusal(Array(bytes.dropLast()), parties, by: bob) == .malformed)
    #expect(refusal(bytes + [0], parties, by: bob) == .malformed)
  }

  /// Goal: a device key that is not on the sender's card hands out nothing in its name.
  @Test func `must be made by the static key of the sender's card`() throws {
    var random = RandomSource(seed: 6)
    let carol = TestChannel.people[2]
    let envelope = KeyEnvelope(
      key: SenderKey(generation: 0, baseKey: secretKey(1)), receipt: .zero,
      rosterRevision: 0, rosterDigest: .zero)
    let bytes = try envelope.seal(for: parties(), by: carol.identity, random: &random)
    #expect(refusal(bytes, try parties(), by: bob) == .wrongSender)
  }

  @Test func `opens with the static key of the week before, and of the next`() throws {
    let bytes = try sealed()
    var random = RandomSource(seed: 1001)
    var later = LocalIdentity(kind: .peer, unixSeconds: testDay, random: &random)
    let week = LocalIdentity.Kind.peer.rotationPeriod
    let card = try later.makeCard(unixSeconds: testDay)
    #expect(card == bob.card, "the same person")
    #expect(later.rotateIfDue(unixSeconds: testDay + week, random: &random))
    _ = try KeyEnvelope.open(bytes.span, for: parties(), by: later)

    let newCard = try later.makeCard(unixSeconds: testDay + week)
    let claim = MemberClaim(
      uid: 2, role: .host, joinNumber: 2, card: newCard, token: bob.hostToken)
    let receiver = try VerifiedMember(
      verifying: claim, by: .open, unixMilliseconds: (testDay + week) * 1000)
    let parties = try parties(to: receiver)
    let envelope = KeyEnvelope(
      key: SenderKey(generation: 0, baseKey: secretKey(1)), receipt: .zero,
      rosterRevision: 0, rosterDigest: .zero)
    let ahead = try envelope.seal(for: parties, by: alice.identity, random: &random)
    #expect(refusal(ahead, parties, by: bob) == nil)
  }
}

@Suite struct KeyMessageTests {
  @Test func `messages are read as they were written`() throws {
    let messages: [KeyMessage] = [
      .key(Array(repeating: 3, count: KeyEnvelope.byteCount)),
      .receipt(generation: 0x0102_0304, Bytes16(InlineArray(repeating: 5))), .request,
    ]
    for message in messages {
      let bytes = message.bytes
      #expect(bytes.count <= KeyMessage.maximumByteCount)
      #expect(try KeyMessage(parsing: bytes.span) == message)
      for count in 0..<bytes.count {
        #expect(throws: WireError.self) {
          try KeyMessage(parsing: bytes.span.extracting(0..<count))
        }
      }
      #expect(throws: WireError.self) { try KeyMessage(parsing: (bytes + [0]).span) }
    }
    #expect(messages.map(\.bytes.count) == [179, 21, 1])
    for first in [UInt8(0), 4, 255] {
      #expect(throws: WireError.self) { try KeyMessage(parsing: [first].span) }
    }
  }
}
