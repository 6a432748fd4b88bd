import Cryptography
package import Primitives
import SecureSession
package import Wire

/// What the users of a call's two sides give each other besides messages: with the invitation, with
/// the answer, and with the end (docs/protocol/calling.md §2).
package struct CallWords {
  /// With INVITE or with ACCEPT.
  var theirs: String?
  /// What the other side understands, as far as it has said by now.
  package var abilities = CallAbilities()
  /// With the CANCEL, REJECT or HANGUP of the other side.
  package var theirEnding: String?
  /// With the own one.
  private(set) var ownEnding: String?
  /// One for both: each of the two seals has a key of its own.
  private var nonce: [UInt8] = []
  /// Under the keys of the ring, and of the session. Made once: a nonce is not used twice.
  private var sealed: (cancel: SealedWords?, hangUp: SealedWords?)

  /// The channel in whose mesh a call is, by what its caller gives with INVITE
  /// (docs/protocol/channels.md §8).
  package static func channel(of words: String?) -> Bytes32? {
    let mark = "{\"channel\":\""
    guard let words, words.hasPrefix(mark) else { return nil }
    let letters = words.dropFirst(mark.count).prefix { $0 != "\"" }
    return PeerID(String(letters)).flatMap { Bytes32($0.bytes) }
  }

  /// The call is to end here with these words.
  mutating func end(with words: String?, random: inout RandomSource) {
    guard let words, ownEnding == nil else { return }
    ownEnding = words
    nonce = random.bytes(SealedWords.nonceByteCount)
  }

  /// The own ones, if the other side can read them.
  var endingToSend: String? { abilities.contains(.moreWords) ? ownEnding : nil }

  /// The own ones under a seal for `body`, a CANCEL or a HANGUP.
  mutating func sealed(
    for body: SignalBody,
    _ seal: (_ plain: Span<UInt8>, _ head: Span<UInt8>, _ nonce: Span<UInt8>)
      throws(CryptographyError) -> [UInt8]?
  ) -> SealedWords? {
    guard let words = endingToSend else { return nil }
    let isHangUp = body.type == .hangUp
    if let made = isHangUp ? sealed.hangUp : sealed.cancel { return made }
    let plain = EndingWords.bytes(words)
    let head = body.headOfWords
    do throws(CryptographyError) {
      guard let bytes = try seal(plain.span, head.span, nonce.span) else { return nil }
      let made = SealedWords(nonce: nonce, sealed: bytes)
      if isHangUp { sealed.hangUp = made } else { sealed.cancel = made }
      return made
    } catch {
      return nil
    }
  }
}

extension SignalBody {
  /// With the own user data of the call's end, where there are any.
  func withWords(of link: CallLink) -> SignalBody {
    guard carriesWords else { return self }
    var body = self
    body.words = link.words.sealed(for: body) { plain, head, nonce throws(CryptographyError) in
      body.type == .hangUp
        ? try link.path.roaming.sealWords(plain, head: head, nonce: nonce)
        : try link.signalling.ring?.sealDetails(plain, head: head, nonce: nonce)
    }
    return body
  }

  /// It says that the user has ended the call.
  private var carriesWords: Bool {
    switch content {
    case .cancel(.userCancelled, _, _), .hangUp: true
    default: false
    }
  }

  /// Gives the link the other side's; this body is authentic.
  func handWords(to link: CallLink) {
    guard let sealed = words, link.words.theirEnding == nil else { return }
    let head = headOfWords
    do throws(CryptographyError) {
      let (bytes, nonce) = (sealed.sealed.span, sealed.nonce.span)
      let plain =
        type == .hangUp
        ? try link.path.roaming.openWords(bytes, head: head.span, nonce: nonce)
        : try link.signalling.ring?.openDetails(bytes, head: head.span, nonce: nonce)
      link.words.theirEnding = plain.flatMap { EndingWords.userExtension(in: $0.span) }
    } catch {
      return  // The end counts without them.
    }
  }
}
