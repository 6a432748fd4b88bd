import Calling
import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@testable import Peer

/// The two Noise messages of a call and the bytes of its signals, without a path or a session.
@Suite struct CallSignallingTests {
  private static let caller = PresenceID(rawValue: 1)
  private static let callee = PresenceID(rawValue: 2)

  /// Both ends of a call whose INVITE was read.
  private struct Pair: ~Copyable {
    var ours: CallSignalling
    var theirs: CallSignalling
    let callerID: PeerID
    let calleeID: PeerID
    var random: RandomSource

    init() throws {
      let time: UInt64 = 1_800_000_000
      var dice = RandomSource(seed: 5)
      var caller = LocalIdentity(kind: .peer, unixSeconds: time, random: &dice)
      var callee = LocalIdentity(kind: .peer, unixSeconds: time, random: &dice)
      let callerCard = try caller.makeCard(unixSeconds: time)
      let calleeCard = try callee.makeCard(unixSeconds: time)
      let callID = CallID(from: &dice)
      var inviting = CallSignalling(
        callID, .caller, program: CallSignallingTests.caller, peerStatic: calleeCard.staticKey)
      var invited = CallSignalling(
        callID, .callee, program: CallSignallingTests.callee, peerStatic: callerCard.staticKey)
      inviting.sessionIDs.local = ConnectionID(rawValue: 11)
      invited.sessionIDs.local = ConnectionID(rawValue: 12)
      try inviting.makeInvite(
        to: callee.id, ringID: ConnectionID(rawValue: 21), identity: caller,
        offer: CallOffer(card: callerCard.bytes), created: 5, ringTimeout: nil, random: &dice)
      let body = try SignalBody(parsing: inviting.inviteBody.span)
      guard case .invite(let number, let message) = body.content else {
        throw WireError.invalid("INVITE", at: 0)
      }
      let connectionID = ConnectionID(rawValue: number)
      let responder = try CallResponder(
        message: message.span, connectionID: connectionID, caller: caller.id, callee: callee)
      let opened = responder.payload
      var reader = ByteReader(opened.span)
      let payload = try InvitePayload(parsing: &reader)
      let commitment = try #require(Bytes32(payload.commitment))
      guard let secret = SecretKey(copying: payload.callKey.span) else {
        throw WireError.invalid("call key", at: 0)
      }
      invited.handleInvite(
        responder, secret: secret, commitment: commitment, sessionID: connectionID)
      callerID = caller.id
      calleeID = callee.id
      random = dice
      ours = inviting
      theirs = invited
    }

    /// The callee answers, and the caller reads it.
    mutating func answer(isAccept: Bool, accepts: Bool = true) throws -> AnswerPayload? {
      if isAccept {
        try theirs.makeAccept(offer: CallOffer(), random: &random)
      } else {
        try theirs.makeReject(.declined, .empty, card: [], random: &random)
      }
      let bytes = theirs.answerBody
      switch try SignalBody(parsing: bytes.span).content {
      case .accept(let message), .reject(let message):
        return ours.readAnswer(message, isAccept: isAccept, body: bytes, accepts: accepts)
      default: return nil
      }
    }
  }

  @Test func `an acceptance gives both sides the keys, once, and one short code`() throws {
    var pair = try Pair()
    let (awaited, early) = (pair.ours.awaitsAnswer, pair.theirs.hasSessionKeys)
    #expect(awaited && !early)
    let answer = try pair.answer(isAccept: true)
    #expect(answer?.presence == Self.callee)
    let (awaits, isAgreed) = (pair.ours.awaitsAnswer, pair.ours.hasSessionKeys)
    #expect(!awaits && isAgreed)
    #expect(pair.ours.sessionIDs.remote == ConnectionID(rawValue: 12))
    guard let ours = pair.ours.takeSessionKeys(), let theirs = pair.theirs.takeSessionKeys() else {
      Issue.record("no keys")
      return
    }
    let isLeft = pair.ours.hasSessionKeys || pair.theirs.hasSessionKeys
    #expect(!isLeft)
    pair.ours.shortCode.setKey(ours.exporter.export(.shortCode))
    pair.theirs.shortCode.setKey(theirs.exporter.export(.shortCode))
    let opening = pair.theirs.shortCode.open(pair.ours.shortCode.callerNumber.bytes)
    #expect(opening == .opened)
    let letters = pair.ours.shortCode.settle(caller: pair.callerID, callee: pair.calleeID)
    let same = pair.theirs.shortCode.settle(caller: pair.callerID, callee: pair.calleeID)
    #expect(letters != nil && letters == same)
    let again = pair.ours.shortCode.settle(caller: pair.callerID, callee: pair.calleeID)
    #expect(again == nil, "the key is gone")
  }

  @Test func `a rejection leaves the caller waiting for another program`() throws {
    var pair = try Pair()
    let answer = try pair.answer(isAccept: false)
    #expect(answer?.verdict == .rejected(.declined, .empty))
    let (awaits, isAgreed) = (pair.ours.awaitsAnswer, pair.theirs.hasSessionKeys)
    #expect(awaits && !isAgreed)
  }

  @Test func `an acceptance of a call that is over is read and not taken`() throws {
    var pair = try Pair()
    let answer = try pair.answer(isAccept: true, accepts: false)
    #expect(answer != nil)
    let (awaits, isAgreed) = (pair.ours.awaitsAnswer, pair.ours.hasSessionKeys)
    #expect(awaits && !isAgreed)
  }

  @Test func `a number that was not promised breaks the short code`() {
    var random = RandomSource(seed: 6)
    var caller = ShortCodeExchange()
    var callee = ShortCodeExchange()
    callee.commitment = caller.promise(random: &random)
    #expect(callee.open(Bytes32(random: &random).bytes) == .broken)
    #expect(callee.open([1, 2, 3]) == .ignored)
    #expect(callee.open(caller.callerNumber.bytes) == .opened)
  }
}
