import LastMile
import Primitives
import Simulation

/// One line of the grid.
struct AccuracyCell: Sendable, Codable {
  /// Bit/s.
  var uplink: Int
  var downlink: Int
  /// Milliseconds.
  var roundTrip: Int
  /// Percent.
  var loss: Int
  /// Milliseconds, uniform, order kept.
  var jitter: Int
  /// Milliseconds at the line's rate.
  var queue: Int
  /// In place of `jitter`.
  var shape: JitterShape?

  var name: String {
    "up \(uplink / 1000) down \(downlink / 1000) kbit/s, RTT \(roundTrip), loss \(loss) %, "
      + "jitter \(shape?.name ?? "\(jitter)"), queue \(queue)"
  }

  static var usual: [AccuracyCell] { cells(usualRates) }

  /// The usual lines with jitter of every shape.
  static var shapes: [AccuracyCell] {
    JitterShape.allCases.flatMap { shape in
      cells(usualRates).filter { $0.jitter == 0 }.map { cell in
        var cell = cell
        cell.shape = shape
        return cell
      }
    }
  }

  private static let usualRates = [
    (300_000, 2_000_000), (1_000_000, 5_000_000), (2_000_000, 300_000), (5_000_000, 1_000_000),
  ]

  /// 100 Mbit/s expected each way.
  static var fast: [AccuracyCell] {
    cells([(10_000_000, 50_000_000), (50_000_000, 100_000_000), (100_000_000, 10_000_000)])
  }

  private static func cells(_ rates: [(Int, Int)]) -> [AccuracyCell] {
    var cells: [AccuracyCell] = []
    for (up, down) in rates {
      for roundTrip in [20, 60, 200] {
        for loss in [0, 1, 5, 20] {
          for jitter in [0, 20] {
            for queue in [30, 200, 1000] {
              cells.append(
                AccuracyCell(
                  uplink: up, downlink: down, roundTrip: roundTrip, loss: loss, jitter: jitter,
                  queue: queue))
            }
          }
        }
      }
    }
    return cells
  }

  func conditions(_ rate: Int) -> LinkConditions {
    var conditions = LinkConditions(delay: .microseconds(500 * roundTrip))
    conditions.rate = .init(UInt64(rate), queue: .time(.milliseconds(queue)))
    if loss > 0 { conditions.loss = .random(Double(loss) / 100) }
    if jitter > 0 { conditions.jitter = .uniform(upTo: .milliseconds(jitter)) }
    shape?.apply(to: &conditions)
    return conditions
  }

  /// The round trip of an echo and its answer on the empty line, in ms.
  var trueRoundTrip: Double {
    let echo = Double(84 + SimulatedLink.headerByteCount) * 8e3
    let answer = Double(72 + SimulatedLink.headerByteCount) * 8e3
    return Double(roundTrip) + echo / Double(uplink) + answer / Double(downlink)
  }

  func probe(seed: UInt64) -> AccuracyProbe {
    var plan = ProbePlan()
    let expected = max(uplink, downlink) > 5_000_000 ? 100_000_000 : 5_000_000
    plan.expectedUplink = expected
    plan.expectedDownlink = expected
    var line = ProbeLine(
      plan, up: conditions(uplink), down: conditions(downlink), seed: seed)
    let report = line.run()
    return AccuracyProbe(
      seed: seed, state: report?.state.rawValue ?? "none",
      seconds: report?.cost.seconds ?? 0,
      firstGradeSeconds: line.events.first { if case .firstGrade = $0.1 { true } else { false } }
        .map { Double($0.at.nanoseconds) / 1e9 },
      roundTripMs: report?.idleRoundTrip?.delay.minimumMs,
      bytesSent: report?.cost.bytesSent ?? 0, bytesReceived: report?.cost.bytesReceived ?? 0,
      peakUp: Self.peak(line.sent), peakDown: Self.peak(line.reflected),
      up: AccuracyProbe.Way(report?.uplink), down: AccuracyProbe.Way(report?.downlink))
  }

  /// The highest rate over any 100 ms, in bit/s: from the first packet's end to the last's.
  private static func peak(_ sent: [(at: Instant, byteCount: Int)]) -> Double {
    var most = 0
    var sum = 0
    var first = 0
    for packet in sent {
      sum += packet.byteCount
      while packet.at.nanoseconds - sent[first].at.nanoseconds >= 100_000_000 {
        sum -= sent[first].byteCount
        first += 1
      }
      most = max(most, sum - sent[first].byteCount)
    }
    return Double(most) * 80
  }
}

/// What came of one probe.
struct AccuracyProbe: Sendable, Codable {
  struct Way: Sendable, Codable {
    var rate: Double?
    var low: Double?
    var high: Double?
    var isLimited: Bool?
    var isUnsteady: Bool?
    var loss: Double?
    var lossLow: Double?
    var lossHigh: Double?
    var loadedMs: Double?

    init(_ report: DirectionReport?) {
      rate = report?.bandwidth?.bitsPerSecond
      low = report?.bandwidth?.low
      high = report?.bandwidth?.high
      isLimited = report?.bandwidth?.limitedByTest
      isUnsteady = report?.isShared
      loss = report?.loss?.share
      lossLow = report?.loss?.low
      lossHigh = report?.loss?.high
      loadedMs = report?.loadedRoundTrip?.p95Ms
    }
  }

  var seed: UInt64
  var state: String
  var seconds: Double
  var firstGradeSeconds: Double?
  var roundTripMs: Double?
  var bytesSent: Int
  var bytesReceived: Int
  var peakUp: Double
  var peakDown: Double
  var up: Way
  var down: Way
}
