package import Primitives

/// Everything that happened in a run: always as a digest, on demand also as text.
///
/// Two runs of one seed must have equal logs, also in two processes.
package final class RunLog {
  /// A 64-bit digest of all records so far (FNV-1a by words, with a rotation).
  package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
  package private(set) var text: [UInt8] = []
  package let keepsText: Bool

  package init(keepsText: Bool = false) { self.keepsText = keepsText }

  /// A record of three words; `line` must say no more than they do.
  package func record(
    at now: Instant, _ first: UInt64, _ second: UInt64, _ third: UInt64,
    line: @autoclosure () -> String
  ) {
    absorb(now.nanoseconds)
    absorb(first)
    absorb(second)
    absorb(third)
    if keepsText { write(now, line()) }
  }

  package func note(at now: Instant, _ line: String) {
    absorb(now.nanoseconds)
    for byte in line.utf8 { absorb(UInt64(byte)) }
    if keepsText { write(now, line) }
  }

  /// A 64-bit digest of a datagram's bytes.
  package static func digest(of bytes: Span<UInt8>) -> UInt64 {
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(bytes.count)
    var index = 0
    while index < bytes.count {
      var word: UInt64 = 0
      for offset in 0..<min(8, bytes.count - index) {
        word |= UInt64(bytes[index + offset]) << UInt64(8 * offset)
      }
      digest = mix(digest, word)
      index += 8
    }
    return digest
  }

  private func absorb(_ word: UInt64) { digest = Self.mix(digest, word) }

  private static func mix(_ digest: UInt64, _ word: UInt64) -> UInt64 {
    let product = (digest ^ word) &* 0x9E37_79B9_7F4A_7C15
    return product << 29 | product >> 35
  }

  /// Seconds with nine decimals, then the line.
  private func write(_ now: Instant, _ line: String) {
    let fraction = String(now.nanoseconds % 1_000_000_000)
    let zeros = String(repeating: "0", count: 9 - fraction.utf8.count)
    text.append(contentsOf: "\(now.nanoseconds / 1_000_000_000).\(zeros)\(fraction) \(line)\n".utf8)
  }
}
