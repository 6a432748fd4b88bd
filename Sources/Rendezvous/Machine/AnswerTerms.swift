import Primitives
import Wire

/// How long answers are repeated, and how long those are that say one thing alone, in bytes of UDP
/// payload.
enum AnswerTerms {
  /// From a message to the last repetition: a client that stays silent has no exchange for longer.
  static let life = Duration.seconds(8)

  /// Header, tag, and a PATH_CHALLENGE; and the same with a PATH_RESPONSE.
  static let challenge = 25 + PathChallengeFrame.byteCount
  static let response = 25 + PathResponseFrame.byteCount
  /// The same with a PONG.
  static let tellingChallenge = challenge + PongFrame.byteCount
  /// Header, an empty CLOSE, tag.
  static let close = SealedPacket.minimumByteCount + CloseFrame.headerByteCount
  /// An ECHO that only tells: header, frame, tag.
  static let notice = SealedPacket.minimumByteCount + EchoFrame.byteCount
}
