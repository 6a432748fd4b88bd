internal import Audio

/// What makes delays of the last 2 s of those of the whole call: the histograms as they were when
/// numbers were told before.
struct RecentDelays: Sendable {
  /// Of the frames given out so far.
  private struct Mark: Sendable {
    /// Since the call's zero point, in milliseconds.
    var atMs: Int
    var waits: DelayHistogram
    var onPath: DelayHistogram
    var aboveBase: DelayHistogram

    init(atMs: Int, _ playout: PlayoutStatistics) {
      self.atMs = atMs
      waits = playout.delays
      onPath = playout.playoutDelays
      aboveBase = playout.delaysAboveBase
    }

    func since(_ earlier: Mark) -> Mark {
      var difference = self
      difference.atMs -= earlier.atMs
      difference.waits = waits.since(earlier.waits)
      difference.onPath = onPath.since(earlier.onPath)
      difference.aboveBase = aboveBase.since(earlier.aboveBase)
      return difference
    }
  }

  private var older: Mark?
  private var newer: Mark?

  /// Numbers are told: their delays are those since the ones told before.
  mutating func handleTold(_ numbers: inout CallStatistics, _ sound: AudioNumbers) {
    Self.fill(&numbers, sound, since: newer)
    (older, newer) = (newer, Mark(atMs: numbers.atMs, sound.playout))
  }

  /// Numbers are asked for in between: their delays are of one to three seconds.
  func fill(_ numbers: inout CallStatistics, _ sound: AudioNumbers) {
    let isLongAgo = newer.map { numbers.atMs - $0.atMs >= Self.shortestMs } ?? true
    Self.fill(&numbers, sound, since: isLongAgo ? newer : older)
  }

  private static func fill(
    _ numbers: inout CallStatistics, _ sound: AudioNumbers, since mark: Mark?
  ) {
    let now = Mark(atMs: numbers.atMs, sound.playout)
    let lately = mark.map(now.since) ?? now
    guard let wait = milliseconds(lately.waits), let onPath = milliseconds(lately.onPath),
      let delay = milliseconds(lately.aboveBase)
    else {
      numbers.audio?.agora.forgetDelay()
      return
    }
    var recent = AudioDetails.RecentDelay(durationMs: lately.atMs, jitterBufferDelayMs: wait)
    if let least = numbers.rttMs.map({ $0.min ?? $0.p50 }) {
      let fixed = sound.packetisationMilliseconds + least / 2
      recent.mouthToEarMs = CallStatistics.Milliseconds(
        p50: fixed + delay.p50, p95: fixed + delay.p95)
      let queue = max(0, delay.p50 - onPath.p50)
      numbers.audio?.agora.setDelay(
        network: least / 2 + queue, jitterBuffer: delay.p50 - queue)
    }
    numbers.audio?.recentDelay = recent
  }

  private static func milliseconds(_ delays: DelayHistogram) -> CallStatistics.Milliseconds? {
    guard let p50 = delays.quantile(0.5), let p95 = delays.quantile(0.95) else { return nil }
    return CallStatistics.Milliseconds(p50: p50, p95: p95)
  }

  /// In milliseconds: what is of less says little.
  private static let shortestMs = 1000
}

/// What was known of a call, or of a host by a relay, when its numbers were told last.
struct ToldNumbers: Sendable {
  private var totals: CallStatistics.Totals?
  /// Of the sound, as they were then.
  private(set) var delays = RecentDelays()

  /// Gives the numbers that are told now their rates since those before, and the delays of `sound`.
  mutating func fillInterval(_ numbers: inout CallStatistics, _ sound: AudioNumbers?) {
    if let sound { delays.handleTold(&numbers, sound) }
    let totals = numbers.totals
    numbers.interval = self.totals.flatMap { CallStatistics.Interval(from: $0, to: totals) }
    self.totals = totals
  }
}

extension RemoteAudioStats {
  /// Both in milliseconds.
  fileprivate mutating func setDelay(network: Double, jitterBuffer: Double) {
    networkTransportDelay = network
    delay.network = network
    delay.jitterBuffer = jitterBuffer
    e2eDelay = delay.packetisation + network + jitterBuffer
  }

  /// Nothing was given out that had one.
  fileprivate mutating func forgetDelay() {
    e2eDelay = 0
    delay.jitterBuffer = 0
  }
}
