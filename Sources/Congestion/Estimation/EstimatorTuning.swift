/// The constants of the estimator, each with the part that it belongs to (docs/congestion.md).
/// A value that is handed in: the shipped one, or one of a measurement.
package struct EstimatorTuning: Sendable, BitwiseCopyable {
  package var timing = ReportTiming.Constants()
  package var reportDelay = ReportDelay.Constants()
  package var roundTrip = RoundTripFloor.Constants()
  package var baseDelay = BaseDelayFilter.Constants()
  package var minRTTProbe = MinRTTProbe.Constants()
  package var queue = QueueingDelay.Constants()
  package var nonCongestive = NonCongestiveDelay.Constants()
  package var variability = DelayVariability.Constants()
  package var delivery = DeliveryRate.Constants()
  package var losses = LossAccount.Constants()
  package var target = TargetDelay.Constants()
  package var startUp = StartUp()
  package var growth = RateGrowth.Constants()
  package var control = QueueControl()
  package var drain = OverloadDrain.Constants()
  package var busyPeriod = BusyPeriod.Constants()
  package var flight = FlightLimit()
  package var pacing = PacingGain()
  package var unpaced = UnpacedTraffic()
  package var competition = CompetitiveMode.Constants()
  package var policer = PolicerDetector.Constants()
  package var ecn = ECNResponse.Constants()
  /// What is delivered may be exceeded by whoever competes, × delivery rate. Tuned.
  package var competingRoom = 1.3

  package init() {}
}
