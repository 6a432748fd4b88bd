import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import GroupKeys

@Suite struct VerifiedMemberTests {
  private let alice = TestChannel.people[0]

  private func fault(
    _ claim: MemberClaim, by rule: MembershipRule = TestChannel.rule, at seconds: UInt64 = testDay
  ) -> MembershipFault? {
    do throws(MembershipFault) {
      _ = try VerifiedMember(verifying: claim, by: rule, unixMilliseconds: seconds * 1000)
      return nil
    } catch {
      return error
    }
  }

  @Test func `is made from a card and a token that hold`() throws {
    let member = try alice.member(uid: 5, role: .audience, joinNumber: 6)
    #expect(member.uid == 5 && member.joinNumber == 6 && member.role == .audience)
    #expect(member.id == alice.card.id && member.staticKey == alice.card.staticKey)
  }

  @Test func `is not made from anything else`() throws {
    let other = TestChannel.people[1]
    var random = RandomSource(seed: 3)
    let stranger = Person.token(
      of: alice.card.id, scope: "publish", by: TokenSigningKey(random: &random))
    let whole = alice.claim(uid: 1)
    #expect(fault(whole) == nil)
    #expect(fault(alice.claim(uid: 0)) == .uid)
    #expect(fault(alice.claim(uid: 1, token: [])) == .token(.malformed))
    #expect(fault(alice.claim(uid: 1, token: other.hostToken)) == .token(.subject))
    #expect(fault(alice.claim(uid: 1, token: stranger)) == .token(.signature))
    #expect(fault(alice.claim(uid: 1, token: alice.audienceToken)) == .token(.scope))
    #expect(fault(whole, at: testDay + 3600) == .token(.expired))
    #expect(fault(whole, at: testDay - 86_400) == .card(.notYetValid))
    var forged = Array(alice.card.bytes)
    forged[40] ^= 1
    var claim = whole
    claim.card = try ContactCard(parsing: forged)
    #expect(fault(claim) == .card(.wrongSignature))
  }

  @Test func `an open channel asks for a card alone`() throws {
    var claim = alice.claim(uid: 1, token: [])
    #expect(fault(claim, by: .open) == nil)
    claim.uid = 0
    #expect(fault(claim, by: .open) == .uid)
  }
}

@Suite struct KeyRosterTests {
  @Test func `keeps members by uid, counts roles and remembers revisions`() throws {
    let people = TestChannel.people
    var roster = KeyRoster(
      channel: TestChannel.id, own: try people[0].member(uid: 50), historyLimit: 4)
    let alone = roster.fingerprint
    for (index, uid) in [UInt32(9), 3, 70, 20].enumerated() {
      let role: MemberRole = index % 2 == 0 ? .host : .audience
      roster.insert(
        try people[1 + index].member(uid: uid, role: role), revision: UInt64(index) + 1)
    }
    #expect(roster.members.map(\.uid) == [3, 9, 20, 70])
    #expect(roster.audienceCount == 2 && roster.hostCount == 2)
    let full = roster.fingerprint
    roster.insert(try people[1].member(uid: 9, role: .audience), revision: 5)
    #expect(roster.audienceCount == 3 && roster.hostCount == 1)
    #expect(roster.fingerprint == full, "a role changes nothing of who may hear")
    for uid in [UInt32(9), 3, 70, 20] {
      expect(roster.remove(uid, revision: 6)?.uid == uid)
      expect(roster.remove(uid, revision: 6) == nil)
    }
    #expect(roster.fingerprint == alone)
    #expect(roster.fingerprint(at: 6) == alone)
    #expect(roster.fingerprint(at: 5) == full)
    #expect(roster.fingerprint(at: 1) == nil, "too long ago")
    #expect(roster.fingerprint(at: 7) == nil, "to come")
  }
}

@Suite struct RosterFingerprintTests {
  private func fingerprint(_ members: [VerifiedMember], _ channel: Bytes32 = TestChannel.id)
    -> RosterFingerprint
  {
    RosterFingerprint(channel: channel, members: members)
  }

  @Test func `is six groups of four letters, the same for any order`() throws {
    let members = try (0..<4).map { try TestChannel.people[$0].member(uid: UInt32($0) + 1) }
    let print = fingerprint(members)
    #expect(print == fingerprint(members.reversed()))
    let groups = print.text.split(separator: " ")
    #expect(groups.map(\.count) == Array(repeating: 4, count: 6))
    #expect(print.text.utf8.allSatisfy { $0 == 0x20 || ZBase32.alphabet.contains($0) })
    #expect(print.text.filter { $0 != " " }.count == RosterFingerprint.letterCount)
  }

  @Test func `differs where a member, a uid or the channel does`() throws {
    let people = TestChannel.people
    let members = try [people[0].member(uid: 1), people[1].member(uid: 2)]
    let others = [
      fingerprint(members, .zero), fingerprint([members[0]]),
      fingerprint(try members + [people[2].member(uid: 3)]),
      fingerprint(try [people[0].member(uid: 1), people[1].member(uid: 3)]),
      fingerprint(try [people[0].member(uid: 1), people[2].member(uid: 2)]),
      fingerprint(try [people[0].member(uid: 2), people[1].member(uid: 1)]),
    ]
    #expect(!others.contains(fingerprint(members)))
    #expect(Set(others).count == others.count)
  }
}
