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
      let columnStarts = columns.starts.span
      let columnWeights = columns.weights.span
      let row = start + row * sizes.width
      let line = mixed.span
      for column in 0..<sizes.width {
        let first = columnStarts[column]
        let weight = column &* columns.width
        var sum: UInt32 = 1 << 21
        for tap in 0..<columns.width {
          sum &+= line[first &+ tap] &* columnWeights[weight &+ tap]
        }
        output[row &+ column] = UInt8(truncatingIfNeeded: sum >> 22)
      }
    }
  }

  private mutating func mix(_ row: Int, of source: Span<UInt8>) {
    let width = sizes.sourceWidth
    let rows = rows
    let first = rows.starts[row]
    var line = mixed.mutableSpan
    for tap in 0..<rows.width {
      let weight = rows.weights[row * rows.width + tap]
      let from = source.extracting(((first + tap) * width)..<((first + tap + 1) * width))
      if tap == 0 {
        for column in 0..<width { line[column] = UInt32(from[column]) &* weight }
      } else if weight > 0 {
        for column in 0..<width { line[column] &+= UInt32(from[column]) &* weight }
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
    width = count < source ? min(source, source / max(count, 1) + 2) : min(source, 2)
    for index in 0..<count {
      count < source ? cover(index, count, source) : blend(index, count, source)
    }
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

  private static let one = 1 << 11
}
