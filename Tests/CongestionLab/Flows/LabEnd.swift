package import Congestion
import Messaging
package import Peer
package import Primitives
import SecureSession
import Video
import Wire

/// One end of a call: the session and the media of `Peer`, as `CallLink` holds them, without the
/// signalling and the search for a path.
package final class LabEnd {
  package let association: Association
  package let media = CallMedia(audioToSend: 16, receivedAudio: 64)
  private(set) var audioReceived = 0
  /// Whether audio that has come waits for its engine; without one it is counted and forgotten.
  package var keepsAudio = false
  /// When the world wakes it up next.
  package var wake = UInt64.max
  private var random: RandomSource
  private let drift: Double
  private let origin: UInt64
  private var picture: [UInt8] = []

  /// - Parameters:
  ///   - drift: How much too fast its clock runs, in parts per million.
  ///   - origin: What its clock shows at first, in ns.
  private init(
    _ session: consuming Session, _ video: VideoSettings?, drift: Double, origin: UInt64,
    random: RandomSource
  ) {
    self.drift = drift
    self.origin = origin
    self.random = random
    association = Association(
      session, limits: .peer, pingAfter: 1_000_000_000, now: Instant(nanoseconds: origin))
    if let video { media.video = VideoLink(video) }
    media.open(on: association, hasVideo: video != nil)
    media.mayStart = true
  }

  /// Both ends of one call, whose clocks differ.
  ///
  /// - Parameters:
  ///   - drift: How much too fast the receiver's runs, in parts per million.
  ///   - origins: What the clocks show at first, in ns.
  package static func pair(
    _ video: (sender: VideoSettings, receiver: VideoSettings)?, drift: Double,
    origins: (UInt64, UInt64) = (5_000_000_000, 7_777_777_777), random: inout RandomSource
  ) -> (sender: LabEnd, receiver: LabEnd) {
    let sessions = SessionPair(
      now: (Instant(nanoseconds: origins.0), Instant(nanoseconds: origins.1)), random: &random)
    let caller = LabEnd(
      sessions.caller, video?.sender, drift: 0, origin: origins.0, random: random.split())
    let callee = LabEnd(
      sessions.callee, video?.receiver, drift: drift, origin: origins.1, random: random.split())
    return (caller, callee)
  }

  /// What its clock shows.
  func clock(_ time: UInt64) -> Instant {
    Instant(nanoseconds: UInt64(Double(time) * (1 + drift / 1e6)) + origin)
  }

  /// When it next has something to do, in the world's time.
  package func nextDeadline(after time: UInt64) -> UInt64? {
    var deadline = association.wakeUp()
    deadline = earliest(deadline, media.deadline(on: association))
    return deadline.map { time + $0.nanoseconds(since: clock(time)) }
  }

  /// Changes of what it asks for.
  package func handleTimeout(now: Instant) -> FallbackMachine.Change? {
    association.handleTimeout(now: now)
    takePictures(now: now)
    return media.checkVideo(on: association, now: now).subscribing
  }

  /// The next packet, and its class.
  package func poll(now: Instant) -> (sendClass: SendClass, bytes: [UInt8])? {
    var sendClass: SendClass?
    let bytes = [UInt8](capacity: Datagram.maximumByteCount) { output in
      sendClass = media.writePacket(into: &output, on: association, random: &random, now: now)
    }
    return sendClass.map { ($0, bytes) }
  }

  package func receive(_ bytes: inout [UInt8], isMarked: Bool, now: Instant) {
    let byteCount = bytes.count
    var span = bytes.mutableSpan
    guard let opened = association.open(&span, now: now) else { return }
    media.handlePacket(byteCount: byteCount, now: now)
    let demand = readFrames(bytes.span.extracting(opened.frames), now: now)
    association.didReceive(
      opened, byteCount: byteCount, demand: demand, marks: DatagramMarks(ecn: isMarked ? 3 : 0),
      now: now)
    association.recordProof(now: now)
    takePictures(now: now)
    guard !keepsAudio else { return }
    while media.pollAudio({ _, audio in audio.header.kind == .frame }) != nil { audioReceived += 1 }
  }

  private func readFrames(_ packet: Span<UInt8>, now: Instant) -> FeedbackDemand {
    var demand = FeedbackDemand.none
    var reader = FrameReader(packet)
    do throws(WireError) {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        if media.handle(frame, in: packet, on: association, now: now) == nil {
          _ = association.handle(frame, in: packet, from: Self.source, now: now)
        }
      }
    } catch {
      preconditionFailure("the other end writes frames that can be read: \(error)")
    }
    return demand
  }

  /// As a decoder's thread would at once.
  private func takePictures(now: Instant) {
    while media.video?.assembler.poll(into: &picture, now: now) != nil {}
  }

  private static let source = SocketAddress(v4: 192, 0, 2, 1, port: 1)
}
