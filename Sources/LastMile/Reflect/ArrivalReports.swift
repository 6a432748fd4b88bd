import Primitives
import Wire

/// What arrived in a run, and when it is reported: when asked, and after an interval that the
/// prober chose.
struct ArrivalReports: Sendable {
  private(set) var arrivals = ArrivalTable()
  /// Every number before it need not be reported again.
  private var reported: UInt32 = 0
  /// A request asked for a report by name.
  private(set) var isAskedFor = false
  /// From the first unreported arrival to its report; `nil` = none but those asked for.
  private var interval: Duration?

  init() {}

  mutating func handle(_ request: ProbeRequestFrame) {
    reported = max(reported, min(request.reportedEnd, arrivals.end))
    if request.wantsReport { isAskedFor = true }
    setInterval(request.reportInterval)
  }

  /// - Parameter tens: In 10 ms; 0 = only reports that are asked for.
  mutating func setInterval(_ tens: UInt8) {
    interval = tens == 0 ? nil : .milliseconds(10 * Int64(tens))
  }

  mutating func record(_ sequence: UInt32, ecn: UInt8, at now: Instant) {
    arrivals.record(sequence, ecn: ecn, at: now)
  }

  @_lifetime(packet: copy packet)
  mutating func write(
    run: UInt32, sentCount: UInt32, room: Int, into packet: inout OutputSpan<UInt8>
  ) {
    arrivals.writeReport(
      run: run, from: reported, isAskedFor: isAskedFor, sentCount: sentCount, room: room,
      into: &packet)
    isAskedFor = false
  }

  func isDue(now: Instant) -> Bool { isAskedFor || deadline.map { $0 <= now } ?? false }

  var deadline: Instant? {
    guard let interval else { return nil }
    return arrivals.oldestUnreported.map { $0 + interval }
  }
}
