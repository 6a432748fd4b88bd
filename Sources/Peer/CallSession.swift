import Messaging
import Primitives
import SecureSession
import Wire

/// The session of a call from its keys to their erasure, and the messages that are under way in it.
struct CallSession {
  /// Whether the other side has shown that it has the session's keys.
  enum Confirmation { case awaited, shown }

  /// How long the keys are kept.
  enum Keys {
    case held
    /// The call is over.
    case erasedAt(Instant)
    case erased
  }

  var association: Association?
  var confirmation = Confirmation.awaited
  private(set) var keys = Keys.held
  /// Messages of the application under way, by tag.
  var applicationTags: [UInt64] = []
  /// HANGUP on stream 2: its acknowledgement is its receipt.
  var hangUpTag: UInt64?

  var isConfirmed: Bool { if case .shown = confirmation { true } else { false } }

  /// Says CLOSE; the keys go a second later.
  mutating func close(now: Instant) {
    if association?.isClosing == false { association?.close(code: .done, now: now) }
    if case .held = keys { keys = .erasedAt(now + Self.keysStay) }
  }

  /// Whether it is time for the keys to go; says so once.
  mutating func pollErasure(now: Instant) -> Bool {
    guard case .erasedAt(let time) = keys, time <= now else { return false }
    keys = .erased
    association = nil
    return true
  }

  var erasureDeadline: Instant? { if case .erasedAt(let time) = keys { time } else { nil } }

  /// Whether a message of the application was under way with that tag; it no longer is.
  mutating func removeApplicationTag(_ tag: UInt64) -> Bool {
    guard let index = applicationTags.firstIndex(of: tag) else { return false }
    applicationTags.remove(at: index)
    return true
  }

  /// How long the session's keys outlive the call: CLOSE is said three times, the last one half a
  /// second after the first.
  private static let keysStay = Duration.seconds(1)
}
