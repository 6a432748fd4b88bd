/// A QR code (ISO/IEC 18004): bytes, or capitals and digits where there is nothing else, error
/// correction level L, versions 1 to 20.
package struct QRCode: Sendable {
  /// Modules along one side.
  package let size: Int
  /// Row by row; true is dark.
  package private(set) var modules: [Bool]
  private var isFunction: [Bool]
  private let version: Int

  /// Code words that can be stored, error correction included, for versions 1...20.
  private static let totals = [
    26, 44, 70, 100, 134, 172, 196, 242, 292, 346, 404, 466, 532, 581, 655, 733, 815, 901, 991,
    1085,
  ]
  /// Error correction code words in each block, and the number of blocks, at level L.
  private static let correction = [
    (7, 1), (10, 1), (15, 1), (20, 1), (26, 1), (18, 2), (20, 2), (24, 2), (30, 2), (18, 4),
    (20, 4), (24, 4), (26, 4), (30, 4), (22, 6), (24, 6), (28, 6), (30, 6), (28, 7), (28, 8),
  ]

  /// `nil` when the text has more than 858 bytes.
  package init?(_ text: String) {
    let segment = Segment(text)
    let fitting = (1...20).first { segment.bitCount($0) <= Self.payloadWords($0) * 8 }
    guard let version = fitting else { return nil }
    self.version = version
    size = 17 + 4 * version
    modules = Array(repeating: false, count: size * size)
    isFunction = modules
    drawPatterns()
    draw(Self.interleaved(Self.encoded(segment, version), version))
    var best: (penalty: Int, modules: [Bool])?
    for mask in 0..<8 {
      var candidate = self
      candidate.apply(mask)
      candidate.drawFormat(mask)
      let penalty = candidate.penalty
      if penalty < best?.penalty ?? .max { best = (penalty, candidate.modules) }
    }
    if let best { modules = best.modules }
  }

  package subscript(_ row: Int, _ column: Int) -> Bool { modules[row * size + column] }

  /// Two modules in each letter, light on dark terminals read the same: a quiet zone of two modules
  /// around, drawn in full blocks for light. The standard wants four; readers do with two, and rows
  /// are few.
  package var halfBlocks: String {
    var text = ""
    for row in stride(from: -Self.quiet, to: size + Self.quiet, by: 2) {
      for column in -Self.quiet..<(size + Self.quiet) {
        switch (isLight(row, column), isLight(row + 1, column)) {
        case (true, true): text += "█"
        case (true, false): text += "▀"
        case (false, true): text += "▄"
        case (false, false): text += " "
        }
      }
      text += "\n"
    }
    return text
  }

  /// The same for terminals that know ASCII alone: a line for each row, `light` for each light
  /// module, two spaces for a dark one. One module less on both sides, so that a link fits 80
  /// columns.
  package func plainLetters(light: String) -> String {
    var text = ""
    for row in -Self.quiet..<(size + Self.quiet) {
      for column in -1..<(size + 1) { text += isLight(row, column) ? light : "  " }
      text += "\n"
    }
    return text
  }

  private func isLight(_ row: Int, _ column: Int) -> Bool {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return true }
    return !self[row, column]
  }

  // MARK: - Bytes to code words (§7.4, §7.5)

  private static func payloadWords(_ version: Int) -> Int {
    let (words, blocks) = correction[version - 1]
    return totals[version - 1] - words * blocks
  }

  private static let quiet = 2

  /// What is stored, in the mode that needs least for it (§7.4).
  private struct Segment {
    private let bytes: [UInt8]
    /// Places in the alphabet of 45; `nil` where something is not in it.
    private let places: [Int]?

    init(_ text: String) {
      bytes = Array(text.utf8)
      let found = bytes.compactMap { Self.alphabet.firstIndex(of: $0) }
      places = found.count == bytes.count ? found : nil
    }

    func bitCount(_ version: Int) -> Int {
      guard let places else { return 4 + (version < 10 ? 8 : 16) + 8 * bytes.count }
      return 4 + (version < 10 ? 9 : 11) + places.count / 2 * 11 + places.count % 2 * 6
    }

    func bits(_ version: Int) -> [Bool] {
      var bits: [Bool] = []
      func append(_ value: Int, _ count: Int) {
        for shift in (0..<count).reversed() { bits.append(value >> shift & 1 == 1) }
      }
      guard let places else {
        append(0b0100, 4)
        append(bytes.count, version < 10 ? 8 : 16)
        for byte in bytes { append(Int(byte), 8) }
        return bits
      }
      append(0b0010, 4)
      append(places.count, version < 10 ? 9 : 11)
      for first in stride(from: 0, to: places.count - 1, by: 2) {
        append(places[first] * 45 + places[first + 1], 11)
      }
      if places.count % 2 == 1 { append(places[places.count - 1], 6) }
      return bits
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8)
  }

  private static func encoded(_ segment: Segment, _ version: Int) -> [UInt8] {
    var bits = segment.bits(version)
    let room = payloadWords(version) * 8
    bits += Array(repeating: false, count: min(4, room - bits.count))
    while bits.count % 8 != 0 { bits.append(false) }
    var words = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    while words.count < room / 8 {
      words.append(words.count % 2 == bits.count / 8 % 2 ? 0xEC : 0x11)
    }
    return words
  }

  private static func interleaved(_ words: [UInt8], _ version: Int) -> [UInt8] {
    let (correctionCount, blockCount) = correction[version - 1]
    let short = words.count / blockCount
    let longBlocks = words.count % blockCount
    var blocks: [(words: [UInt8], check: [UInt8])] = []
    var start = 0
    for index in 0..<blockCount {
      let count = short + (index >= blockCount - longBlocks ? 1 : 0)
      let block = Array(words[start..<(start + count)])
      blocks.append((block, ReedSolomon.remainder(of: block, count: correctionCount)))
      start += count
    }
    var result: [UInt8] = []
    for index in 0...short {
      for block in blocks where index < block.words.count { result.append(block.words[index]) }
    }
    for index in 0..<correctionCount {
      for block in blocks { result.append(block.check[index]) }
    }
    return result
  }

  // MARK: - Modules (§6.3, §7.7, §7.8)

  private mutating func set(_ row: Int, _ column: Int, _ isDark: Bool) {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return }
    modules[row * size + column] = isDark
    isFunction[row * size + column] = true
  }

  private mutating func drawPatterns() {
    for index in 0..<size {
      set(6, index, index % 2 == 0)
      set(index, 6, index % 2 == 0)
    }
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
      for dy in -4...4 {
        for dx in -4...4 {
          let distance = max(abs(dx), abs(dy))
          set(row + dy, column + dx, distance != 2 && distance != 4)
        }
      }
    }
    drawAlignment()
    drawFormat(0)
    guard version >= 7 else { return }
    let bits = version << 12 | Self.remainder(version << 12, by: 0x1F25, bits: 12)
    for index in 0..<18 {
      let isDark = bits >> index & 1 == 1
      set(index / 3, size - 11 + index % 3, isDark)
      set(size - 11 + index % 3, index / 3, isDark)
    }
  }

  private mutating func drawAlignment() {
    guard version >= 2 else { return }
    let count = version / 7 + 2
    let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
    let places = [6] + (0..<(count - 1)).map { size - 7 - step * $0 }.reversed()
    for row in places {
      for column in places {
        let isCorner =
          (row == 6 && (column == 6 || column == size - 7))
          || (row == size - 7 && column == 6)
        guard !isCorner else { continue }
        for dy in -2...2 {
          for dx in -2...2 { set(row + dy, column + dx, max(abs(dx), abs(dy)) != 1) }
        }
      }
    }
  }

  /// Level L and the mask, twice (§7.9).
  private mutating func drawFormat(_ mask: Int) {
    let content = 1 << 3 | mask
    let bits = (content << 10 | Self.remainder(content << 10, by: 0x537, bits: 10)) ^ 0x5412
    func isDark(_ index: Int) -> Bool { bits >> index & 1 == 1 }
    for index in 0..<6 { set(index, 8, isDark(index)) }
    set(7, 8, isDark(6))
    set(8, 8, isDark(7))
    set(8, 7, isDark(8))
    for index in 9..<15 { set(8, 14 - index, isDark(index)) }
    for index in 0..<8 { set(8, size - 1 - index, isDark(index)) }
    for index in 8..<15 { set(size - 15 + index, 8, isDark(index)) }
    set(size - 8, 8, true)
  }

  private static func remainder(_ value: Int, by divisor: Int, bits: Int) -> Int {
    var rest = value
    var shift = 20
    while shift >= bits {
      if rest >> shift & 1 == 1 { rest ^= divisor << (shift - bits) }
      shift -= 1
    }
    return rest
  }

  private mutating func draw(_ words: [UInt8]) {
    var index = 0
    var column = size - 1
    while column > 0 {
      if column == 6 { column = 5 }
      let isUpward = (column + 1) & 2 == 0
      for step in 0..<size {
        let row = isUpward ? size - 1 - step : step
        for place in [column, column - 1] where !isFunction[row * size + place] {
          guard index < words.count * 8 else { continue }
          modules[row * size + place] = words[index / 8] >> (7 - index % 8) & 1 == 1
          index += 1
        }
      }
      column -= 2
    }
  }

  private mutating func apply(_ mask: Int) {
    for row in 0..<size {
      for column in 0..<size where !isFunction[row * size + column] {
        if Self.isInverted(mask, row, column) { modules[row * size + column].toggle() }
      }
    }
  }

  private static func isInverted(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
    switch mask {
    case 0: (row + column) % 2 == 0
    case 1: row % 2 == 0
    case 2: column % 3 == 0
    case 3: (row + column) % 3 == 0
    case 4: (row / 2 + column / 3) % 2 == 0
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3) % 2 == 0
    default: ((row + column) % 2 + row * column % 3) % 2 == 0
    }
  }
}
