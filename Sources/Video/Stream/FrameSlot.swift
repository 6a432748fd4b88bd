package import Primitives
import Wire

/// A frame of which some fragments may have come.
struct FrameSlot: Sendable, BitwiseCopyable {
  /// Unwrapped; negative while the slot is empty.
  var number: Int64 = -1
  /// `nil` while none of its fragments has come.
  var header: VideoMediaFrame?
  var received = 0
  /// Of these, the ones that were sent again, and those that parity brought back.
  var receivedAgain = 0
  var solved = 0
  var byteCount = 0
  /// Fragments of parity that are held, the length of each, and of the frame's last fragment.
  var parityCount = 0
  var parityByteCount = 0
  var lastByteCount = 0
  /// Of the fragments that came; those before it are missing by now.
  var highestIndex = -1
  var firstArrival = Instant.zero
  /// When the last missing fragment came.
  var completed: Instant?
  /// Since when something of it should have been here.
  var noticed: Instant?
  /// When to ask for what is missing.
  var nextRequest = Instant.zero
  var requests = 0
  /// The sender said that it stops before all of it had come: what is missing was hardly sent.
  var isLeftOut = false

  var isComplete: Bool { completed != nil }
  /// Fragments that are not here, as far as is known.
  var missingCount: Int { header.map { max(0, $0.fragmentCount - received) } ?? 1 }

  /// What all the fragments of a frame have in common.
  func agrees(with other: VideoMediaFrame) -> Bool {
    guard let header else { return true }
    return header.lastFragmentIndex == other.lastFragmentIndex
      && header.mediaTime == other.mediaTime && header.isKeyFrame == other.isKeyFrame
      && header.temporalLayer == other.temporalLayer && header.baseDistance == other.baseDistance
      && header.otherDistance == other.otherDistance
  }
}

/// A whole frame, whose references have been given out before it.
package struct AssembledFrame: Equatable, Sendable, BitwiseCopyable {
  package var number: UInt16
  package var isKeyFrame: Bool
  package var temporalLayer: UInt8
  /// In 10 ms / 256; 24 bits (docs/protocol/frames.md §10).
  package var mediaTime: UInt32
  package var byteCount: Int
  package var firstArrival: Instant
  package var completed: Instant

  package init(
    number: UInt16, isKeyFrame: Bool, temporalLayer: UInt8, mediaTime: UInt32, byteCount: Int,
    firstArrival: Instant, completed: Instant
  ) {
    self.number = number
    self.isKeyFrame = isKeyFrame
    self.temporalLayer = temporalLayer
    self.mediaTime = mediaTime
    self.byteCount = byteCount
    self.firstArrival = firstArrival
    self.completed = completed
  }
}
