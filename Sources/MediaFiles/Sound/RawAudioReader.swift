internal import Glibc

/// Signed 16-bit little-endian mono samples at 48 kHz from standard input, the source named `-`.
package struct RawAudioReader: ~Copyable {
  package let channels = 1
  private let descriptor: Int32
  /// Half a sample that the last read ended with.
  private var oddByte: UInt8?
  private var bytes = [UInt8](repeating: 0, count: 8192)

  /// - Parameter descriptor: an open file; the caller closes it. 0 is standard input.
  package init(descriptor: Int32 = 0) { self.descriptor = descriptor }

  /// Fills `samples` from its start, waiting for what has not come yet.
  ///
  /// - Returns: samples read; fewer than there is room for only at the end of the input.
  @_lifetime(samples: copy samples)
  package mutating func read(into samples: inout MutableSpan<Int16>) throws(MediaFileError) -> Int {
    var filled = 0
    while filled < samples.count {
      let held = oddByte == nil ? 0 : 1
      if let oddByte { bytes[0] = oddByte }
      let wanted = min(bytes.count, 2 * (samples.count - filled)) - held
      let count = try readOnce(at: held, count: wanted)
      guard count > 0 else { break }
      let available = held + count
      for index in 0..<(available / 2) {
        let word = UInt16(bytes[2 * index]) | UInt16(bytes[2 * index + 1]) << 8
        samples[filled + index] = Int16(bitPattern: word)
      }
      filled += available / 2
      oddByte = available % 2 == 1 ? bytes[available - 1] : nil
    }
    return filled
  }

  private mutating func readOnce(at offset: Int, count: Int) throws(MediaFileError) -> Int {
    while true {
      let descriptor = descriptor
      let result = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Glibc.read(descriptor, start + offset, count)
      }
      if result >= 0 { return result }
      guard errno == EINTR else {
        throw .unreadable("standard input", errorNumber: errno)
      }
    }
  }
}
