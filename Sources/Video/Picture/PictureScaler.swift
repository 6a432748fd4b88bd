/// Makes pictures smaller (each pixel the mean of the area it covers) or larger (bilinear).
///
/// Keeps its tables for as long as the sizes stay, so that scaling a stream allocates nothing.
package struct PictureScaler: Sendable {
  private var luma = PlaneScaler()
  private var chroma = PlaneScaler()

  package init() {}

  /// Fills `target`, whose size says what is wanted.
  package mutating func scale(_ source: I420Picture, into target: inout I420Picture) {
    if source.size == target.size {
      target.bytes = source.bytes
      return
    }
    for plane in I420Picture.Plane.allCases {
      let from = source.range(of: plane)
      let to = target.range(of: plane)
      let sizes = PlaneScaler.Sizes(
        sourceWidth: source.width(of: plane), sourceHeight: source.height(of: plane),
        width: target.width(of: plane), height: target.height(of: plane))
      if plane == .luma {
        luma.scale(
          source.bytes.span.extracting(from), sizes, into: &target.bytes, at: to.lowerBound)
      } else {
        chroma.scale(
          source.bytes.span.extracting(from), sizes, into: &target.bytes, at: to.lowerBound)
      }
    }
  }
}

/// One plane: rows are mixed first, then columns, with weights of 11 bits each.
struct PlaneScaler: Sendable {
  struct Sizes: Equatable, Sendable {
    var sourceWidth = 0
    var sourceHeight = 0
    var width = 0
    var height = 0
  }

  private var sizes = Sizes()
  private var columns = Taps(count: 0, from: 0)
  private var rows = Taps(count: 0, from: 0)
  /// One mixed row, × 2^11.
  private var mixed: [UInt32] = []

  mutating func scale(
    _ source: Span<UInt8>, _ sizes: Sizes, into target: inout [UInt8], at start: Int
  ) {
    if sizes != self.sizes {
      self.sizes = sizes
      columns = Taps(count: sizes.width, from: sizes.sourceWidth)
      rows = Taps(count: sizes.height, from: sizes.sourceHeight)
      mixed = Array(repeating: 0, count: sizes.sourceWidth)
    }
    var output = target.mutableSpan
    for row in 0..<sizes.height {
      mix(row, of: source)
      columns.mix(mixed.span, into: &output, at: start + row * sizes.width)
    }
  }

  /// Mixes the source rows that a target row covers, two at a time.
  private mutating func mix(_ row: Int, of source: Span<UInt8>) {
    let width = sizes.sourceWidth
    let rows = rows
    let first = rows.starts[row]
    var line = mixed.mutableSpan
    for tap in stride(from: 0, to: rows.width, by: 2) {
      let place = row * rows.width + tap
      let from = (first + tap) * width
      let upper = source.extracting(from..<(from + width))
      // An odd one comes with itself, which then counts nothing.
      let isPair = tap + 1 < rows.width
      let lower = isPair ? source.extracting((from + width)..<(from + 2 * width)) : upper
      Self.mix(
        upper, rows.weights[place], lower, isPair ? rows.weights[place + 1] : 0, into: &line,
        isFirst: tap == 0)
    }
  }

  private static func mix(
    _ upper: Span<UInt8>, _ one: UInt32, _ lower: Span<UInt8>, _ two: UInt32,
    into line: inout MutableSpan<UInt32>, isFirst: Bool
  ) {
    // Known here, it is not checked for each pixel.
    precondition(upper.count == line.count && lower.count == line.count)
    if isFirst {
      for column in 0..<line.count {
        line[column] = UInt32(upper[column]) &* one &+ UInt32(lower[column]) &* two
      }
    } else {
      for column in 0..<line.count {
        line[column] &+= UInt32(upper[column]) &* one &+ UInt32(lower[column]) &* two
      }
    }
  }
}

/// Which source pixels each target pixel is made of, in one dimension, and how much of each.
private struct Taps: Sendable {
  /// Taps of each target pixel.
  let width: Int
  /// The first source pixel of each target pixel.
  var starts: [Int] = []
  /// `width` of them for each target pixel; they add up to 2^11.
  var weights: [UInt32] = []

  init(count: Int, from source: Int) {
    width = count < source ? Self.mostCovered(count, source) : min(source, 2)
    for index in 0..<count {
      count < source ? cover(index, count, source) : blend(index, count, source)
    }
  }

  /// How many source pixels a target pixel covers at the most, in whole or in part.
  private static func mostCovered(_ count: Int, _ source: Int) -> Int {
    (0..<count).map { index in
      let begin = index * source
      return (begin + source + count - 1) / count - begin / count
    }.max() ?? 1
  }

  /// The share of each source pixel in the area from `index / count` to `(index + 1) / count`.
  private mutating func cover(_ index: Int, _ count: Int, _ source: Int) {
    // In units of 1 / count of a source pixel.
    let begin = index * source
    let end = begin + source
    let first = min(begin / count, source - width)
    var row = (0..<width).map { tap -> UInt32 in
      let left = (first + tap) * count
      let overlap = max(0, min(end, left + count) - max(begin, left))
      return UInt32(overlap * Self.one / source)
    }
    settle(&row)
    starts.append(first)
    weights += row
  }

  /// The two source pixels whose centres lie about the target pixel's.
  private mutating func blend(_ index: Int, _ count: Int, _ source: Int) {
    // The centre in 1 / 2^11 of a source pixel, from the centre of the first.
    let centre = ((2 * index + 1) * source * Self.one / count - Self.one) / 2
    let bounded = min(max(centre, 0), (source - 1) * Self.one)
    let first = min(bounded >> 11, source - width)
    let fraction = UInt32(bounded - (first << 11))
    starts.append(first)
    weights += width > 1 ? [UInt32(Self.one) - fraction, fraction] : [UInt32(Self.one)]
  }

  /// Gives what rounding left over to the heaviest.
  private func settle(_ row: inout [UInt32]) {
    let sum = row.reduce(0, +)
    guard let heaviest = row.indices.max(by: { row[$0] < row[$1] }) else { return }
    row[heaviest] += UInt32(Self.one) - sum
  }

  /// Mixes the pixels of a line that each target pixel covers.
  func mix(_ line: Span<UInt32>, into output: inout MutableSpan<UInt8>, at start: Int) {
    guard width != 2 else { return mixPairs(line, into: &output, at: start) }
    let (starts, weights) = (starts.span, weights.span)
    for column in 0..<starts.count {
      let first = starts[column]
      let place = column &* width
      var sum: UInt32 = 1 << 21
      for tap in 0..<width { sum &+= line[first &+ tap] &* weights[place &+ tap] }
      output[start &+ column] = UInt8(truncatingIfNeeded: sum >> 22)
    }
  }

  /// What most steps from one size to the next are.
  private func mixPairs(_ line: Span<UInt32>, into output: inout MutableSpan<UInt8>, at start: Int)
  {
    let (starts, weights) = (starts.span, weights.span)
    for column in 0..<starts.count {
      let first = starts[column]
      let sum =
        line[first] &* weights[column &* 2] &+ line[first &+ 1] &* weights[column &* 2 &+ 1]
      output[start &+ column] = UInt8(truncatingIfNeeded: (sum &+ 1 << 21) >> 22)
    }
  }

  private static let one = 1 << 11
}
