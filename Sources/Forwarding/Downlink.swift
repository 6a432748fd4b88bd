import Congestion
import Primitives
import Wire

/// The way to one member that wants pictures: what it carries by the member's reports, which
/// pictures it is for, and what waits for it. A class, because its parts are large and change in
/// place; the member's seat owns it.
final class Downlink {
  private(set) var choice: PictureChoice
  private var history = SentPacketHistory(capacity: 1024)
  private var uplink: Uplink
  private var fresh: ForwardingQueue
  private var repairs: ForwardingQueue
  private var nextCheck: Instant
  /// Bytes of a packet with a fragment on the line, as they are lately.
  private var packetByteCount = 1221.0

  init(limits: ForwardingLimits, now: Instant) {
    var estimator = EstimatorLimits()
    estimator.prior = limits.downlinkPrior
    estimator.most = limits.downlinkMost
    estimator.hasGaps = true
    uplink = Uplink(estimator)
    choice = PictureChoice(now: now)
    fresh = ForwardingQueue(limit: limits.fragments)
    repairs = ForwardingQueue(limit: limits.fragments)
    nextCheck = now
  }

  // MARK: - Inputs

  /// A packet for the member has left.
  func recordSent(
    _ number: UInt32, _ content: ForwardingQueue.Content, byteCount: Int, now: Instant
  ) {
    var isAudio = false
    var isPicture = false
    switch content {
    case .audio: isAudio = true
    case .picture, .pictureAgain: isPicture = true
    case .word, .report, .wants, .askPictures, .nextPicture: break
    }
    history.record(
      SentPacket(
        number: UInt64(number), sent: now, byteCount: byteCount,
        elicitsFeedback: isAudio || isPicture, hasMessages: false))
    uplink.recordSent(byteCount: byteCount, hasMessages: false, now: now)
    if isAudio { uplink.recordAudio(byteCount: byteCount, now: now) }
  }

  func handle(_ feedback: FeedbackFrame, in packet: Span<UInt8>, now: Instant) {
    do throws(WireError) {
      try history.handle(feedback, in: packet, now: now)
    } catch {
      // It tells of what left before pictures were wanted, or of the server's own last packet.
      return
    }
    uplink.handleReport(hasNews: history.hasNews, overdue: history.overdue, now: now)
    settle()
    guard history.hasNews else { return }
    uplink.finishReport(
      roundTrip: history.latestSample, bytesInFlight: history.bytesInFlight, now: now)
  }

  /// Each 100 ms: what the line carries now, and which pictures that is for.
  ///
  /// - Parameter needs: Bit/s of all hosts' pictures up to each temporal layer.
  func check(needs: InlineArray<3, Double>, now: Instant) {
    guard now >= nextCheck else { return }
    nextCheck = now + Uplink.checkInterval
    history.handleTimeout(now: now)
    settle()
    uplink.setElastic(choice.level > 0)
    uplink.check(bytesInFlight: history.bytesInFlight, now: now)
    let isOverloaded = wait > Self.longestWait
    choice.update(available: available, needs: needs, isOverloaded: isOverloaded, now: now)
    let isTooMuch = isOverloaded && !choice.isTrial(now: now)
    if isTooMuch || choice.level == 0 { discardWaiting() }
  }

  private func settle() {
    while let outcome = history.poll() { uplink.handle(outcome) }
  }

  private func discardWaiting() {
    guard fresh.count > 0 || choice.level == 0 else { return }
    while fresh.popFirst() != nil {}
    while repairs.popFirst() != nil {}
    choice.awaitKeyFrames()
  }

  // MARK: - What waits

  /// Whether a fragment of a source is for the member.
  func admits(_ header: VideoMediaFrame, of source: UInt8) -> Bool {
    choice.admits(header, of: source)
  }

  /// - Parameter byteCount: Of the fragment.
  /// - Returns: `false` where there is no room for it.
  func append(_ job: ForwardingQueue.Job, isAgain: Bool, byteCount: Int) -> Bool {
    guard !isAgain else { return repairs.append(job) }
    packetByteCount += (Double(byteCount + Self.overhead) - packetByteCount) / 16
    return fresh.append(job)
  }

  var waitingCount: Int { fresh.count + repairs.count }

  /// Whether the next fragment may leave now.
  func hasDue(now: Instant) -> Bool {
    (repairs.count > 0 && admits(.retransmission, now: now))
      || (fresh.count > 0 && admits(.video, now: now))
  }

  /// The next fragment, if it may leave now.
  func popDue(now: Instant) -> ForwardingQueue.Job? {
    if repairs.count > 0, admits(.retransmission, now: now) { return repairs.popFirst() }
    if fresh.count > 0, admits(.video, now: now) { return fresh.popFirst() }
    return nil
  }

