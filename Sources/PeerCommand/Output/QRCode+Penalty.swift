/// Which mask reads best (ISO/IEC 18004 §7.8.3).
extension QRCode {
  var penalty: Int {
    let lines = (0..<size).flatMap { index in
      [(0..<size).map { self[index, $0] }, (0..<size).map { self[$0, index] }]
    }
    return lines.reduce(0) { $0 + Self.runPenalty($1) + Self.finderPenalty($1) } + blockPenalty
      + balancePenalty
  }

  /// Five alike in a row cost 3, each more one more.
  private static func runPenalty(_ line: [Bool]) -> Int {
    var penalty = 0
    var run = 0
    for index in line.indices {
      run = index > 0 && line[index] == line[index - 1] ? run + 1 : 1
      if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
    }
    return penalty
  }

  /// What looks like a finder pattern costs 40.
  private static func finderPenalty(_ line: [Bool]) -> Int {
    let pattern = [true, false, true, true, true, false, true, false, false, false, false]
    let mirrored = Array(pattern.reversed())
    return (0...(line.count - pattern.count)).reduce(0) { sum, start in
      let part = Array(line[start..<(start + pattern.count)])
      return sum + (part == pattern ? 40 : 0) + (part == mirrored ? 40 : 0)
    }
  }

  /// Each square of two by two alike costs 3.
  private var blockPenalty: Int {
    var penalty = 0
    for row in 0..<(size - 1) {
      for column in 0..<(size - 1) {
        let isDark = self[row, column]
        if self[row, column + 1] == isDark, self[row + 1, column] == isDark,
          self[row + 1, column + 1] == isDark
        {
          penalty += 3
        }
      }
    }
    return penalty
  }

  /// Each 5 % away from half dark costs 10.
  private var balancePenalty: Int {
    let dark = modules.count { $0 }
    return abs(dark * 20 - modules.count * 10) / modules.count * 10
  }
}

/// The check words of QR codes: Reed-Solomon over GF(2^8), polynomial 0x11D (ISO/IEC 18004 §7.5.2).
enum ReedSolomon {
  static func remainder(of words: [UInt8], count: Int) -> [UInt8] {
    let divisor = generator(count)
    var rest = [UInt8](repeating: 0, count: count)
    for word in words {
      let factor = word ^ rest.removeFirst()
      rest.append(0)
      for index in rest.indices { rest[index] ^= product(divisor[index], factor) }
    }
    return rest
  }

  /// The product of (x - 2^i) for i in 0..<count, without its leading 1.
  private static func generator(_ count: Int) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: count)
    result[count - 1] = 1
    var root: UInt8 = 1
    for _ in 0..<count {
      for index in 0..<count {
        result[index] = product(result[index], root)
        if index + 1 < count { result[index] ^= result[index + 1] }
      }
      root = product(root, 2)
    }
    return result
  }

  private static func product(_ first: UInt8, _ second: UInt8) -> UInt8 {
    var result = 0
    for bit in (0..<8).reversed() {
      result = (result << 1) ^ ((result >> 7) * 0x11D)
      result ^= Int(second) >> bit & 1 * Int(first)
    }
    return UInt8(truncatingIfNeeded: result)
  }
}
