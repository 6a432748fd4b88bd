/// What the first line of a YUV4MPEG2 file says of its pictures.
package struct Y4MHeader: Equatable, Sendable {
  package var width: Int
  package var height: Int
  /// Pictures in `rateDenominator` seconds.
  package var rateNumerator: Int
  package var rateDenominator: Int

  /// Why a line is refused: for the middle of a sentence.
  package struct Refusal: Error, Equatable, Sendable {
    package var reason: String
    /// The format is right, but not what can be sent.
    package var isAboutPictures: Bool
  }

  /// Width and height, at least 16 and at most 4096, 1920×1200 pixels in all; 1 to 240 a second.
  package init(line: [UInt8]) throws(Refusal) {
    let words = line.split(separator: UInt8(ascii: " "))
    guard let magic = words.first, magic.elementsEqual("YUV4MPEG2".utf8) else {
      throw Refusal(reason: "it does not begin with YUV4MPEG2", isAboutPictures: false)
    }
    (width, height, rateNumerator, rateDenominator) = (0, 0, 0, 0)
    for word in words.dropFirst() {
      let value = word.dropFirst()
      switch word.first {
      case UInt8(ascii: "W"): width = Self.number(value) ?? 0
      case UInt8(ascii: "H"): height = Self.number(value) ?? 0
      case UInt8(ascii: "F"): (rateNumerator, rateDenominator) = Self.ratio(value) ?? (0, 0)
      case UInt8(ascii: "C"): try Self.check(colours: value)
      case UInt8(ascii: "I"): try Self.check(interlacing: value)
      default: break  // Pixel shape and comments.
      }
    }
    try check()
  }

  /// Of one picture: luma, Cb and Cr, one after the other.
  package var pictureByteCount: Int {
    width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
  }

  package var framesPerSecond: Double { Double(rateNumerator) / Double(rateDenominator) }

  /// When picture `index` is shown.
  package func milliseconds(of index: Int) -> Int64 {
    let product = Int64(index).multipliedFullWidth(by: Int64(1000 * rateDenominator))
    return product.high == 0 ? Int64(clamping: product.low / UInt64(rateNumerator)) : .max
  }

  private func check() throws(Refusal) {
    guard width > 0, height > 0 else {
      throw Refusal(reason: "it does not say how large its pictures are", isAboutPictures: false)
    }
    guard (16...4096).contains(width), (16...4096).contains(height), width * height <= 2_304_000
    else {
      throw Refusal(
        reason: "\(width)×\(height), where 16×16 to 1920×1200 is possible", isAboutPictures: true)
    }
    guard rateDenominator > 0, rateNumerator >= rateDenominator,
      rateNumerator <= 240 * rateDenominator
    else {
      throw Refusal(
        reason: "\(rateNumerator):\(rateDenominator) of them a second, where 1 to 240 is possible",
        isAboutPictures: true)
    }
  }

  private static func check(colours value: ArraySlice<UInt8>) throws(Refusal) {
    // The siting of chroma differs among them by half a pixel, which nobody sees.
    let known = ["420", "420jpeg", "420mpeg2", "420paldv"]
    let text = String(decoding: value.prefix(12), as: UTF8.self)
    guard known.contains(text) else {
      throw Refusal(reason: "colours \(text), where 8-bit 4:2:0 is needed", isAboutPictures: true)
    }
  }

  private static func check(interlacing value: ArraySlice<UInt8>) throws(Refusal) {
    guard value.elementsEqual("p".utf8) || value.elementsEqual("?".utf8) else {
      throw Refusal(reason: "they are interlaced", isAboutPictures: true)
    }
  }

  private static func ratio(_ value: ArraySlice<UInt8>) -> (Int, Int)? {
    let parts = value.split(separator: UInt8(ascii: ":"))
    guard parts.count == 2, let first = number(parts[0]), let second = number(parts[1]) else {
      return nil
    }
    return (first, second)
  }

  /// Up to nine digits.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard (1...9).contains(digits.count),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }
}
