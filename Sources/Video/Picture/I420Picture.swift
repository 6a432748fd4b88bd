/// One picture in the format that every stage here takes and gives: 8 bits, 4:2:0, three planes one
/// after the other without gaps (luma, Cb, Cr), limited range (ITU-R BT.601).
package struct I420Picture: Equatable, Sendable {
  /// Pixels a side: what a hostile key frame may make us allocate is 12 MB, not 400.
  package static let sides = 16...4096
  /// Pixels in all: 1920×1200.
  package static let maximumPixelCount = 2_304_000

  package enum Plane: CaseIterable, Sendable { case luma, blue, red }

  package let width: Int
  package let height: Int
  /// The planes; always `byteCount(width:height:)` of them.
  package var bytes: [UInt8]

  /// A black picture; `nil` for a size outside the limits.
  package init?(width: Int, height: Int) {
    guard Self.isAcceptable(width: width, height: height) else { return nil }
    self.init(width, height)
  }

  /// A black picture of `size`.
  package init(_ size: PictureSize) { self.init(size.width, size.height) }

  private init(_ width: Int, _ height: Int) {
    self.width = width
    self.height = height
    bytes = [UInt8](repeating: 128, count: Self.byteCount(width: width, height: height))
    for index in 0..<(width * height) { bytes[index] = 16 }
  }

  package static func isAcceptable(width: Int, height: Int) -> Bool {
    sides.contains(width) && sides.contains(height) && width * height <= maximumPixelCount
  }

  package static func byteCount(width: Int, height: Int) -> Int {
    width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
  }

  package var size: PictureSize { PictureSize(unchecked: width, height) }

  package func width(of plane: Plane) -> Int { plane == .luma ? width : (width + 1) / 2 }
  package func height(of plane: Plane) -> Int { plane == .luma ? height : (height + 1) / 2 }

  /// Where the plane lies in `bytes`; its rows follow one another without gaps.
  package func range(of plane: Plane) -> Range<Int> {
    let luma = width * height
    let chroma = ((width + 1) / 2) * ((height + 1) / 2)
    return switch plane {
    case .luma: 0..<luma
    case .blue: luma..<(luma + chroma)
    case .red: (luma + chroma)..<(luma + 2 * chroma)
    }
  }
}

/// Width and height that a picture can have.
package struct PictureSize: Hashable, Sendable, BitwiseCopyable {
  package let width: Int
  package let height: Int

  /// `nil` outside the limits of `I420Picture`.
  package init?(width: Int, height: Int) {
    guard I420Picture.isAcceptable(width: width, height: height) else { return nil }
    self.init(unchecked: width, height)
  }

  init(unchecked width: Int, _ height: Int) {
    self.width = width
    self.height = height
  }

  package var pixelCount: Int { width * height }

  /// The largest even size with this one's shape that is no larger than `box`, and no larger than
  /// this one: pictures are made smaller, never larger.
  package func fitted(into box: PictureSize) -> PictureSize {
    guard width > box.width || height > box.height else { return self }
    // Compared crosswise, so that nothing is rounded before the end.
    let isWide = width * box.height > height * box.width
    let wide = isWide ? box.width : (width * box.height + height / 2) / height
    let high = isWide ? (height * box.width + width / 2) / width : box.height
    let least = I420Picture.sides.lowerBound
    return PictureSize(unchecked: max(least, wide & ~1), max(least, high & ~1))
  }
}
