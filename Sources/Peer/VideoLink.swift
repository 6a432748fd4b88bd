import Congestion
import Primitives
import Video
import Wire

/// The video of one call at this end: what is sent, what comes, and when it is left out.
///
/// Decides nothing of the path: `CallLink` asks it for fragments when the gate is open. A class,
/// owned by one `CallLink`, because its parts are large and change in place.
final class VideoLink {
  let settings: VideoSettings
  var sender = VideoSender()
  var assembler = VideoAssembler()
  /// What this side sends, by its own estimate.
  private(set) var publishing: FallbackMachine
  /// What it asks the other side to send, by what comes.
  private(set) var subscribing: FallbackMachine
  /// The user wants it sent.
  var isEnabled: Bool
  /// The other side wants it.
  var isWanted = true
  /// This side's user does not want the other's.
  var isRefused = false
  /// What the other side says that it sends.
  var remote = MediaState.audio {
    didSet { if !remote.contains(.video) { assembler.handlePause() } }
  }
  var hasToldArrival = false
  var nextCheck = Instant.zero
  var nextPadding = Instant.zero
  /// What may be sent beside the pictures.
  var fill = FillBudget()
  private(set) var arrivals = ArrivalCount()
  /// When the first picture was asked for.
  private var firstDemand: Instant?
  private var lastRequest = Instant.zero

  init(_ settings: VideoSettings) {
    self.settings = settings
    isEnabled = settings.sends
    publishing = FallbackMachine(settings.fallbackLimits)
    var limits = settings.fallbackLimits
    // The sender sees most of it sooner.
    limits.lossTime = .seconds(4)
    subscribing = FallbackMachine(limits)
  }

  /// Whether pictures go out at the moment.
  var isPublishing: Bool { isEnabled && isWanted && publishing.mode == .audioAndVideo }

  /// What the other side is to be told of the video.
  var state: MediaState {
    if isPublishing { return .video }
    return isEnabled ? .videoPaused : []
  }

  /// - Returns: a change of what this side sends, and one of what it asks for.
  func update(
    _ sighting: FallbackMachine.Sighting, now: Instant
  ) -> (publishing: FallbackMachine.Change?, subscribing: FallbackMachine.Change?) {
    arrivals.turn(now: now)
    guard settings.fallsBack else { return (nil, nil) }
    var published: FallbackMachine.Change?
    if isEnabled { published = publishing.update(sighting, now: now) }
    if published != nil { sender.discardWaiting() }
    // While the other side leaves it out by itself there is nothing to ask.
    let isAsking = subscribing.mode == .audioOnly || remote.contains(.video)
    guard isAsking, let loss = arrivals.lossRate else { return (published, nil) }
    let received = FallbackMachine.Sighting(
      estimate: .infinity, loss: loss, queueDelay: 0, isHeard: true, proven: .infinity)
    return (published, subscribing.update(received, now: now))
  }

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
      estimator.supportedRate < Double(settings.mostBitsPerSecond) * Self.mostFill
    else { return false }
    switch estimator.state {
    case .starting: return isBeginning(now: now)
    case .growing, .holding, .competing: return fill.isOpen || isBeginning(now: now)
    case .draining, .silent: return false
    }
  }

  func noteArrival(_ number: UInt64) { arrivals.note(number) }

  /// While video is left out: what may be sent to see whether it fits again, bit/s.
  func probeRate(now: Instant) -> Double? {
    isEnabled && isWanted ? publishing.probeRate(now: now) : nil
  }

  /// When something of what came is to be given out or asked for; not twice within 5 ms.
  var requestDeadline: Instant? {
    assembler.nextDeadline.map { max($0, lastRequest + .milliseconds(5)) }
  }

  func noteRequest(now: Instant) { lastRequest = now }

  /// Of the most that pictures take: with headers, audio, and a little to see that there is more.
  private static let mostFill = 1.2
}

/// How many of the other side's packets came, by their numbers, in the last second.
struct ArrivalCount: Sendable {
  /// Share that did not come, 0...1; `nil` before the first second is over.
  private(set) var lossRate: Double?
  private var received = 0
  private var first: UInt64?
  private var newest: UInt64 = 0
  private var began: Instant?

  mutating func note(_ number: UInt64) {
    received += 1
    if first == nil { first = number }
    newest = max(newest, number)
  }

  mutating func turn(now: Instant) {
    guard let began else {
      self.began = now
      return
    }
    guard now - began >= .seconds(1) else { return }
    defer {
      self.began = now
      received = 0
      first = nil
    }
    // Numbers of two epochs say nothing about each other.
    guard let first, newest >= first, newest >> 32 == first >> 32, received >= 10 else { return }
    let expected = Double(newest - first) + 1
    lossRate = max(0, 1 - Double(received) / expected)
  }
}
