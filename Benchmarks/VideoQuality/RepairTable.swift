import Peer
import Primitives
import Simulation
import Video
import Wire

/// What parity is worth where asking again takes long: calls of whole machines in simulated time,
/// on a line of 2 Mbit/s each way, with and without it. Frames are made-up bytes of the size that
/// the machine asks for, in two temporal layers, 30 a second.
enum RepairTable {
  struct Line {
    var name: String
    var roundTrip: Duration
    var loss: LinkConditions.Loss
  }

  static let lines: [Line] = {
    let random = [0, 1, 2, 5, 10].flatMap { percent in
      [50, 150, 300].map { trip in
        Line(
          name: "\(trip) ms, \(percent) %", roundTrip: .milliseconds(trip),
          loss: percent > 0 ? .random(Double(percent) / 100) : .none)
      }
    }
    let bursts = [(3, 3.0), (5, 4.0)].map { percent, length in
      Line(
        name: "300 ms, \(percent) % in runs of \(Int(length))", roundTrip: .milliseconds(300),
        loss: .bursts(.bursts(losing: Double(percent) / 100, ofLength: length)))
    }
    return random + bursts
  }()

  static func table(seconds: Int, seeds: Int) -> String {
    var text = """
      | round trip, loss | parity | of the fragments' bytes % | video kbit/s | frames decoded % | \
      put together by parity % | wait p50 ms | p95 ms | p99 ms | longer than 200 ms % | \
      freezes a minute | frozen % |
      | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |

      """
    for line in lines {
      for isProtected in [false, true] {
        var result = Result()
        for seed in 0..<UInt64(max(1, seeds)) {
          result.add(line, isProtected, seed: seed + 1, seconds: seconds)
        }
        text += "| \(line.name) | \(isProtected ? "yes" : "no") | \(result.cells) |\n"
      }
    }
    return text
  }

  /// Of some calls.
  struct Result {
    private var waits: [Double] = []
    private var sent = 0
    private var recovered = 0
    private var payload = 0
    private var bytes = 0
    private var parity = 0
    private var seconds = 0.0
    private var freezeCount = 0
    private var frozen = 0.0

    mutating func add(_ line: Line, _ isProtected: Bool, seed: UInt64, seconds: Int) {
      var settings = VideoSettings()
      settings.protects = isProtected
      let call = SimulatedTalk(seed: seed, roundTrip: line.roundTrip, settings) { conditions in
        conditions.rate = LinkConditions.Rate(2_000_000, queue: .time(.milliseconds(300)))
        conditions.loss = line.loss
      }
      guard let talk = call else { return }
      // The estimator's begin is not what is asked about.
      talk.run(.seconds(10))
      let from = talk.now
      let before = talk.alice.statistics?.video
      let recoveredBefore = talk.bob.statistics?.video?.received.framesRecovered ?? 0
      talk.run(.seconds(seconds))
      let to = talk.now
      // What is under way arrives.
      talk.run(.seconds(3))
      let after = talk.alice.statistics?.video
      recovered += (talk.bob.statistics?.video?.received.framesRecovered ?? 0) - recoveredBefore
      if let before, let after {
        parity += after.sent.fecBytesSent - before.sent.fecBytesSent
        bytes += after.sent.bytesSent - before.sent.bytesSent
        bytes += after.sent.retransmittedBytesSent - before.sent.retransmittedBytesSent
      }
      self.seconds += Double(seconds)
      count(talk, from: from, to: to)
    }

    private mutating func count(_ talk: SimulatedTalk, from: Instant, to: Instant) {
      var shown: [UInt32: Instant] = [:]
      var freezes = FreezeMeter()
      for entry in talk.bob.framesReceived {
        shown[entry.frame.mediaTime] = entry.at
        guard entry.at >= from, entry.at < to else { continue }
        payload += entry.frame.byteCount
        freezes.handlePicture(now: entry.at)
      }
      freezeCount += freezes.freezeCount
      frozen += Double(freezes.totalFreezesDuration.milliseconds) / 1000
      for frame in talk.alice.framesSent where frame.at >= from && frame.at < to {
        sent += 1
        guard let at = shown[frame.mediaTime] else { continue }
        waits.append(Double((at - frame.at).nanoseconds) / 1e6 - talk.leastWait)
      }
    }

    var cells: String {
      let sorted = waits.sorted()
      let percentile = { (share: Double) -> Double in
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
      }
      let all = Double(max(1, sent))
      let late = Double(sorted.filter { $0 > 200 }.count)
      return [
        100 * Double(parity) / Double(max(1, parity + bytes)), Double(payload) * 8 / seconds / 1000,
        100 * Double(sorted.count) / all, 100 * Double(recovered) / all, percentile(0.5),
        percentile(0.95), percentile(0.99), 100 * late / Double(max(1, sorted.count)),
        Double(freezeCount) * 60 / seconds, 100 * frozen / seconds,
      ].map(VideoQualityProgram.text).joined(separator: " | ")
    }
  }
}
