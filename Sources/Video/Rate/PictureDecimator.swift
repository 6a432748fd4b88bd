/// Chooses from a source's pictures so many a second, as evenly as can be.
package struct PictureDecimator: Sendable {
  /// When the next picture is due, in ms of the source.
  private var due: Int64?

  package init() {}

  /// Whether the picture of this time is to be sent.
  package mutating func takes(milliseconds: Int64, framesPerSecond: Int) -> Bool {
    let interval = Int64(1000 / max(1, framesPerSecond))
    guard let due, due - milliseconds < 10 * interval else {
      self.due = milliseconds + interval
      return true
    }
    // Half an interval early is nearer than the next picture would be, if that is as far away.
    guard milliseconds + interval / 8 >= due else { return false }
    self.due = max(due + interval, milliseconds + interval / 2)
    return true
  }
}
