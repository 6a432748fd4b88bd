/// MD5 and SHA-1, which STUN's MESSAGE-INTEGRITY is made of (RFC 8489 §9.2.2, §14.5). Both are
/// broken for signatures. Here they only show a TURN server that we know a password; nothing of a
/// call depends on them (docs/decisions/0058).
enum LegacyHash {
  /// RFC 1321.
  static func md5(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    let padded = pad(message, isBigEndian: false)
    for block in stride(from: 0, to: padded.count, by: 64) {
      let words = (0..<16).map { word(padded, block + 4 * $0).byteSwapped }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      for round in 0..<64 {
        let (mix, place): (UInt32, Int) =
          switch round >> 4 {
          case 0: (b & c | ~b & d, round)
          case 1: (d & b | ~d & c, (5 * round + 1) & 15)
          case 2: (b ^ c ^ d, (3 * round + 5) & 15)
          default: (c ^ (b | ~d), 7 * round & 15)
          }
        let sum = a &+ mix &+ md5Constants[round] &+ words[place]
        (a, d, c) = (d, c, b)
        b = b &+ rotate(sum, by: md5Shifts[round >> 4][round & 3])
      }
      state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
    }
    return state.flatMap { bigEndian($0.byteSwapped) }
  }

  /// RFC 3174.
  static func sha1(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    let padded = pad(message, isBigEndian: true)
    for block in stride(from: 0, to: padded.count, by: 64) {
      var words = (0..<16).map { word(padded, block + 4 * $0) }
      for index in 16..<80 {
        let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
        words.append(rotate(mixed, by: 1))
      }
      var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
      for round in 0..<80 {
        let (mix, constant): (UInt32, UInt32) =
          switch round / 20 {
          case 0: (b & c | ~b & d, 0x5A82_7999)
          case 1: (b ^ c ^ d, 0x6ED9_EBA1)
          case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
          default: (b ^ c ^ d, 0xCA62_C1D6)
          }
        let sum = rotate(a, by: 5) &+ mix &+ e &+ constant &+ words[round]
        (e, d, c, b, a) = (d, c, rotate(b, by: 30), a, sum)
      }
      state = zip(state, [a, b, c, d, e]).map { $0 &+ $1 }
    }
    return state.flatMap(bigEndian)
  }

  /// RFC 2104 with SHA-1.
  static func hmacSHA1(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var block = key.count > 64 ? sha1(key) : key
    block += Array(repeating: 0, count: 64 - block.count)
    return sha1(block.map { $0 ^ 0x5C } + sha1(block.map { $0 ^ 0x36 } + message))
  }

  /// A one, zeros, and the length in bits, to a multiple of 64 bytes.
  private static func pad(_ message: [UInt8], isBigEndian: Bool) -> [UInt8] {
    let zeros = (119 - message.count % 64) % 64
    let length = UInt64(message.count) &* 8
    let ordered = (0..<8).map { UInt8(truncatingIfNeeded: length >> UInt64(56 - 8 * $0)) }
    return message + [0x80] + Array(repeating: 0, count: zeros)
      + (isBigEndian ? ordered : ordered.reversed())
  }

  private static func word(_ bytes: [UInt8], _ start: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[start + $1]) }
  }

  private static func bigEndian(_ word: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) }
  }

  private static func rotate(_ word: UInt32, by count: UInt32) -> UInt32 {
    word << count | word >> (32 - count)
  }

  private static let md5Shifts: [[UInt32]] = [
    [7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21],
  ]

  /// floor(2³² × |sin(i + 1)|) (RFC 1321 §3.4).
  private static let md5Constants: [UInt32] = [
    0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A,
    0xA830_4613, 0xFD46_9501, 0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE,
    0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821, 0xF61E_2562, 0xC040_B340,
    0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
    0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8,
    0x676F_02D9, 0x8D2A_4C8A, 0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C,
    0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70, 0x289B_7EC6, 0xEAA1_27FA,
    0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
    0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92,
    0xFFEF_F47D, 0x8584_5DD1, 0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1,
    0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
  ]
}
