/// A straight line through points by least squares, with a standard error that does not trust
/// neighbouring residuals to be independent: they are summed over blocks (the cluster-robust
/// "sandwich" of Liang and Zeger 1986).
struct LineFit: Sendable, Equatable {
  var slope: Double
  var intercept: Double
  /// Of the slope.
  var standardError: Double
  /// Sum of the squared residuals.
  var residual: Double
  var count: Int

  /// Of the slope, if the residuals were independent; for few points.
  var plainError: Double

  /// `nil` with fewer than 4 points, or when all `x` are the same.
  init?(_ points: [(x: Double, y: Double)], blocks: Int = 10) {
    guard points.count >= 4 else { return nil }
    let count = Double(points.count)
    var meanX = 0.0
    var meanY = 0.0
    for point in points {
      meanX += point.x
      meanY += point.y
    }
    meanX /= count
    meanY /= count
    var sxx = 0.0
    var sxy = 0.0
    for point in points {
      sxx += (point.x - meanX) * (point.x - meanX)
      sxy += (point.x - meanX) * (point.y - meanY)
    }
    guard sxx > 0 else { return nil }
    slope = sxy / sxx
    intercept = meanY - slope * meanX
    self.count = points.count
    residual = 0
    var variance = 0.0
    let length = max(1, (points.count + blocks - 1) / max(1, blocks))
    for start in stride(from: 0, to: points.count, by: length) {
      var score = 0.0
      for point in points[start..<min(points.count, start + length)] {
        let error = point.y - intercept - slope * point.x
        residual += error * error
        score += (point.x - meanX) * error
      }
      variance += score * score
    }
    standardError = variance.squareRoot() / sxx
    plainError = (residual / (count - 2) / sxx).squareRoot()
  }
}
