internal import Glibc

/// The header of a WAV that began as RF64 and stayed small.
///
/// libsndfile marks its samples as "extensible", with plain 16 bit inside, which simple readers
/// (Python's `wave` before 3.12) refuse. The plain mark says the same.
enum WAVHeader {
  /// Puts the plain mark in place; leaves every other file as it is.
  static func makePlain(_ path: String) {
    let number = unsafe open(path, O_RDWR | O_CLOEXEC)
    guard number >= 0 else { return }
    defer { _ = close(number) }
    makePlain(number)
  }

  /// The same of a file that is open.
  ///
  /// - Parameter known: where the mark stands, if that was found out before.
  /// - Returns: Where it stands; `nil` for every other file.
  @discardableResult
  static func makePlain(_ number: Int32, at known: Int? = nil) -> Int? {
    guard let offset = known ?? tagOffset(of: number) else { return nil }
    let plain: [UInt8] = [1, 0]
    _ = unsafe pwrite(number, plain, plain.count, off_t(offset))
    return offset
  }

  private static func tagOffset(of number: Int32) -> Int? {
    var head = [UInt8](repeating: 0, count: headByteCount)
    guard unsafe pread(number, &head, head.count, 0) == head.count else { return nil }
    return tagOffset(in: head)
  }

  /// Where the mark of an extensible 16-bit format stands; `nil` for any other header.
  static func tagOffset(in head: [UInt8]) -> Int? {
    guard head.count == headByteCount, Array(head[0..<4]) == Array("RIFF".utf8),
      Array(head[8..<12]) == Array("WAVE".utf8),
      let start = (12..<64).first(where: { Array(head[$0..<($0 + 4)]) == Array("fmt ".utf8) })
    else { return nil }
    let format = start + 8
    let isExtensible = head[format] == 0xFE && head[format + 1] == 0xFF
    let isPCM = head[format + 24] == 1 && head[format + 25] == 0
    return isExtensible && isPCM ? format : nil
  }

  /// 44 bytes before 16-bit samples of which nobody knows how many will come: both lengths are the
  /// largest there are, as other programs write them into a pipe.
  static func endless(channels: Int, rate: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let unknown = [UInt8](repeating: 0xFF, count: 4)
    let format =
      little(1, 2) + little(channels, 2) + little(rate, 4) + little(rate * channels * 2, 4)
      + little(channels * 2, 2) + little(16, 2)
    return Array("RIFF".utf8) + unknown + Array("WAVEfmt ".utf8) + little(format.count, 4)
      + format + Array("data".utf8) + unknown
  }

  /// The JUNK chunk that becomes `ds64` in a long file, and the format after it.
  static let headByteCount = 128
}
