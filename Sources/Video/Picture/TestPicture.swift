/// What is sent for `--video test`: a moving picture that carries its own number and time.
///
/// The lower quarter holds 48 black or white cells, three rows of 16: the number (Gray code, so
/// that few cells change), the time, and a checksum. `TestPictureReader` reads them back from what
/// was decoded, whatever its size, so that loss, freezes and delay can be told from the saved
/// pictures alone; and as the picture follows from number, time and size, so can its quality.
/// The same two stand in digits at the top, for people.
package struct TestPicture: Sendable {
  /// What a picture says of itself.
  package struct Stamp: Equatable, Sendable, BitwiseCopyable {
    /// Counts pictures, wraps.
    package var number: UInt16
    /// Milliseconds since the source began, 24 bits, wraps after 4.6 hours.
    package var clock: UInt32

    package init(number: UInt16, clock: UInt32) {
      self.number = number
      self.clock = clock & 0xFF_FFFF
    }

    /// The 48 cells, the first in the highest bit.
    var cells: UInt64 {
      let gray = number ^ number >> 1
      let content = UInt64(gray) << 24 | UInt64(clock)
      return content << 8 | UInt64(Self.checksum(content))
    }

    /// `nil` if the checksum does not hold.
    init?(cells: UInt64) {
      let content = cells >> 8 & 0xFF_FFFF_FFFF
      guard Self.checksum(content) == UInt8(truncatingIfNeeded: cells) else { return nil }
      var number = UInt16(truncatingIfNeeded: content >> 24)
      for shift in [1, 2, 4, 8] as [UInt16] { number ^= number >> shift }
      self.init(number: number, clock: UInt32(truncatingIfNeeded: content))
    }

    /// CRC-8 (polynomial 0x07) of the 40 bits; not zero for zeros, so that black is no stamp.
    private static func checksum(_ content: UInt64) -> UInt8 {
      var remainder: UInt8 = 0xFF
      for byte in stride(from: 32, through: 0, by: -8) {
        remainder ^= UInt8(truncatingIfNeeded: content >> UInt64(byte))
        for _ in 0..<8 {
          remainder = remainder & 0x80 == 0 ? remainder << 1 : remainder << 1 ^ 0x07
        }
      }
      return remainder
    }
  }

  package let size: PictureSize
  /// A wave along each side, longer by one period, from which each row and column takes its part.
  private let wave: [UInt8]

  package init(_ size: PictureSize) {
    self.size = size
    let period = Self.period
    wave = (0..<(2 * period + max(size.width, size.height))).map { place in
      let slow = Self.triangle(place * 256 / period, 256)
      let fast = Self.triangle(place * 2048 / period, 256)
      return UInt8((slow * 3 + fast) * 90 / 1024)
    }
  }

  /// Draws the picture of `stamp`; the same for the same stamp and size, always.
  package func draw(_ stamp: Stamp, into picture: inout I420Picture) {
    precondition(picture.size == size, "a picture of the size that this was made for")
    drawBackground(stamp, into: &picture)
    drawDisc(stamp, into: &picture)
    drawDigits(stamp, into: &picture)
    drawCells(stamp, into: &picture)
  }

  /// Cell `index`, 0..<48, in a picture of `size`.
  static func cell(_ index: Int, in size: PictureSize) -> (x: Range<Int>, y: Range<Int>) {
    let column = index % 16
    let row = index / 16
    let top = size.height * 3 / 4
    let depth = size.height - top
    return (
      (column * size.width / 16)..<((column + 1) * size.width / 16),
      (top + row * depth / 3)..<(top + (row + 1) * depth / 3)
    )
  }

  private func drawBackground(_ stamp: Stamp, into picture: inout I420Picture) {
    // A picture width in 8 s to the left, a third of that upwards.
    let step = Int(stamp.clock) * size.width / 8000
    let across = step % Self.period
    let down = step / 3 % Self.period
    drawWaves(&picture, .luma, least: 30, across: across, down: down)
    drawWaves(&picture, .blue, least: 84, across: across, down: nil)
    drawWaves(&picture, .red, least: 84, across: nil, down: down)
  }

  /// A wave from left to right, one from top to bottom, or the sum of both.
  private func drawWaves(
    _ picture: inout I420Picture, _ plane: I420Picture.Plane, least: UInt8, across: Int?, down: Int?
  ) {
    let width = picture.width(of: plane)
    let height = picture.height(of: plane)
    var place = picture.range(of: plane).lowerBound
    let wave = wave.span
    var output = picture.bytes.mutableSpan
    for y in 0..<height {
      let row = least &+ (down.map { wave[$0 + y] } ?? 0)
      for x in 0..<width {
        output[place] = row
        if let across { output[place] &+= wave[across &+ x] }
        place &+= 1
      }
    }
  }

  /// Goes about the picture in 4 s, the sharpest edge in it.
  private func drawDisc(_ stamp: Stamp, into picture: inout I420Picture) {
    let radius = max(4, size.height / 10)
    let turn = Int(stamp.clock % 4000) * 1024 / 4000
    let x = radius + Self.triangle(turn, 1024) * (size.width - 2 * radius) / 1024
    let y = radius + Self.triangle(2 * turn, 1024) * (size.height * 3 / 4 - 2 * radius) / 1024
    for row in max(0, y - radius)..<min(size.height, y + radius) {
      let reach = Self.squareRoot(radius * radius - (row - y) * (row - y))
      for column in max(0, x - reach)..<min(size.width, x + reach) {
        picture.bytes[row * size.width + column] = 220
      }
    }
  }

  private func drawDigits(_ stamp: Stamp, into picture: inout I420Picture) {
    let dot = max(1, size.width / 80)
    let digits = Self.digits(stamp)
    for place in digits.indices {
      let digit = digits[place]
      for row in 0..<7 {
        for column in 0..<4 {
          let isInk =
            (1..<6).contains(row) && column > 0
            && Self.font[digit] >> (14 - 3 * (row - 1) - (column - 1)) & 1 == 1
          fill(
            (place * 4 + column + 1) * dot, (row + 1) * dot, dot, isInk ? 235 : 16, &picture)
        }
      }
    }
  }

  private func fill(_ x: Int, _ y: Int, _ side: Int, _ luma: UInt8, _ picture: inout I420Picture) {
    for row in y..<min(size.height, y + side) {
      for column in x..<min(size.width, x + side) {
        picture.bytes[row * size.width + column] = luma
      }
    }
  }

  private func drawCells(_ stamp: Stamp, into picture: inout I420Picture) {
    let cells = stamp.cells
    for index in 0..<48 {
      let luma: UInt8 = cells >> UInt64(47 - index) & 1 == 1 ? 235 : 16
      let (x, y) = Self.cell(index, in: size)
      for row in y {
        for column in x { picture.bytes[row * size.width + column] = luma }
      }
    }
    for plane in [I420Picture.Plane.blue, .red] {
      let range = picture.range(of: plane)
      let first = (size.height * 3 / 4 + 1) / 2 * picture.width(of: plane)
      for place in (range.lowerBound + first)..<range.upperBound { picture.bytes[place] = 128 }
    }
  }

  /// 0 … `peak` … 0 over one turn of 2 × 512 when `peak` is 1024, of 256 when it is 256.
  private static func triangle(_ place: Int, _ peak: Int) -> Int {
    let turn = place % peak
    return turn < peak / 2 ? 2 * turn : 2 * (peak - turn)
  }

  private static func squareRoot(_ value: Int) -> Int {
    var root = 0
    while (root + 1) * (root + 1) <= value { root += 1 }
    return root
  }

  /// The number, minutes, seconds and milliseconds, as places in `font`.
  private static func digits(_ stamp: Stamp) -> InlineArray<16, Int> {
    let seconds = Int(stamp.clock / 1000)
    let parts = (
      number: Int(stamp.number), minutes: seconds / 60, seconds: seconds % 60,
      milliseconds: Int(stamp.clock % 1000)
    )
    var digits = InlineArray<16, Int>(repeating: 10)
    write(parts.number, to: &digits, 0..<5)
    write(parts.minutes, to: &digits, 6..<9)
    digits[9] = 11
    write(parts.seconds, to: &digits, 10..<12)
    digits[12] = 12
    write(parts.milliseconds, to: &digits, 13..<16)
    return digits
  }

  /// The last decimal digits of a value.
  private static func write(
    _ value: Int, to digits: inout InlineArray<16, Int>, _ places: Range<Int>
  ) {
    var rest = value
    for place in places.reversed() {
      digits[place] = rest % 10
      rest /= 10
    }
  }

  /// Pixels after which the background repeats.
  private static let period = 512
  /// 0 to 9, space, colon, point: five rows of three dots, the first in the highest of 15 bits.
  private static let font: [UInt16] = [
    0b111_101_101_101_111, 0b010_110_010_010_111, 0b111_001_111_100_111, 0b111_001_111_001_111,
    0b101_101_111_001_001, 0b111_100_111_001_111, 0b111_100_111_101_111, 0b111_001_010_010_010,
    0b111_101_111_101_111, 0b111_101_111_001_111, 0, 0b000_010_000_010_000, 0b000_000_000_000_010,
  ]
}
