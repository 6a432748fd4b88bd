import Primitives
import Wire

/// How long answers are repeated, and how long those are that say one thing alone, in bytes of UDP
/// payload.
enum AnswerLimits {
  /// From a message to the last repetition: a client that stays silent has no exchange for longer.
  static let life = Duration.seconds(8)

  /// Header, tag, and a PATH_CHALLENGE; and the same with a PATH_RESPONSE.
  static let challengeByteCount = 25 + PathChallengeFrame.byteCount
  static let responseByteCount = 25 + PathResponseFrame.byteCount
  /// The same with a PONG.
  static let tellingChallengeByteCount = challengeByteCount + PongFrame.byteCount
  /// Header, an empty CLOSE, tag.
  static let closeByteCount = SealedPacket.minimumByteCount + CloseFrame.headerByteCount
  /// An ECHO that only tells: header, frame, tag.
  static let noticeByteCount = SealedPacket.minimumByteCount + EchoFrame.byteCount
}
