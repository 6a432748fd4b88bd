/// Audio frames that were made and never sent, and when the other side is told how many: it could
/// not tell them from lost ones (docs/protocol/frames.md §5.1.2). The first frame behind a gap must
/// say it: so each does as long as no report says that any arrives.
struct UnsentFrames: Equatable, Sendable, BitwiseCopyable {
  private(set) var count: UInt64 = 0
  /// Frames sent since `count` last changed, while the peer reported that they arrive.
  private var framesSince: UInt64 = 0

  /// Whether the next frame says it: for two seconds each, then one a second.
  var isDue: Bool {
    count > 0 && (framesSince < Self.framesInARow || framesSince % Self.framesBetween == 0)
  }

  mutating func countUnsent() {
    count &+= 1
    framesSince = 0
  }

  mutating func countSent(isHeard: Bool) { if isHeard { framesSince &+= 1 } }

  private static let framesInARow: UInt64 = 100
  private static let framesBetween: UInt64 = 50
}
