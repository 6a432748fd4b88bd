import Earshot
import PeerCommand

/// A probe with a value for everything: a weak uplink, a downlink that the test did not fill.
enum ProbeSample {
  static func report() -> LineReport {
    var report = LineReport(plan: ProbePlan(), ending: .finished)
    report.state = .complete
    report.idleRoundTrip = RoundTripReport(
      delay: DelaySummary(minimumMs: 40.1, p50Ms: 41, p95Ms: 45.25, p99Ms: 52, sampleCount: 118),
      sent: 120, answered: 118)
    report.uplink = uplink
    report.downlink = downlink
    report.path.kind = .direct
    report.path.remote = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
    report.path.seenAs = SocketAddress(v4: 203, 0, 113, 7, port: 40_000)
    report.path.family = .v4
    report.path.mapping = .translated
    report.path.largestUplinkPacket = 1228
    report.path.largestDownlinkPacket = 1228
    report.clock = ClockQuality(
      resolutionUs: 16, driftPpm: -2.5, driftUncertaintyPpm: 4, sendLatenessP95Us: 120,
      stamps: .kernel)
    report.cost.seconds = 7.8
    report.cost.bytesSent = 812_345
    report.cost.bytesReceived = 1_734_567
    report.cost.sendBudget = 2_500_000
    report.cost.receiveBudget = 2_500_000
    report.phases = [
      PhaseSpan(phase: .idle, from: 0.1, to: 1.3), PhaseSpan(phase: .ramp, from: 1.3, to: 3),
      PhaseSpan(phase: .loadedUplink, from: 4, to: 7.8),
    ]
    report.timeline = timeline
    return report
  }

  static func unavailable(_ ending: LineReport.Ending) -> LineReport {
    LineReport(plan: ProbePlan(), ending: ending)
  }

  private static var uplink: DirectionReport {
    var side = DirectionReport(sent: 1000, received: 980, reordered: 3, duplicated: 1)
    side.loss = ShareEstimate(hits: 16, of: 800)
    side.overloadLoss = ShareEstimate(hits: 4, of: 200)
    side.meanLossBurst = 1.6
    side.delayVariation = DelaySummary(
      minimumMs: 0, p50Ms: 1.5, p95Ms: 8, p99Ms: 12.5, sampleCount: 784)
    side.loadedRoundTrip = DelaySummary(
      minimumMs: 60, p50Ms: 240, p95Ms: 260, p99Ms: 270, sampleCount: 100)
    side.ecn = .survived
    side.bandwidth = BandwidthEstimate(
      bitsPerSecond: 1_104_321.5, low: 1_080_000, high: 1_130_000, limitedByTest: false)
    return side
  }

  private static var downlink: DirectionReport {
    var side = DirectionReport(sent: 1500, received: 1500)
    side.loss = ShareEstimate(hits: 0, of: 1200)
    side.delayVariation = DelaySummary(
      minimumMs: 0, p50Ms: 1, p95Ms: 3, p99Ms: 4, sampleCount: 1200)
    side.loadedRoundTrip = DelaySummary(
      minimumMs: 41, p50Ms: 48, p95Ms: 55, p99Ms: 60, sampleCount: 100)
    side.ecn = .bleached
    side.bandwidth = BandwidthEstimate(
      bitsPerSecond: 2_500_000, low: 2_480_000, high: 2_500_000, limitedByTest: true)
    return side
  }

  private static var timeline: [TimelinePoint] {
    (0..<78).flatMap { index in
      LineDirection.allCases.map { direction in
        var point = TimelinePoint(direction: direction, at: 0.05 + 0.1 * Double(index))
        point.sent = 10
        point.lost = direction == .uplink && index % 20 == 7 ? 2 : 0
        point.sentRate = 100_000 + 20_000 * Double(index)
        point.addedDelayMs = direction == .uplink ? 2.5 * Double(index) : 1
        point.largestAddedDelayMs = point.addedDelayMs.map { $0 + 2 }
        return point
      }
    }
  }
}
