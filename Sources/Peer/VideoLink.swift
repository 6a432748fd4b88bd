import Congestion
package import Primitives
package import Video
package import Wire

/// The video of one call at this end: what is sent, what comes, and when it is left out.
///
/// Decides nothing of the path: `CallLink` asks it for fragments when the gate is open. A class,
/// owned by one `CallLink`, because its parts are large and change in place.
package final class VideoLink {
  private(set) var settings: VideoSettings
  package internal(set) var sender = VideoSender()
  package var assembler = VideoAssembler()
  /// What this side sends, by its own estimate.
  private(set) var publishing: FallbackMachine
  /// What it asks the other side to send, by what comes.
  private(set) var subscribing: FallbackMachine
  /// The user wants it sent.
  var isEnabled: Bool
  /// The other side wants it, and wants the small one.
  private(set) var isWanted = true
  private(set) var isSmallWanted = false
  /// What this side wants of the other.
  package var wish = VideoWish()
  /// The small pictures that the other side offers.
  var remoteSmall: SmallVideo?
  /// What the other side says that it sends.
  package var remote = MediaState.audio {
    didSet { if !remote.contains(.video) { assembler.handlePause() } }
  }
  var hasToldArrival = false
  var nextCheck = Instant.zero
  /// Bytes of a fragment that the path carries.
  var longestFragment = VideoMediaFrame.payloadByteCounts.upperBound
  var nextPadding = Instant.zero
  /// What may be sent beside the pictures.
  var fill = FillBudget()
  /// What this side knows of the way to it.
  var path = ReceivedPath()
  private var test = ReturnTest()
  /// When the first picture was asked for.
  private var firstDemand: Instant?
  private var lastRequest = Instant.zero

  package init(_ settings: VideoSettings) {
    self.settings = settings
    isEnabled = settings.sends
    publishing = FallbackMachine(settings.fallbackLimits)
    subscribing = FallbackMachine(settings.subscribeLimits)
  }

  /// Takes other settings while the call runs; what follows from them for a fallback comes with the
  /// next `update`.
  package func change(_ body: (inout VideoSettings) -> Void) { body(&settings) }

  /// The other side gets the small pictures.
  var isSmallSent: Bool { isSmallWanted && settings.small != nil }

  /// Bit/s of encoded video at the most, of what is sent at the moment.
  var mostBitsPerSecond: Int {
    guard isSmallSent, let small = settings.small else { return settings.mostBitsPerSecond }
    return min(settings.mostBitsPerSecond, Int(clamping: small.bitsPerSecond))
  }

  /// Size and number of the pictures that are sent at the moment.
  func limit(_ demand: inout VideoDemand) {
    demand.box = settings.box
    demand.framesPerSecond = settings.framesPerSecond
    guard isSmallSent, let small = settings.small else { return }
    demand.box = PictureSize(width: Int(small.width), height: Int(small.height)) ?? settings.box
    demand.framesPerSecond = min(
      settings.framesPerSecond ?? .max, max(1, Int(small.framesPerSecond)))
  }

  /// Whether this side asks for the small pictures because the path does not carry the usual ones.
  package var subscribesSmall: Bool { wish.level == .small }

  /// What is to be said of it, once.
  func takeControl() -> [CallControlMessage] {
    var control: [CallControlMessage] = []
    if let wanted = wish.takeWanted() { control.append(.mediaWanted(wanted)) }
    if let small = settings.takeSmallToTell() { control.append(.smallVideo(small)) }
    return control
  }

  /// Whether video goes out, or would if the path carried it.
  func isElastic(now: Instant) -> Bool { isEnabled && (isWanted || test.asked(now: now) != nil) }
  /// Whether pictures go out at the moment.
  package var isPublishing: Bool { isEnabled && isWanted && publishing.mode == .audioAndVideo }

  /// What the other side is to be told of the video.
  package var state: MediaState {
    if isPublishing { return isSmallSent ? [.video, .smallVideo] : .video }
    return isEnabled ? .videoPaused : []
  }

  /// - Parameters:
  ///   - sighting: of the way out; `nil` while nothing is known of it.
  ///   - arrivals: of the way in.
  /// - Returns: a change of what this side sends, and one of what it asks for.
  func update(
    _ sighting: FallbackMachine.Sighting?, _ arrivals: ArrivalCount, now: Instant
  ) -> (publishing: FallbackMachine.Change?, subscribing: FallbackMachine.Change?) {
    path.turn(arrivals, now: now)
    var published: FallbackMachine.Change?
    if !settings.fallsBack {
      published = Self.leave(&publishing, settings.fallbackLimits)
    } else if isEnabled, let sighting {
      published = publishing.update(sighting, now: now)
    }
    if published != nil { sender.discardWaiting() }
    return (published, updateSubscribing(now: now))
  }

  /// The machine is not asked any more: audio alone ends.
  private static func leave(
    _ machine: inout FallbackMachine, _ limits: FallbackLimits
  ) -> FallbackMachine.Change? {
    guard machine.mode == .audioOnly else { return nil }
    machine = FallbackMachine(limits)
    return .recovered(estimate: .infinity, needed: limits.needed, loss: 0)
  }

  private func updateSubscribing(now: Instant) -> FallbackMachine.Change? {
    guard settings.subscribes != .disabled else {
      wish.level = .usual
      return Self.leave(&subscribing, settings.subscribeLimits)
    }
    guard let change = watchReceived(now: now) else {
      let hasRisen = wish.riseIfQuiet(hasSmall: remoteSmall != nil, now: now)
      return hasRisen
        ? .recovered(
          estimate: path.rate, needed: subscribing.limits.needed, loss: path.lossRate ?? 0) : nil
    }
    let mayEnd = settings.subscribes == .audioOnly
    let step = wish.handle(change.mode, hasSmall: remoteSmall != nil, mayEnd: mayEnd, now: now)
    if step == .stays || step == .small, change.mode == .audioOnly {
      subscribing = FallbackMachine(settings.subscribeLimits)
    }
    guard step != .stays else { return nil }
    var told = change
    if step == .small { told.mode = .audioAndVideo }
    return told
  }

  private func watchReceived(now: Instant) -> FallbackMachine.Change? {
    let isTesting = subscribing.mode == .audioOnly
    // While the other side leaves it out by itself there is nothing to ask.
    let isAsking = isTesting || remote.contains(.video)
    let received =
      isAsking ? path.sighting(isTesting: isTesting, now: now) : ReceivedPath.quiet
    var change = subscribing.update(received, now: now)
    change?.estimate = path.rate
    return change
  }

  /// The other side wants video from now on, or does not.
  ///
  /// - Returns: Whether that is new.
  package func handleWanted(_ wanted: MediaState) -> Bool {
    isSmallWanted = wanted.contains(.smallVideo)
    guard isWanted != wanted.contains(.video) else { return false }
    isWanted = wanted.contains(.video)
    sender.discardWaiting()
    return true
  }

  /// What the other side is to be told of the test of the way here: a rate in bit/s, 0 for its end;
  /// `nil` when there is nothing new to say.
  package func pollTest(now: Instant) -> UInt32? {
    test.poll(wish.isRefused ? nil : subscribing.probeRate(now: now), now: now)
  }

  /// The other side asks for a test of the way there.
  package func handleTest(_ bitsPerSecond: UInt32, now: Instant) {
    test.handle(
      min(Double(bitsPerSecond), 2 * Double(mostBitsPerSecond)), now: now)
  }

  /// Whether the other side has asked for a test that has not ended.
  func isTested(now: Instant) -> Bool { isEnabled && test.asked(now: now) != nil }

  /// What resolution and frame rate may follow: in the first seconds no more than what has arrived.
  func supportedRate(_ estimator: borrowing BandwidthEstimator, now: Instant) -> Double {
    firstDemand = firstDemand ?? now
    // An encoder that needs less than it may have would otherwise hold itself down.
    return isBeginning(now: now) ? estimator.supportedRate : estimator.estimate
  }

  /// Whether pictures have been sent for no longer than the estimate needs to be found.
  func isBeginning(now: Instant) -> Bool {
    firstDemand.map { now - $0 < .seconds(2) } ?? false
  }

  /// Whether what pictures leave of the estimate is filled: while it is being found, because they
  /// are small as yet; later a part of it, because an encoder that is behind would otherwise hold
  /// the estimate down with itself. Not where the estimate is beyond all that pictures can use.
  func fillsUp(_ estimator: borrowing BandwidthEstimator, now: Instant) -> Bool {
    guard isPublishing,
      estimator.supportedRate < Double(mostBitsPerSecond) * Self.mostFill
    else { return false }
    switch estimator.state {
    case .starting: return isBeginning(now: now)
    case .growing, .holding, .competing: return fill.isOpen || isBeginning(now: now)
    case .draining, .silent: return false
    }
  }

  /// While video is left out: what may be sent to see whether it fits again, bit/s. Where the other
  /// side has asked to leave it out, that side says when.
  func probeRate(now: Instant) -> Double? {
    guard isEnabled else { return nil }
    return isWanted ? publishing.probeRate(now: now) : test.asked(now: now)
  }

  /// When something of what came is to be given out or asked for; not twice within 5 ms.
  var requestDeadline: Instant? {
    assembler.nextDeadline.map { max($0, lastRequest + .milliseconds(5)) }
  }

  func recordRequest(now: Instant) { lastRequest = now }

  /// Of the most that pictures take: with headers, audio, and a little to see that there is more.
  private static let mostFill = 1.2
}
