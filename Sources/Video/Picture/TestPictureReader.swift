/// Reads number and time back from a decoded `TestPicture` of any size.
package enum TestPictureReader {
  /// `nil` if there is no stamp, or it is too damaged to be sure of.
  ///
  /// A cell counts by the mean of its middle half, so blurred edges do not matter. A picture that
  /// is no test picture passes for one once in 256 times, if it has enough contrast.
  package static func stamp(of picture: I420Picture) -> TestPicture.Stamp? {
    var means = [Int](repeating: 0, count: 48)
    for index in means.indices { means[index] = mean(index, picture) }
    guard let darkest = means.min(), let brightest = means.max(),
      brightest - darkest >= minimumContrast
    else { return nil }
    let middle = (darkest + brightest) / 2
    let cells = means.reduce(0 as UInt64) { $0 << 1 | ($1 > middle ? 1 : 0) }
    return TestPicture.Stamp(cells: cells)
  }

  private static func mean(_ index: Int, _ picture: I420Picture) -> Int {
    let (x, y) = TestPicture.cell(index, in: picture.size)
    let insetX = x.count / 4
    let insetY = y.count / 4
    var sum = 0
    var count = 0
    for row in (y.lowerBound + insetY)..<max(y.lowerBound + insetY + 1, y.upperBound - insetY) {
      for column
        in (x.lowerBound + insetX)..<max(
          x.lowerBound + insetX + 1, x.upperBound - insetX)
      {
        sum += Int(picture.bytes[row * picture.width + column])
        count += 1
      }
    }
    return sum / count
  }

  /// Of 219 between black and white: a guess, half of what the lowest bitrates leave.
  private static let minimumContrast = 80
}
