package import Wire

/// What the other side says of the audio sent to it, from its reports (docs/protocol/frames.md
/// §5.2); in webrtc-stats `remote-inbound-rtp`.
package struct RemoteReception: Equatable, Sendable {
  package private(set) var reportsReceived: UInt64 = 0
  /// Totals of the stream, unwrapped.
  package private(set) var framesExpected: UInt64 = 0
  package private(set) var framesLost: UInt64 = 0
  package private(set) var framesUnrepaired: UInt64 = 0
  /// Between the last report and the one before it, 0...1 (`fractionLost`).
  package private(set) var lossFraction = 0.0
  package private(set) var jitterMilliseconds = 0
  package private(set) var slackMilliseconds = 0
  package private(set) var targetDelayMilliseconds = 0

  package init() {}

  /// Takes one report; one that was overtaken is left out.
  package mutating func handleReport(_ report: AudioReportFrame) {
    let expected = report.framesExpected &- UInt16(truncatingIfNeeded: framesExpected)
    guard expected < 0x8000 else { return }
    let lost = report.framesLost &- UInt16(truncatingIfNeeded: framesLost)
    let unrepaired = report.framesUnrepaired &- UInt16(truncatingIfNeeded: framesUnrepaired)
    reportsReceived += 1
    framesExpected += UInt64(expected)
    // What was given up may come after all: then a total goes down.
    framesLost = Self.moved(framesLost, by: lost)
    framesUnrepaired = Self.moved(framesUnrepaired, by: unrepaired)
    if expected > 0 {
      lossFraction = min(1, max(0, Double(Int16(bitPattern: lost)) / Double(expected)))
    }
    jitterMilliseconds = Int(report.jitterMilliseconds)
    slackMilliseconds = Int(report.slackMilliseconds)
    targetDelayMilliseconds = Int(report.targetDelayMilliseconds)
  }

  private static func moved(_ total: UInt64, by step: UInt16) -> UInt64 {
    let step = Int64(Int16(bitPattern: step))
    return step >= 0 ? total + UInt64(step) : total - min(total, UInt64(-step))
  }
}
