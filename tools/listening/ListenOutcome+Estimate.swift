import Audio

/// What the receiver itself would say of the run, beside what was measured: tools/mos-check
/// compares the two.
extension ListenOutcome {
  /// - Parameters:
  ///   - fixed: milliseconds of one frame and of what the encoder looks ahead.
  ///   - bitrate: of the encoder.
  func estimates(
    _ playout: PlayoutStatistics, fixed: Double, bitrate: Int
  ) -> [(String, Double)] {
    // As half the least round trip gives it.
    let leastTransit = transitCount == 0 ? 0 : Double(self.leastTransit) / 1e6
    let rate = playout.primaryBitsPerSecond ?? bitrate
    let total = Double(max(playout.totalSamplesReceived, 1))
    var members: [(String, Double)] = [
      ("mos_estimate", playout.mosEstimate(bitsPerSecond: rate).score),
      ("primary_bps", Double(rate)), ("stretched_percent", 100 * playout.stretchedFraction),
      ("low_rate_percent", 100 * playout.lowRateFraction),
      ("mean_concealment_ms", playout.meanConcealmentMilliseconds),
      (
        "restored_percent",
        100 * Double(playout.samplesRecoveredByForwardErrorCorrection) / total
      ),
      ("delayed_percent", 100 * Double(playout.delayedPacketOutageSamples) / total),
      ("never_came_percent", 100 * fates.lostFraction),
    ]
    if let p50 = playout.playoutDelays.quantile(0.5) {
      members.append(("delay_estimate_ms", fixed + leastTransit + p50))
    }
    return members
  }
}
