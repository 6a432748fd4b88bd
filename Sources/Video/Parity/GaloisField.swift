/// GF(2⁸) with the polynomial x⁸ + x⁴ + x³ + x² + 1, of which 2 is a generator (as in RFC 5510 §8.1
/// and RAID 6).
enum GaloisField {
  static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    guard left != 0, right != 0 else { return 0 }
    return tables.powers[Int(tables.logarithms[Int(left)]) + Int(tables.logarithms[Int(right)])]
  }

  /// Of anything but 0, which gives 0.
  static func inverse(_ value: UInt8) -> UInt8 {
    guard value != 0 else { return 0 }
    return tables.powers[255 - Int(tables.logarithms[Int(value)])]
  }

  /// `powers[n]` is 2ⁿ, twice over so that two logarithms can be added; 0 has no logarithm.
  private static let tables: (powers: [UInt8], logarithms: [UInt8]) = {
    var powers = [UInt8](repeating: 1, count: 510)
    var logarithms = [UInt8](repeating: 0, count: 256)
    var value = 1
    for exponent in 0..<255 {
      powers[exponent] = UInt8(value)
      powers[exponent + 255] = UInt8(value)
      logarithms[value] = UInt8(exponent)
      value <<= 1
      if value > 255 { value ^= 0x11D }
    }
    return (powers, logarithms)
  }()
}

/// Products of one factor with any byte, by its two halves.
struct GaloisMultiplier {
  private var low = InlineArray<16, UInt8>(repeating: 0)
  private var high = InlineArray<16, UInt8>(repeating: 0)

  init(_ factor: UInt8) {
    for nibble in 0..<16 {
      low[nibble] = GaloisField.product(factor, UInt8(nibble))
      high[nibble] = GaloisField.product(factor, UInt8(nibble << 4))
    }
  }

  @inline(__always)
  func callAsFunction(_ byte: UInt8) -> UInt8 { low[Int(byte & 15)] ^ high[Int(byte >> 4)] }
}
