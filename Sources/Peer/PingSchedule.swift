import Primitives
import Wire

/// When a side of a session asks PING, and the PONG that it owes (docs/protocol/frames.md §6).
struct PingSchedule: Sendable {
  /// Nanoseconds of own silence after which a PING goes.
  var pingAfter: UInt64
  /// A PING waits to be sent.
  var isWanted = false
  private var pong: PongFrame?
  /// When a packet was last sealed.
  private var lastSent: Instant
  /// When something was last sent that the peer answers, and when something last came that shows
  /// that the path carries both ways: only in calls, where both sides must know.
  private var lastQuestion: Instant
  private var lastProof: Instant

  init(pingAfter: UInt64, now: Instant) {
    self.pingAfter = pingAfter
    lastSent = now
    lastQuestion = now
    lastProof = now
  }

  /// Whether a PING or a PONG waits to be sent.
  var hasFrames: Bool { isWanted || pong != nil }

  /// A PING has come; only the newest is answered.
  mutating func handlePing(_ ping: PingFrame, from source: SocketAddress) {
    pong = PongFrame(token: ping.token, observed: source)
  }

  /// The PONG that is due, once.
  mutating func takePong() -> PongFrame? { pong.take() }

  /// The peer sent media, or answered: nothing need be asked for a while.
  mutating func recordProof(now: Instant) { lastProof = now }

  /// - Parameter elicits: The peer answers the packet.
  mutating func recordSealed(elicits: Bool, now: Instant) {
    lastSent = now
    if elicits { lastQuestion = now }
  }

  /// When a PING is due. In a call each side asks for itself: who only answers the other's PINGs
  /// would learn nothing of the path.
  func nextQuestion(isInCall: Bool) -> Instant {
    let last = isInCall ? max(lastQuestion, lastProof) : lastSent
    let (sum, overflow) = last.nanoseconds.addingReportingOverflow(pingAfter)
    return Instant(nanoseconds: overflow ? .max : sum)
  }
}
