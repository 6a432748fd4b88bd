extension FallbackMachine.Change {
  /// Video is carried again for another reason than that this machine has found it to fit.
  ///
  /// - Parameters:
  ///   - estimate: in bit/s.
  ///   - needed: in bit/s.
  ///   - loss: 0...1.
  package static func recovered(
    estimate: Double, needed: Double, loss: Double
  ) -> FallbackMachine.Change {
    FallbackMachine.Change(
      mode: .audioAndVideo, reason: .recovered, estimate: estimate, needed: needed, loss: loss)
  }
}
