package import Primitives
package import Wire

/// What a receiver's reports say of the last ten seconds: how much is lost before anything repairs
/// it, and in what runs.
package struct LossHistory: Sendable {
  /// What one report added.
  package struct Share: Sendable, BitwiseCopyable {
    package var expected = 0
    package var lost = 0
    package var bursts = 0
    package var unrepaired = 0
    fileprivate var time = Instant.zero

    /// An outage of more than 2.5 s counts in no burst. Copies do not help against it, so they do
    /// not answer it.
    fileprivate mutating func removeOutage(longestBurst: UInt8) {
      let most = (bursts + 1) * Int(longestBurst)
      guard longestBurst < .max, lost - most >= LossHistory.leastOutage else { return }
      expected = max(0, expected - (lost - bursts))
      lost = bursts
      unrepaired = min(unrepaired, lost)
    }

    /// 0...1.
    package var fraction: Double { expected <= 0 ? 0 : max(0, Double(lost) / Double(expected)) }
    /// Mean run of losses, in frames; 0 without any.
    package var meanBurst: Double { bursts <= 0 ? 0 : Double(lost) / Double(bursts) }
  }

  private var shares = InlineArray<64, Share>(repeating: Share())
  private var next = 0
  private var count = 0
  private var newest: AudioReportFrame?

  package init() {}

  /// Takes a report; one that is older than the newest changes nothing.
  ///
  /// - Returns: what it added.
  package mutating func appendReport(_ report: AudioReportFrame, now: Instant) -> Share {
    guard let newest else {
      self.newest = report
      var share = Share()
      share.expected = Int(report.framesExpected)
      share.lost = Int(report.framesLost)
      share.bursts = Int(report.lossBursts)
      // A first report that tells of more than twenty seconds is of another stream.
      if share.expected > Self.mostExpected { share = Share() }
      return add(share, now)
    }
    let expected = Int(Int16(bitPattern: report.framesExpected &- newest.framesExpected))
    guard expected >= 0 else { return Share() }
    self.newest = report
    var share = Share()
    share.expected = expected
    // Late packets are taken back from the losses, so the difference may be negative.
    share.lost = Int(Int16(bitPattern: report.framesLost &- newest.framesLost))
    share.bursts = max(0, Int(Int16(bitPattern: report.lossBursts &- newest.lossBursts)))
    share.unrepaired = Int(Int16(bitPattern: report.framesUnrepaired &- newest.framesUnrepaired))
    share.removeOutage(longestBurst: report.longestBurst)
    return add(share, now)
  }

  /// What was before counts no more: how often something is lost has changed.
  package mutating func forget() { count = 0 }

  private mutating func add(_ share: Share, _ now: Instant) -> Share {
    var kept = share
    kept.time = now
    shares[next] = kept
    next = (next + 1) % shares.count
    count = min(count + 1, shares.count)
    return share
  }

  /// The sum over the newest reports that together cover at least `frames` frames, but nothing
  /// older than `nanoseconds`.
  package func recent(frames: Int, within nanoseconds: UInt64, now: Instant) -> Share {
    var sum = Share()
    for age in 1..<(count + 1) {
      let share = shares[(next + shares.count - age) % shares.count]
      guard now.nanoseconds(since: share.time) <= nanoseconds else { break }
      sum.expected += share.expected
      sum.lost += share.lost
      sum.bursts += share.bursts
      sum.unrepaired += share.unrepaired
      if sum.expected >= frames { break }
    }
    sum.lost = max(0, sum.lost)
    return sum
  }

  /// In frames of 60 ms 2.4 s.
  fileprivate static let leastOutage = 40
  /// Twenty seconds of 20 ms frames.
  private static let mostExpected = 1000
}
