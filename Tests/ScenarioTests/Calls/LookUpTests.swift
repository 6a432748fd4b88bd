import Calling
import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@testable import Peer

/// From a look-up's answer to an invitation.
@Suite struct LookUpTests {
  private static let now = Instant(nanoseconds: 1_000_000_000)
  private static let unixSeconds: UInt64 = 1_800_000_000

  private static func identity(_ seed: UInt64) -> LocalIdentity {
    var random = RandomSource(seed: seed)
    return LocalIdentity(kind: .peer, unixSeconds: unixSeconds, random: &random)
  }

  /// Method: the ledger has seen the call ID before, so it refuses the call after the invitation
  /// was made.
  @Test func `a call that the rules refuse leaves nothing behind`() throws {
    let configuration = PeerConfiguration(
      rendezvous: SocketAddress(v4: 192, 0, 2, 1, port: 7400),
      wallClockAtZero: Int64(Self.unixSeconds * 1000))
    var machine = PeerMachine(
      configuration, identity: Self.identity(1), random: RandomSource(seed: 2), now: Self.now)
    var callee = Self.identity(3)
    let card = try callee.makeCard(unixSeconds: Self.unixSeconds)
    var random = RandomSource(seed: 4)
    let callID = CallID(from: &random)
    try machine.ledger.call(callID, to: card.id, ringTimeout: nil, now: Self.now)
    try machine.ledger.end(callID, now: Self.now)
    while machine.ledger.pollAction() != nil {}
    machine.lookups.append(
      PendingLookUp(
        callID: callID, request: 7, target: .id(card.id), options: InviteOptions(),
        began: Self.now))
    machine.handle(
      .found(LookUpResult(request: 7, status: .online, card: card.bytes)), now: Self.now)
    let left = machine.links.count
    #expect(left == 0)
    var isTold = false
    while let event = machine.pollEvent() {
      if case .unresolved(callID, _) = event { isTold = true }
    }
    #expect(isTold)
  }
}
