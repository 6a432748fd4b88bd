/// How numbers are written in what nodes say to Redis.
extension RedisModel {
  /// The clocks of the nodes show this, in ms.
  package func setTime(_ milliseconds: UInt64) {
    time = max(time, milliseconds)
    self.milliseconds = UInt64(Int64(time) + step)
  }

  /// The connection of programs whose clients are to register anew.
  static let nobody = [UInt8](repeating: 0, count: 8)

  static func digits(_ number: UInt64) -> [UInt8] {
    let text = Array(String(number).utf8)
    return Array(repeating: UInt8(ascii: "0"), count: 20 - text.count) + text
  }

  static func rank(_ sealed: [UInt8]) -> UInt64? {
    sealed.starts(with: Array("ENR1".utf8)) ? mark(sealed) : nil
  }

  static func mark(_ sealed: [UInt8]) -> UInt64 {
    sealed[4..<9].reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func number(_ digits: [UInt8]) -> UInt64 {
    UInt64(String(decoding: digits, as: UTF8.self)) ?? 0
  }
}
