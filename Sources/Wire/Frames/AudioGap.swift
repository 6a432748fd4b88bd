/// How many audio frames are missing between two that came, by their media time alone: our frames
/// have no sequence number (docs/protocol/frames.md §5).
package enum AudioGap {
  /// - Parameters:
  ///   - step: media time from the earlier frame to the later one, in steps of 10 ms.
  ///   - before: length of the earlier frame, in steps, at least 1.
  ///   - after: length of the later frame, in steps, at least 1.
  ///   - isMarked: whether the sender says that a pause ended with the later frame.
  /// - Returns: frames, rounded up. Where the length changes in the gap, the fewest that fill it.
  package static func framesMissing(
    step: Int64, before: Int64, after: Int64, isMarked: Bool
  ) -> Int64 {
    let gap = step &- before
    let length = max(before, after, 1)
    return isMarked || gap <= 0 ? 0 : (gap &+ length &- 1) / length
  }
}
