/// How much may go out beside the media so that the path stays measured
/// (docs/decisions/0028-what-the-encoder-leaves-is-filled.md).
///
/// A part of what the media takes, and never more at once than a moment's worth: where pictures
/// need little, little is added.
package struct FillBudget: Sendable, BitwiseCopyable {
  /// In bytes.
  private var credit = 0.0
  /// Bytes of padding so far: what filled the path and carried nothing.
  package private(set) var paddingByteCount = 0

  package init() {}

  /// Media has left.
  ///
  /// - Parameter rate: What all may use, in bit/s.
  package mutating func noteMedia(byteCount: Int, rate: Double) {
    let most = min(rate, 1e9) * Self.longest / 8
    credit = min(credit + Double(byteCount) * Self.mediaShare, most)
  }

  /// Something has left to fill the path.
  ///
  /// - Parameter isPadding: it carries nothing; else parts of a picture again.
  package mutating func noteFill(byteCount: Int, isPadding: Bool) {
    if isPadding { paddingByteCount += byteCount }
    credit = max(credit - Double(byteCount), 0)
  }

  /// Padding has left to see how long packets may be.
  package mutating func noteTrial(byteCount: Int) { paddingByteCount += byteCount }

  package var isOpen: Bool { credit > 0 }

  /// Of the media: LTE leaves an encoder a third behind.
  private static let mediaShare = 0.5
  /// Of the rate, in seconds.
  private static let longest = 0.5
}
