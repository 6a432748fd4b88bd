import Congestion
import Primitives
import Wire

/// The way to one member: what it carries by the member's reports, which
/// pictures it is for, and what waits for it. A class, because its parts are large and change in
/// place; the member's seat owns it.
final class Downlink {
  var choice: PictureChoice
  /// For sound alone.
  let isForSound: Bool
  /// Padding is to show whether the line carries more sound.
  private var triesSound = false
  private var history: SentPacketHistory
  private var uplink: Uplink
  private var fresh: ForwardingQueue
  private var repairs: ForwardingQueue
  private var nextCheck: Instant
  /// Hosts showed pictures at the last look.
  private var hasPictures = false
  /// What each of them may take of what the line carries.
  private var hostShare = 1.0
  /// Bytes of a packet with a fragment on the line, as they are lately.
  private var packetByteCount = 1221.0

  init(limits: ForwardingLimits, isForSound: Bool = false, now: Instant) {
    self.isForSound = isForSound
    history = SentPacketHistory(capacity: isForSound ? 512 : 1024)
    var estimator = EstimatorLimits()
    estimator.prior = limits.downlinkPrior
    estimator.most = limits.downlinkMost
    estimator.hasGaps = true
    // Pictures of several hosts come at once: faster than the line they would stand in its queue,
    // and their scatter would look as if the line itself changed.
    estimator.tuning.pacing.usual = Self.pace
    estimator.tuning.pacing.variable = 0
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
    case .padding: isPicture = true
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
  /// - Parameter needs: Of the other hosts' pictures.
  func check(needs: PictureNeeds, now: Instant) {
    guard now >= nextCheck else { return }
    nextCheck = now + Uplink.checkInterval
    history.handleTimeout(now: now)
    settle()
    hasPictures = needs.count > 0
    uplink.setElastic(isElastic)
    uplink.setFilled(isTrying)
    uplink.check(bytesInFlight: history.bytesInFlight, now: now)
    let isOverloaded = wait > Self.longestWait
    choice.update(
      available: available, carried: carried, needs: needs, isOverloaded: isOverloaded, now: now)
    let spared = max(1, available * Self.spared)
    hostShare = needs.share(of: spared) / spared
    if isOverloaded { discardWaiting() }
  }

  /// The same for sound.
  func check(_ sound: inout SoundChoice, speakers: Int, wantsCopies: Bool, now: Instant) {
    // Of sound alone, whatever else goes there.
    uplink.setElastic(false)
    let ceiling = uplink.audioAllowance
    uplink.setElastic(isElastic)
    let line = SoundChoice.Line(
      taken: uplink.audioRate, arriving: uplink.estimator.acknowledgedRate,
      estimate: uplink.allowance,
      isOverloaded: ceiling < uplink.audioRate
        && uplink.estimator.standingDelay > Self.longQueue)
    sound.update(line, speakers: speakers, wantsCopies: wantsCopies, now: now)
    triesSound = sound.isTrying
  }

  private var isElastic: Bool { hasPictures || isTrying }

  private var isTrying: Bool { choice.isTrying || triesSound }

  private func settle() {
    while let outcome = history.poll() { uplink.handle(outcome) }
  }

  private func discardWaiting() {
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

  /// Whether something waits, or is to fill the line.
  var isBusy: Bool { waitingCount > 0 || isTrying }

  /// Whether the next fragment may leave now.
  func hasDue(now: Instant) -> Bool {
    (repairs.count > 0 && admits(.retransmission, now: now))
      || (fresh.count > 0 && admits(.video, now: now)) || mayPad(now: now)
  }

  /// Whether the line has room for padding.
  func mayPad(now: Instant) -> Bool {
    isTrying && waitingCount == 0 && admits(.padding, now: now)
  }

  /// Bytes of padding at once: sound that comes now waits 2.5 ms for it.
  var paddingByteCount: Int {
    min(Self.mostPadding, max(Self.leastPadding, Int(uplink.allowance * 0.0025 / 8)))
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
      of: repairs.count > 0 ? .retransmission : fresh.count > 0 ? .video : .padding,
      bytesInFlight: history.bytesInFlight,
      now: now + .microseconds(1))
  }

  // MARK: - What it carries

  /// Bit/s that pictures may take.
  var available: Double { max(0, uplink.allowance - uplink.audioRate) * payloadShare }

  /// The same where more waits than it carries: what arrives then is what it carries.
  private var carried: Double {
    let rate = max(uplink.allowance, uplink.estimator.acknowledgedRate)
    return max(0, rate - uplink.audioRate) * payloadShare
  }

  /// The same for hosts to go by: a little less, so that the line has room for a step up.
  var availableToHosts: Double { available * Self.spared * hostShare }

  /// How long what waits needs.
  private var wait: Duration {
    let byteCount = Double(fresh.count) * packetByteCount
    return .nanoseconds(Int64(clamping: uplink.gate.duration(Int(byteCount))))
  }

  private var payloadShare: Double { 1 - Double(Self.overhead) / packetByteCount }

  /// IP and UDP 28, DATA 25, VIDEO 10, CHANNEL_PICTURE 2 and now and then CHANNEL_SOURCE.
  private static let overhead = 66
  private static let spared = 0.85
  /// Packets leave at this × estimate (docs/decisions/0143-send-by-a-relay-as-the-line-carries.md).
  private static let pace = 1.0
  /// Pictures that would be later than that are left out.
  private static let longestWait = Duration.milliseconds(500)
  /// µs: what waits for longer was not a moment's jitter.
  private static let longQueue = 80_000.0
  private static let leastPadding = 200
  private static let mostPadding = 1100
}