  private func admits(_ sendClass: SendClass, now: Instant) -> Bool {
    uplink.gate.admits(sendClass, bytesInFlight: history.bytesInFlight, now: now)
  }

  /// When the next fragment may leave, if nothing changes.
  func admission(now: Instant) -> Instant {
    uplink.gate.admission(
      of: repairs.count > 0 ? .retransmission : .video, bytesInFlight: history.bytesInFlight,
      now: now + .microseconds(1))
  }

  // MARK: - What it carries

  /// Bit/s that pictures may take.
  var available: Double { max(0, uplink.allowance - uplink.audioRate) * payloadShare }

  /// The same for hosts to go by: a little less, so that the line has room for a step up.
  var availableToHosts: Double { available * Self.hostShare }

  /// How long what waits needs.
  private var wait: Duration {
    let byteCount = Double(fresh.count) * packetByteCount
    return .nanoseconds(Int64(clamping: uplink.gate.duration(Int(byteCount))))
  }

  private var payloadShare: Double { 1 - Double(Self.overhead) / packetByteCount }

  /// IP and UDP 28, DATA 25, VIDEO 10, CHANNEL_PICTURE 2 and now and then CHANNEL_SOURCE.
  private static let overhead = 66
  private static let hostShare = 0.85
  /// Pictures that would be later than that are left out.
  private static let longestWait = Duration.milliseconds(500)
}

/// Which pictures are for one member: of all hosts those up to a temporal layer, or none.
struct PictureChoice {
  /// 0 = none; else temporal layers below it are forwarded.
  private(set) var level = Self.highest
  private var changed: Instant
  private var lastRise: Instant?
  private var patience = Self.firstPatience
  /// Nothing is forwarded before a key frame, but of sources that have begun with one.
  private var waitsForAll = false
  private var begun: UInt64 = 0

  init(now: Instant) { changed = now }

  mutating func update(
    available: Double, needs: InlineArray<3, Double>, isOverloaded: Bool, now: Instant
  ) {
    var fitting = 0
    for layer in 0..<Self.highest where needs[layer] <= available { fitting = layer + 1 }
    // What waits shows what is too much: an estimate that nothing fills shows less than there is.
    if isOverloaded {
      if now >= changed + Self.overloadPause, !isTrial(now: now) { fall(to: level - 1, now: now) }
    } else if fitting >= level, level < Self.highest {
      let hasRoom = needs[level] * Self.spare <= available
      if now >= changed + (hasRoom ? Self.pause : patience) { rise(now: now) }
    }
  }

  private mutating func fall(to lower: Int, now: Instant) {
    if let lastRise {
      // What held for a while was not tried in vain.
      let isRelapse = now < lastRise + Self.relapse
      patience = isRelapse ? min(patience * 2, Self.longestPatience) : Self.firstPatience
    }
    level = max(0, lower)
    changed = now
    lastRise = nil
  }

  /// Whether the line is being tried, from sound alone: an estimate that followed the sound needs a
  /// while to grow, and what waits meanwhile says nothing of the line.
  func isTrial(now: Instant) -> Bool {
    guard level == 1, let lastRise else { return false }
    return now < lastRise + Self.trial
  }

  private mutating func rise(now: Instant) {
    level += 1
    changed = now
    lastRise = now
  }

  /// What waited was left out: only key frames help.
  mutating func awaitKeyFrames() {
    waitsForAll = true
    begun = 0
  }

  /// Whether of some sources nothing is forwarded before their next key frames.
  var lacksKeyFrames: Bool { level > 0 && waitsForAll }

  /// Whether nothing of a source is forwarded before its next key frame.
  func lacksKeyFrame(of source: UInt8) -> Bool {
    lacksKeyFrames && begun & Self.bit(source) == 0
  }

  /// Whether a fragment is for the member.
  mutating func admits(_ header: VideoMediaFrame, of source: UInt8) -> Bool {
    guard Int(header.temporalLayer) < level else { return false }
    guard waitsForAll, begun & Self.bit(source) == 0 else { return true }
    guard header.isKeyFrame else { return false }
    begun |= Self.bit(source)
    return true
  }

  /// Sources are 1..64.
  private static func bit(_ source: UInt8) -> UInt64 { 1 << UInt64((source &- 1) & 63) }

  /// Temporal layers that there may be.
  static let highest = 3
  /// Before a step up.
  private static let pause = Duration.seconds(1)
  /// How much more than needed a line is to carry for that: hosts are told `Downlink.hostShare`.
  private static let spare = 1.1
  /// From one step down to the next: hosts that keep to this line are told what it carries.
  private static let overloadPause = Duration.milliseconds(500)
  private static let trial = Duration.seconds(3)
  private static let relapse = Duration.seconds(10)
  private static let firstPatience = Duration.seconds(6)
  private static let longestPatience = Duration.seconds(60)
}
