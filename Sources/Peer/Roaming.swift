import Calling
import Connectivity
import Cryptography
import Primitives
import SecureSession
import Wire

/// What a call needs to be found again when an address changes (docs/protocol/calling.md §4,
/// "Moving").
struct Roaming: ~Copyable {
  var search = PathSearch()
  /// What the peer was last told of our addresses.
  var told = CandidateList()
  /// How long the other side lets us be away, in s.
  var theirAbsence: UInt16 = 0
  /// How long either side may be away; zero = no longer than any call.
  var absence = Duration.zero
  private var seal: CandidateSeal?
  private var sentNumber: UInt32 = 0
  private var readNumber: UInt32 = 0

  /// How long the other side may be away, by what both sides allow; `nil` = it is waited for no
  /// longer than in any call.
  func agreed(_ own: AnswerOptions) -> Duration? {
    let seconds = min(own.absence.wireSeconds, theirAbsence)
    guard seconds > 0 else { return nil }
    return min(Duration.seconds(Int64(seconds)), CallPolicy.longestRejoin)
  }

  /// From the moment that the session's keys are there.
  mutating func open(exported: borrowing SecretKey, side: RingKeys.Side) {
    seal = CandidateSeal(exported: exported, side: side)
  }

  var hasKeys: Bool { seal != nil }

  mutating func eraseKeys() {
    seal = nil
    search.end()
  }

  /// The next CANDIDATES; `nil` before there are keys, or without an address.
  mutating func makeBody(
    _ callID: CallID, _ candidates: CandidateList, random: inout RandomSource
  ) -> [UInt8]? {
    guard !candidates.candidates.isEmpty, sentNumber < .max else { return nil }
    let nonce = random.bytes(SealedCandidates.nonceByteCount)
    var content = SealedCandidates(number: sentNumber + 1, nonce: nonce, sealed: [])
    let head = content.associatedData(callID)
    let plain = SealedCandidates.plain(candidates)
    do throws(CryptographyError) {
      guard let sealed = try seal?.seal(plain.span, head: head.span, nonce: nonce.span) else {
        return nil
      }
      content.sealed = sealed
    } catch {
      return nil
    }
    sentNumber += 1
    told = candidates
    return SignalBody(callID, .candidates(content)).bytes
  }

  /// User data of the call's end; `nil` before there are keys.
  func sealWords(
    _ plain: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8]? {
    try seal?.seal(plain, head: head, nonce: nonce)
  }

  func openWords(
    _ sealed: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8]? {
    try seal?.open(sealed, head: head, nonce: nonce)
  }

  /// What the other side says; `nil` for what is not authentic, or older than what was read.
  mutating func read(_ content: SealedCandidates, _ callID: CallID) -> CandidateList? {
    guard content.number > readNumber else { return nil }
    let head = content.associatedData(callID)
    do {
      guard
        let plain = try seal?.open(
          content.sealed.span, head: head.span, nonce: content.nonce.span)
      else { return nil }
      let candidates = try SealedCandidates.candidates(in: plain.span)
      readNumber = content.number
      return candidates
    } catch {
      return nil
    }
  }
}
