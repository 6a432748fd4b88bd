import Primitives
import Testing
import Wire

@testable import Calling

/// A policy that allows more than one call.
@Suite struct SeveralCallsTests {
  private static func party(_ id: PeerID, calls: Int) -> Party {
    var policy = CallPolicy.standard
    policy.mostCalls = calls
    return Party(id, policy: policy)
  }

  /// Alice in a connected call with Bob, and able to have more.
  private static func connected(calls: Int) throws -> Party {
    var party = party(alice, calls: calls)
    try party.ledger.call(id(5), to: bob, ringTimeout: nil, now: start)
    connect(id(5), bob, &party)
    return party
  }

  private static func connect(_ callID: CallID, _ peer: PeerID, _ party: inout Party) {
    party.hears(.ringing(isPrepared: true), callID, from: peer)
    party.hears(.accept, callID, from: peer)
    party.ledger.handlePathReady(callID, now: party.now)
    party.ledger.handle(.audio, callID, now: party.now)
    party.ledger.handleFirstFrameReceived(callID, now: party.now)
    _ = party.actions()
  }

  private func peer(_ number: UInt64) -> PeerID {
    PeerID(word0: number, word1: 0, word2: 0, word3: 0)
  }

  @Test func `as many as the policy allows, and the next is busy`() throws {
    var party = try Self.connected(calls: 3)
    try party.ledger.call(id(6), to: carol, ringTimeout: nil, now: party.now)
    party.invited(id(7), from: peer(9))
    #expect(party.ledger.openCallIDs == [id(5), id(6), id(7)] && party.ledger.room == 0)
    _ = party.actions()
    #expect(throws: CallRefusal.busy) {
      try party.ledger.call(id(8), to: peer(10), ringTimeout: nil, now: party.now)
    }
    party.invited(id(9), from: peer(10))
    #expect(party.sent() == [.reject(.busy, .empty)])
  }

  @Test(arguments: [0, -3, 33, .max])
  func `a policy out of range is drawn into it`(calls: Int) {
    var policy = CallPolicy.standard
    policy.mostCalls = calls
    let ledger = CallLedger(ownID: alice, policy: policy, now: start)
    #expect(ledger.room == (calls < 1 ? 1 : CallLimits.mostCalls))
  }

  @Test func `with one peer there is one call`() throws {
    var party = try Self.connected(calls: 3)
    #expect(throws: CallRefusal.busy) {
      try party.ledger.call(id(6), to: bob, ringTimeout: nil, now: party.now)
    }
    party.invited(id(7), from: bob)
    #expect(party.sent() == [.reject(.busy, .empty)])
    #expect(party.ledger.openCallIDs == [id(5)])
  }

  /// Goal: two who share two channels hear each other in both.
  @Test func `with one peer there is a call in each channel's mesh, and one outside`() throws {
    let (tea, milk) = (Bytes32(bob), Bytes32(carol))
    var party = Self.party(alice, calls: 4)
    try party.ledger.call(id(5), to: bob, in: tea, ringTimeout: nil, now: start)
    Self.connect(id(5), bob, &party)
    party.invited(id(6), from: bob, in: milk)
    #expect(party.sent() == [.ringing(isPrepared: true)])
    try party.ledger.accept(id(6), now: party.now)
    try party.ledger.call(id(7), to: bob, ringTimeout: nil, now: party.now)
    #expect(party.ledger.openCallIDs == [id(5), id(6), id(7)])
    #expect(party.ledger.openCall(with: bob, in: milk) == id(6))
    _ = party.actions()
    for channel in [tea, milk, nil] {
      #expect(throws: CallRefusal.busy) {
        try party.ledger.call(id(8), to: bob, in: channel, ringTimeout: nil, now: party.now)
      }
    }
    // Of a call that is silent: only that of the same channel gives way.
    party.now = party.now + .seconds(5)
    party.invited(id(9), from: bob, in: tea)
    #expect(party.ledger.state(of: id(5)) == .idle && party.ledger.isOpen(id(9)))
    #expect(party.ledger.isOpen(id(6)) && party.ledger.isOpen(id(7)))
  }

  @Test func `who both invite in two channels at once get a call in each`() throws {
    let (tea, milk) = (Bytes32(bob), Bytes32(carol))
    var party = Self.party(alice, calls: 4)
    try party.ledger.call(id(5), to: bob, in: tea, ringTimeout: nil, now: start)
    party.invited(id(4), from: bob, in: milk)
    #expect(party.ledger.openCallIDs == [id(4), id(5)])
    // In the same channel they are one call: the lesser ID stands.
    party.invited(id(3), from: bob, in: tea)
    #expect(party.ledger.openCallIDs == [id(3), id(4)])
    #expect(party.ledger.openCall(with: bob, in: tea) == id(3))
  }

  @Test func `each ends by itself`() throws {
    var party = try Self.connected(calls: 2)
    try party.ledger.call(id(6), to: carol, ringTimeout: nil, now: party.now)
    Self.connect(id(6), carol, &party)
    try party.ledger.hangUp(id(5), now: party.now)
    #expect(party.ledger.state(of: id(5)) == .idle)
    #expect(party.ledger.state(of: id(6)) == .connected)
    _ = party.actions()
    // Words about one mean that one, from its own peer only.
    party.hears(.hangUp(.userHungUp, .empty), id(6), from: bob)
    #expect(party.ledger.ignored[.wrongPeer] == 1 && party.ledger.isOpen(id(6)))
    party.hears(.hangUp(.userHungUp, .empty), id(6), from: carol)
    #expect(party.summary()?.callID == id(6))
    #expect(!party.ledger.hasOpenCalls && party.ledger.room == 2)
  }

  @Test func `each has its own clock`() throws {
    var party = try Self.connected(calls: 2)
    try party.ledger.call(id(6), to: carol, ringTimeout: .seconds(3), now: party.now)
    party.hears(.ringing(isPrepared: false), id(6), from: carol)
    _ = party.actions()
    for _ in 0..<4 {
      party.wait(.seconds(1))
      party.ledger.handle(.audio, id(5), now: party.now)
    }
    #expect(party.ledger.state(of: id(6)) == .idle)
    #expect(party.ledger.state(of: id(5)) == .connected)
    _ = party.actions()
    party.wait(.seconds(25))
    #expect(party.summary()?.outcome == .lost)
  }

  @Test func `both calling each other is settled beside another call`() throws {
    var party = try Self.connected(calls: 2)
    try party.ledger.call(id(6), to: carol, ringTimeout: nil, now: party.now)
    _ = party.actions()
    party.invited(id(4), from: carol)
    #expect(party.sent().contains(.accept))
    #expect(party.ledger.openCallIDs == [id(4), id(5)])
    #expect(party.ledger.state(of: id(4)) == .connecting)
    #expect(party.ledger.state(of: id(5)) == .connected)
  }

  @Test func `a peer whose program was restarted takes its own call's place, no other`() throws {
    var party = try Self.connected(calls: 2)
    try party.ledger.call(id(6), to: carol, ringTimeout: nil, now: party.now)
    Self.connect(id(6), carol, &party)
    for _ in 0..<5 {
      party.wait(.seconds(1))
      party.ledger.handle(.audio, id(6), now: party.now)
    }
    _ = party.actions()
    party.invited(id(7), from: bob)
    #expect(party.ledger.openCallIDs == [id(6), id(7)])
    #expect(party.ledger.state(of: id(6)) == .connected)
  }

  @Test func `channels have room beside the other calls, together no more than there may be`() {
    var policy = CallPolicy()
    policy.mostCalls = 2
    final class Channel {}
    let channels = (0..<9).map { _ in Channel() }
    for _ in 0..<2 { policy.setRoom(true, of: ObjectIdentifier(channels[0])) }
    #expect(policy.callLimit == 8, "each has room once")
    policy.mostCalls = 12
    #expect(policy.callLimit == 12)
    for channel in channels.prefix(3) { policy.setRoom(true, of: ObjectIdentifier(channel)) }
    #expect(policy.callLimit == 24)
    for channel in channels { policy.setRoom(true, of: ObjectIdentifier(channel)) }
    #expect(policy.callLimit == 32)
    for channel in channels { policy.setRoom(false, of: ObjectIdentifier(channel)) }
    policy.mostCalls = 1
    #expect(policy.callLimit == 1)
  }
}
