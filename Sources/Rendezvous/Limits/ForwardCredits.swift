import Primitives
import Wire

/// FORWARDs that do not count against a client's rate: answers, and receipts of these
/// (docs/protocol/session.md §9).
///
/// An answer of more than 64 bytes allows two of at most 64 bytes in return, four at a time, which
/// allow none. So two identities cannot write to each other without end, and a call takes one of
/// its caller's.
struct ForwardCredits {
  /// What a FORWARD is for the pair of its sender and its receiver.
  enum Kind {
    /// Neither of the others: it counts.
    case begun
    /// Its receiver has written to its sender.
    case answer
    /// A short one to somebody who has answered.
    case receipt
  }

  private var answers: AnswerCredits
  private var receipts: AnswerCredits
  /// Who has written to whom, whether or not it was an answer.
  private var written: AnswerCredits

  /// - Parameter limit: Pairs of identities that each of the three has places for.
  init(limit: Int, hash: KeyedHash) {
    answers = AnswerCredits(limit: limit, hash: hash)
    receipts = AnswerCredits(limit: limit, most: Self.mostReceipts, hash: hash)
    written = AnswerCredits(limit: limit, hash: hash)
  }

  /// Counts a FORWARD that is about to be passed on.
  mutating func spend(from sender: PeerID, to: PeerID, byteCount: Int, now: Instant) -> Kind {
    if byteCount <= Self.receiptByteCount, receipts.spend(from: sender, to: to, now: now) {
      return .receipt
    }
    return answers.spend(from: sender, to: to, now: now) ? .answer : .begun
  }

  /// A FORWARD was passed on to `count` programs of its receiver.
  mutating func recordPassed(
    from sender: PeerID, to: PeerID, byteCount: Int, _ kind: Kind, count: Int, now: Instant
  ) {
    switch kind {
    case .begun:
      answers.grant(to: to, from: sender, count: count * AnswerCredits.perForward, now: now)
    case .answer where byteCount > Self.receiptByteCount:
      receipts.grant(to: to, from: sender, count: Self.receiptsPerAnswer, now: now)
    case .answer, .receipt: break
    }
    written.grant(to: to, from: sender, count: 1, now: now)
  }

  /// Whether each of two has written to the other one lately.
  func haveWritten(_ one: PeerID, _ other: PeerID, now: Instant) -> Bool {
    written.isGranted(to: one, from: other, now: now)
      && written.isGranted(to: other, from: one, now: now)
  }

  /// RECEIPT, CANCEL and a HANGUP of few words are shorter, RINGING and ACCEPT are longer.
  private static let receiptByteCount = 64
  private static let receiptsPerAnswer = 2
  /// Those of RINGING and ACCEPT. What is repeated, because nothing is receipted, allows no more.
  private static let mostReceipts = 4
}
