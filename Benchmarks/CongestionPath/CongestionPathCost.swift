import AllocationCounter
import Congestion
import Primitives
import Wire

/// Both ends of one direction of a path in simulated time: a sender that always has video and every
/// 20 ms audio, a line of fixed rate and delay, a receiver that reports.
struct CongestionPathCost {
  struct Figures {
    /// CPU a packet, both ends and the line's model.
    var nanoseconds: Double
    var allocations: UInt64
    var packets: Int
    var reports: Int
    /// In the end, in bit/s.
    var estimate: Double
    /// Of what was carried.
    var bits: Double
    var percentPerMegabit: Double {
      let spent = nanoseconds * Double(packets) / 1e9
      return 100 * spent / (bits / 1e6)
    }
  }

  private struct UnderWay {
    var number: UInt64 = 0
    var arrival: UInt64 = 0
    var byteCount = 0
  }

  private let rate: Double
  private var history = SentPacketHistory()
  private var uplink: Uplink
  private var recorder = FeedbackRecorder()
  private var now: UInt64 = 1_000_000_000
  private var nextAudio: UInt64 = 1_000_000_000
  private var nextCheck: UInt64 = 1_000_000_000
  private var number: UInt64 = 0
  private var lineFree: UInt64 = 0
  private var line = [UnderWay](repeating: UnderWay(), count: 4_096)
  private var lineFirst = 0
  private var lineCount = 0
  /// Reports on their way back, each in memory of its own.
  private var reports = (0..<16).map { _ in [UInt8](repeating: 0, count: 1_200) }
  private var reportTimes = [UInt64](repeating: 0, count: 16)
  private var reportFirst = 0
  private var reportCount = 0
  private var reportsRead = 0
  private var carriedBytes = 0

  private static let delay: UInt64 = 25_000_000
  private static let videoByteCount = 1_200
  private static let audioByteCount = 136

  /// The first tenth of the packets warms up.
  static func measure(rate: Double, packets: Int) -> Figures {
    var path = CongestionPathCost(rate)
    let warmUp = UInt64(packets / 10)
    while path.number < warmUp { path.step() }
    let (first, reports, bytes) = (path.number, path.reportsRead, path.carriedBytes)
    let allocations = allocation_total()
    let began = CongestionPathProgram.threadNanoseconds()
    while path.number < first + UInt64(packets) { path.step() }
    let spent = CongestionPathProgram.threadNanoseconds() - began
    let allocated = allocation_total() - allocations
    let count = Int(path.number - first)
    return Figures(
      nanoseconds: Double(spent) / Double(count), allocations: allocated, packets: count,
      reports: path.reportsRead - reports, estimate: path.uplink.estimator.estimate,
      bits: Double(path.carriedBytes - bytes) * 8)
  }

  private init(_ rate: Double) {
    self.rate = rate
    var limits = EstimatorLimits()
    limits.prior = rate
    uplink = Uplink(limits)
  }

  /// A millisecond; what a call's `Association` does with them.
  private mutating func step() {
    now += 1_000_000
    let moment = Instant(nanoseconds: now)
    arrive()
    if recorder.isDue(now: moment) { report(moment) }
    readReports(moment)
    if now >= nextCheck {
      nextCheck = now + 10_000_000
      history.handleTimeout(now: moment)
      while let outcome = history.poll() { uplink.handle(outcome) }
      uplink.check(bytesInFlight: history.bytesInFlight, now: moment)
    }
    if now >= nextAudio {
      nextAudio += 20_000_000
      if send(Self.audioByteCount, moment) {
        uplink.recordAudio(byteCount: Self.audioByteCount, now: moment)
      }
    }
    // Its queue has no end, the memory for it has one.
    while lineCount < line.count,
      uplink.gate.admits(.video, bytesInFlight: history.bytesInFlight, now: moment)
    {
      _ = send(Self.videoByteCount, moment)
    }
  }

  private mutating func send(_ byteCount: Int, _ moment: Instant) -> Bool {
    guard lineCount < line.count else { return false }
    uplink.recordSent(byteCount: byteCount, hasMessages: false, now: moment)
    history.record(
      SentPacket(
        number: number, sent: moment, byteCount: byteCount, elicitsFeedback: true,
        hasMessages: false))
    lineFree = max(lineFree, now) + UInt64(Double(byteCount + 28) * 8e9 / rate)
    line[(lineFirst + lineCount) % line.count] = UnderWay(
      number: number, arrival: lineFree + Self.delay, byteCount: byteCount + 28)
    lineCount += 1
    number += 1
    return true
  }

  private mutating func arrive() {
    while lineCount > 0, line[lineFirst].arrival <= now {
      let packet = line[lineFirst]
      lineFirst = (lineFirst + 1) % line.count
      lineCount -= 1
      carriedBytes += packet.byteCount
      recorder.record(
        packet.number, at: Instant(nanoseconds: packet.arrival), isCongestionExperienced: false,
        demand: .interval, byteCount: packet.byteCount)
    }
  }

  private mutating func report(_ moment: Instant) {
    guard reportCount < reports.count else { return }
    let place = (reportFirst + reportCount) % reports.count
    var bytes: [UInt8] = []
    swap(&bytes, &reports[place])
    bytes.removeAll(keepingCapacity: true)
    bytes.append(addingCapacity: 1_100) { output in
      _ = recorder.writeReport(into: &output, room: 1_000, now: moment)
    }
    swap(&bytes, &reports[place])
    reportTimes[place] = now + Self.delay
    reportCount += 1
  }

  private mutating func readReports(_ moment: Instant) {
    while reportCount > 0, reportTimes[reportFirst] <= now {
      let bytes = reports[reportFirst]
      reportFirst = (reportFirst + 1) % reports.count
      reportCount -= 1
      var reader = FrameReader(bytes.span)
      guard case .feedback(let feedback)? = try? reader.next(),
        (try? history.handle(feedback, in: bytes.span, now: moment)) != nil
      else { continue }
      reportsRead += 1
      uplink.handleReport(hasNews: history.hasNews, overdue: history.overdue, now: moment)
      while let outcome = history.poll() { uplink.handle(outcome) }
      guard history.hasNews else { continue }
      uplink.finishReport(
        roundTrip: history.latestSample, bytesInFlight: history.bytesInFlight, now: moment)
      recorder.leastInterval = uplink.reportInterval
    }
  }
}
