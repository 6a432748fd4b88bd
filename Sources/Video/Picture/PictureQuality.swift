internal import Glibc

/// How much a picture differs from its original, for measurements and tests.
package enum PictureQuality {
  /// Peak signal-to-noise ratio of the luma plane in dB; 100 for equal pictures, `nil` when the
  /// sizes differ.
  package static func psnr(_ picture: I420Picture, _ original: I420Picture) -> Double? {
    guard let error = meanSquareError(picture, original) else { return nil }
    return error == 0 ? 100 : min(100, 10 * log10(255 * 255 / error))
  }

  /// Of the luma plane; `nil` when the sizes differ.
  package static func meanSquareError(
    _ picture: I420Picture, _ original: I420Picture
  ) -> Double? {
    guard picture.size == original.size else { return nil }
    let left = picture.bytes.span
    let right = original.bytes.span
    var sum: Int = 0
    let count = picture.size.pixelCount
    for index in 0..<count {
      let difference = Int(left[index]) &- Int(right[index])
      sum &+= difference &* difference
    }
    return Double(sum) / Double(count)
  }

  /// Structural similarity of the luma plane (Wang et al. 2004), the mean over windows of 8×8
  /// pixels 4 apart; 1 for equal pictures, `nil` when the sizes differ.
  package static func ssim(_ picture: I420Picture, _ original: I420Picture) -> Double? {
    guard picture.size == original.size else { return nil }
    var total = 0.0
    var windows = 0
    for y in stride(from: 0, through: picture.height - 8, by: 4) {
      for x in stride(from: 0, through: picture.width - 8, by: 4) {
        total += similarity(picture, original, x, y)
        windows += 1
      }
    }
    return total / Double(windows)
  }

  private static func similarity(
    _ picture: I420Picture, _ original: I420Picture, _ x: Int, _ y: Int
  ) -> Double {
    let left = picture.bytes.span
    let right = original.bytes.span
    var (sumA, sumB, squareA, squareB, product) = (0, 0, 0, 0, 0)
    for row in y..<(y + 8) {
      for index in (row * picture.width + x)..<(row * picture.width + x + 8) {
        let a = Int(left[index])
        let b = Int(right[index])
        sumA &+= a
        sumB &+= b
        squareA &+= a &* a
        squareB &+= b &* b
        product &+= a &* b
      }
    }
    let (meanA, meanB) = (Double(sumA) / 64, Double(sumB) / 64)
    let varianceA = Double(squareA) / 64 - meanA * meanA
    let varianceB = Double(squareB) / 64 - meanB * meanB
    let covariance = Double(product) / 64 - meanA * meanB
    return (2 * meanA * meanB + Self.luminance) * (2 * covariance + Self.contrast)
      / ((meanA * meanA + meanB * meanB + Self.luminance)
        * (varianceA + varianceB + Self.contrast))
  }

  /// (0.01 × 255)² and (0.03 × 255)², as in the paper.
  private static let luminance = 6.5025
  private static let contrast = 58.5225
}
