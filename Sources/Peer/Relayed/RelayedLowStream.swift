import Congestion
import Primitives
import SecureSession
import Video
import Wire

/// The own low stream on its way to a relay: made only while the relay says that somebody is to
/// have it (docs/protocol/relay.md §3).
struct RelayedLowStream {
  /// What its pictures are; `nil` = there is none.
  private let small: SmallVideo?
  private var sender: VideoSender?
  /// Somebody is to have it.
  private var isMade = false
  private var wantedUntil = Instant.zero
  /// What the relay was told that it takes.
  private var offered: UInt32 = 0

  init(_ small: SmallVideo?) { self.small = small }

  // MARK: - Inputs

  mutating func handleWanted(_ bitsPerSecond: UInt32, now: Instant) {
    wantedUntil = bitsPerSecond == 0 || small == nil ? now : now + Self.wishLife
    if now >= wantedUntil { stop() }
  }

  /// Nobody is to have it. When it begins again its numbers go on, with a key frame: those of
  /// before are known to the relay, and to who had it.
  private mutating func stop() {
    guard isMade else { return }
    isMade = false
    sender?.discardWaiting()
  }

  mutating func handle(
    _ request: VideoNackFrame, in packet: Span<UInt8>, roundTrip: Duration, now: Instant
  ) {
    guard isMade else { return }
    sender?.handle(request, in: packet, roundTrip: roundTrip, now: now)
  }

  mutating func handleTimeout(now: Instant) { if now >= wantedUntil { stop() } }

  /// Queues a sealed picture.
  mutating func send(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, now: Instant
  ) -> Bool {
    guard isMade else { return false }
    return sender?.handle(frame, bytes: &bytes, mediaTime: mediaTime, now: now) != nil
  }

  // MARK: - Outputs

  /// Bit/s that it would take; 0 where the way to the relay has no room for both.
  mutating func offer(_ uplink: Uplink?) -> UInt32 {
    guard let small, let uplink else { return 0 }
    let room = uplink.allowance - uplink.audioRate
    let times = offered > 0 ? Self.timesToStay : Self.timesToBegin
    offered = room >= Double(small.bitsPerSecond) * times ? small.bitsPerSecond : 0
    return offered
  }

  /// Bit/s on the line that it takes at present.
  func taken(now: Instant) -> Double {
    now < wantedUntil ? Double(small?.bitsPerSecond ?? 0) * Self.lineShare : 0
  }

  /// What is asked of its next picture; `nil` while nobody is to have it. Of no bits: this one is
  /// left out, and the next refers to the one before.
  mutating func demand(_ uplink: Uplink?, now: Instant) -> VideoDemand? {
    guard let small, now < wantedUntil, let uplink else { return nil }
    isMade = true
    if sender == nil {
      sender = VideoSender(stream: 1)
      sender?.mostFragmentByteCount = Self.fragmentByteCount
      // It begins with a key frame.
      sender?.discardWaiting()
    }
    let queued = sender?.queuedByteCount ?? 0
    guard uplink.gate.duration(queued) < Self.longestQueue else {
      return VideoDemand(bitsPerSecond: 0, needsKeyFrame: false)
    }
    var demand = VideoDemand(
      bitsPerSecond: Int(clamping: small.bitsPerSecond),
      needsKeyFrame: sender?.pollKeyFrame(now: now) ?? false)
    demand.box = PictureSize(width: Int(small.width), height: Int(small.height))
    demand.framesPerSecond = max(1, Int(small.framesPerSecond))
    return demand
  }

  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    guard isMade, association.maySendMedia(now: now) else { return false }
    if sender?.hasRetransmission == true, association.admits(.retransmission, now: now) {
      Session.beginPacket(&packet)
      if sender?.pollRetransmission(into: &packet, now: now) == true {
        return association.seal(&packet, elicits: true, hasMessages: false, now: now)
      }
      packet.removeAll()
    }
    if sender?.hasFragment == true, association.admits(.video, now: now) {
      Session.beginPacket(&packet)
      if sender?.pollFragment(into: &packet, now: now) == true {
        return association.seal(&packet, elicits: true, hasMessages: false, now: now)
      }
      packet.removeAll()
    }
    return false
  }

  func deadline(on association: Association) -> Instant? {
    guard isMade, let sender else { return nil }
    var deadline: Instant? = wantedUntil
    if sender.hasRetransmission {
      deadline = earliest(deadline, association.admission(of: .retransmission))
    }
    if sender.hasFragment { deadline = earliest(deadline, association.admission(of: .video)) }
    return deadline
  }

  /// How long a word of the relay holds; it comes each 2 s.
  private static let wishLife = Duration.seconds(10)
  /// Guesses: what the way is to carry in low streams before one is offered, and while it is.
  private static let timesToBegin = 3.0
  private static let timesToStay = 2.0
  /// With headers: 63 bytes for each 400.
  private static let lineShare = 1.16
  /// On a line of 150 kbit/s sound waits 25 ms for it.
  private static let fragmentByteCount = 400
  /// Nanoseconds: two pictures at 15 a second.
  private static let longestQueue: UInt64 = 133_000_000
}
