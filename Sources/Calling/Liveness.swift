import Primitives

/// What shows that the peer is there and that the path carries. A mere packet does not: it may come
/// over a path that carries nothing back (docs/protocol/calling.md §5).
package enum LivenessProof: Sendable, BitwiseCopyable {
  /// An audio frame.
  case audio
  /// A video frame, or the answer to something of ours: PATH_RESPONSE, PONG, FEEDBACK that tells of
  /// an arrival, a probe's answer.
  case answer
}

/// Since when nothing has shown that the peer is there.
struct Liveness: Sendable {
  /// An interruption ends with the next audio frame if the last one came at most so long before the
  /// last proof: a burst of losses that is no interruption by itself takes less. A source that
  /// ended longer ago is not waited for.
  static let audioGap = Duration.seconds(5)

  private(set) var lastProof: Instant
  private var lastAudio: Instant?
  /// `nil` = no interruption.
  private var interruption: Interruption?

  private struct Interruption {
    /// Audio flowed until it began: only audio ends it.
    var awaitsAudio: Bool
  }

  /// Sound came until nothing came any more. Where only answers came, each second and a round trip,
  /// one that is lost says little.
  var endedInSound: Bool { lastAudio.map { lastProof - $0 <= Self.soundGap } ?? false }

  /// Frames of 60 ms that get lost eight in a row.
  private static let soundGap = Duration.milliseconds(500)

  init(now: Instant) { lastProof = now }

  /// Whether `proof` ends an interruption.
  mutating func handle(_ proof: LivenessProof, now: Instant) -> Bool {
    lastProof = max(lastProof, now)
    if proof == .audio { lastAudio = now }
    guard let interruption, proof == .audio || !interruption.awaitsAudio else { return false }
    self.interruption = nil
    return true
  }

  /// Begins an interruption; `false` if there is one.
  mutating func interrupt() -> Bool {
    if interruption != nil { return false }
    let isRecent = lastAudio.map { lastProof - $0 <= Self.audioGap } ?? false
    interruption = Interruption(awaitsAudio: isRecent)
    return true
  }

  /// The peer says that it sends no audio: any answer ends an interruption.
  mutating func expectNoAudio() {
    lastAudio = nil
    interruption?.awaitsAudio = false
  }
}
