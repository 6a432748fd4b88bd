package import Primitives
import SecureSession
package import Wire

/// An ECHO that came.
package struct HeardEcho: Sendable, Equatable {
  package var frame: EchoFrame
  /// Where it came from.
  package var source: SocketAddress
}

/// Echoes that are to be asked for, and those that came (docs/protocol/frames.md §12).
struct EchoLog: Sendable {
  struct Question: Sendable {
    var request: EchoRequestFrame
    /// UDP payload of the packet that asks.
    var byteCount: Int
  }

  private(set) var heard: [HeardEcho] = []
  private var questions: [Question] = []
  /// Nothing is said by itself any more: somebody wants to know what becomes of the silence.
  var isHushed = false

  /// How long a hushed program is silent, in ns: longer than any session lasts.
  static let hush: UInt64 = 7_200_000_000_000
  /// The newest are kept: an examination asks for one after the other.
  static let limit = 64

  mutating func ask(_ request: EchoRequestFrame, byteCount: Int) {
    guard questions.count < Self.limit else { return }
    questions.append(Question(request: request, byteCount: byteCount))
  }

  mutating func nextQuestion() -> Question? { questions.isEmpty ? nil : questions.removeFirst() }

  mutating func append(_ frame: EchoFrame, from source: SocketAddress) {
    if heard.count == Self.limit { heard.removeFirst() }
    heard.append(HeardEcho(frame: frame, source: source))
  }

  /// Writes the oldest question, if there is one.
  @_lifetime(packet: copy packet)
  mutating func writeRequest(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    guard !association.isClosing, let question = nextQuestion() else { return false }
    Session.beginPacket(&packet)
    question.request.write(to: &packet)
    let length = min(question.byteCount, Datagram.maximumByteCount)
    packet.append(zeros: max(0, length - SealedPacket.tagByteCount - packet.count))
    return association.seal(&packet, elicits: false, hasMessages: false, now: now)
  }
}
