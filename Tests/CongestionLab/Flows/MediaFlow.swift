package import Congestion
import Peer
import Primitives
import Video
import Wire

/// Audio and video from one end to the other: two ends of a call as they ship, an encoder that
/// follows what is asked of it, and a link between them.
package final class MediaFlow {
  let index: Int
  let spec: FlowSpec
  package let start: UInt64
  var keepsSeries = false
  package private(set) var series: [SeriesPoint] = []
  package private(set) var tally = MediaTally()
  let sender: LabEnd
  private let receiver: LabEnd
  private var source: VideoSource
  private var pattern = TemporalPattern(layerCount: 1)
  private var controls: [Control] = []
  /// What the receiver knows that is sent.
  private var toldState: MediaState?
  private var mode = FallbackMachine.Mode.audioAndVideo
  private var picture: [UInt8] = []

  init(_ index: Int, _ spec: FlowSpec, start: UInt64, random: inout RandomSource) {
    self.index = index
    self.spec = spec
    self.start = start
    (sender, receiver) = LabEnd.pair(
      spec.videoSettings, drift: spec.partsPerMillion, random: &random)
    sender.media.uplinkWeight = spec.weight
    sender.association.uplink?.weight = spec.weight
    source = VideoSource(
      random: random.split(), hasSmallPictures: spec.hasSmallPictures)
  }

  func handle(_ event: LabEvent, in world: LabWorld) {
    switch event.kind {
    case .begin:
      world.schedule(.audio, flow: index, at: world.now)
      if spec.hasVideo { world.schedule(.frame, flow: index, at: world.now) }
      if spec.sharesUplink { world.uplink.add(sender) }
      world.schedule(.senderTimer, flow: index, at: world.now)
    case .frame: makeFrame(in: world)
    case .audio: makeAudio(in: world)
    case .senderWake: wake(sender, event, in: world)
    case .receiverWake: wake(receiver, event, in: world)
    case .control: deliverControl(in: world)
    case .senderTimer: checkTimer(in: world)
    case .hop, .retransmission: break
    }
  }

  func finish() {
    tally.audioReceived = receiver.audioReceived
    tally.videoBytesAfter = videoBytesReceived - tally.videoBytesBefore
    tally.audioLost += Int(sender.media.counters.packetsHeldBack)
    tally.reserve = sender.association.uplink?.estimator.estimate ?? 0
  }

  /// Of pictures, each part once, without headers.
  private var videoBytesReceived: Int {
    receiver.media.video?.assembler.statistics.bytesReceived ?? 0
  }

  func noteAudioLost() { tally.audioLost += 1 }
  func noteOutage(_ byteCount: Int) { tally.outageBytes += byteCount }

  // MARK: Media

  private func isPaused(_ time: UInt64) -> Bool {
    let seconds = Double(time) / 1e9
    if seconds >= spec.stop { return true }
    return spec.pauses.contains { $0.0 <= seconds && seconds < $0.1 }
  }

  private func makeAudio(in world: LabWorld) {
    world.schedule(.audio, flow: index, at: world.now + Self.audioInterval)
    guard !isPaused(world.now) else { return }
    tally.audioSent += 1
    let byteCount = Int(spec.audioRate * Double(Self.audioInterval) / 8e9)
    let payload = [UInt8](repeating: 7, count: byteCount)
    let frame = AudioMediaFrame(
      length: .milliseconds20, isMarked: false,
      mediaTime: UInt16(truncatingIfNeeded: world.now / 10_000_000))
    _ = sender.media.queueAudio(payload.span, frame, now: sender.clock(world.now))
    drain(sender, in: world)
  }

  private func makeFrame(in world: LabWorld) {
    world.schedule(.frame, flow: index, at: world.now + VideoSource.interval)
    guard !isPaused(world.now), sender.media.video?.isPublishing == true else { return }
    let now = sender.clock(world.now)
    guard let demand = sender.media.videoDemand(on: sender.association, now: now) else {
      tally.framesSkipped += 1
      return
    }
    let isKey = source.isFirst || demand.needsKeyFrame
    let byteCount = source.nextFrame(rate: Double(demand.bitsPerSecond), isKey: isKey)
    picture = [UInt8](repeating: 9, count: byteCount)
    let place = pattern.place(isKeyFrame: isKey)
    guard let size = Self.size else { return }
    let frame = EncodedFrame(
      isKeyFrame: isKey, size: size, place: place, quantizer: 30, byteCount: byteCount)
    let number = sender.media.sendVideo(
      frame, bytes: &picture, mediaTime: UInt32(truncatingIfNeeded: world.now * 256 / 10_000_000),
      on: sender.association, now: now)
    if number != nil { pattern.advance(past: place) }
    tally.frames += 1
    drain(sender, in: world)
  }

  // MARK: Ends

  private func wake(_ end: LabEnd, _ event: LabEvent, in world: LabWorld) {
    guard event.time == end.wake else { return }
    end.wake = .max
    let change = end.handleTimeout(now: end.clock(world.now))
    if end === receiver {
      if let change { tell(.wanted(change.mode == .audioAndVideo), in: world) }
      if let rate = receiver.media.video?.pollTest(now: receiver.clock(world.now)) {
        tell(.test(rate), in: world)
      }
    }
    drain(end, in: world)
  }

  /// A packet is at its end: media at the receiver, a report at the sender.
  func receive(_ packet: inout LabPacket, in world: LabWorld) {
    let end = packet.isReverse ? sender : receiver
    if !packet.isReverse {
      tally.receivedBytes[Int(packet.content.rawValue)] += packet.byteCount
    }
    end.receive(&packet.bytes, isMarked: packet.isMarked, now: end.clock(world.now))
    drain(end, in: world)
  }

  private func drain(_ end: LabEnd, in world: LabWorld) {
    let now = end.clock(world.now)
    while let (sendClass, bytes) = end.poll(now: now) {
      var packet = LabPacket()
      packet.flow = Int32(index)
      packet.isReverse = end === receiver
      packet.content = packet.isReverse ? .report : Self.content(of: sendClass)
      packet.isECT = spec.isECT && !packet.isReverse
      packet.byteCount = bytes.count + 28
      packet.bytes = bytes
      packet.sent = world.now
      if packet.isReverse {
        tally.reportBytes += packet.byteCount
      } else {
        tally.sentBytes[Int(sendClass.rawValue)] += packet.byteCount
      }
      world.send(packet)
    }
    noteMode(in: world)
    guard let deadline = end.nextDeadline(after: world.now), deadline < end.wake else { return }
    end.wake = max(deadline, world.now + 10_000)
    world.schedule(end === sender ? .senderWake : .receiverWake, flow: index, at: end.wake)
  }

  private static func content(of sendClass: SendClass) -> LabPacket.Content {
    switch sendClass {
    case .audio: .audio
    case .feedback, .message: .report
    case .retransmission, .video: .video
    case .bulk, .padding: .padding
    }
  }

  // MARK: Messages of the call

  /// What the ends of a call tell each other by messages; here 100 ms later.
  private enum Control {
    /// To the sender: the other side wants video; it asks for a test of so many bit/s.
    case wanted(Bool), test(UInt32)
    /// To the receiver: what is sent.
    case state(MediaState)
  }

  private func tell(_ control: Control, in world: LabWorld) {
    controls.append(control)
    world.schedule(.control, flow: index, at: world.now + 100_000_000)
  }

  private func deliverControl(in world: LabWorld) {
    guard !controls.isEmpty else { return }
    switch controls.removeFirst() {
    case .wanted(let isWanted):
      _ = sender.media.video?.handleWanted(isWanted ? [.audio, .video] : .audio)
    case .test(let rate):
      sender.media.video?.handleTest(rate, now: sender.clock(world.now))
    case .state(let state): receiver.media.video?.remote = state
    }
    drain(sender, in: world)
    drain(receiver, in: world)
  }

  private func noteMode(in world: LabWorld) {
    guard let video = sender.media.video else { return }
    if video.state != toldState {
      toldState = video.state
      tell(.state(video.state.union(.audio)), in: world)
    }
    let mode: FallbackMachine.Mode = video.isPublishing ? .audioAndVideo : .audioOnly
    guard mode != self.mode else { return }
    self.mode = mode
    if mode == .audioAndVideo { source.restart() }
    tally.changes.append((Double(world.now) / 1e9, ModeChange(mode: mode)))
  }

  // MARK: Series

  private func checkTimer(in world: LabWorld) {
    world.schedule(.senderTimer, flow: index, at: world.now + 10_000_000)
    if world.now < start + LinkFigures.settling { tally.videoBytesBefore = videoBytesReceived }
    if spec.sharesUplink { world.uplink.divide(at: world.now) }
    drain(sender, in: world)
    guard keepsSeries, let uplink = sender.association.uplink else { return }
    let video = sender.media.video
    series.append(
      SeriesPoint(
        time: world.now, estimate: uplink.estimator.estimate,
        acknowledged: uplink.estimator.acknowledgedRate, delay: uplink.estimator.standingDelay,
        state: "\(uplink.estimator.state)", reason: "\(uplink.estimator.reason)",
        inFlight: sender.association.history.bytesInFlight,
        limit: uplink.estimator.inFlightLimit,
        waiting: Double(uplink.gate.duration(video?.sender.queuedByteCount ?? 0)) / 1e6))
  }

  private static let audioInterval: UInt64 = 20_000_000
  private static let size = PictureSize(width: 640, height: 480)
}

/// What goes out from now on.
package struct ModeChange: Sendable {
  package var mode: FallbackMachine.Mode
}

/// One line of a plot.
package struct SeriesPoint: Sendable {
  package var time: UInt64
  package var estimate: Double
  package var acknowledged: Double
  package var delay: Double
  package var state: String
  package var reason: String
  package var inFlight: Int
  package var limit: Int
  package var waiting: Double
}

/// What a flow counted.
package struct MediaTally: Sendable {
  package var audioSent = 0
  package var audioReceived = 0
  package var audioLost = 0
  /// Of pictures, each part once, without headers: until the flow is settled, and from then on.
  package var videoBytesBefore = 0
  package var videoBytesAfter = 0
  package var frames = 0
  package var framesSkipped = 0
  package var sentBytes = Array(repeating: 0, count: SendClass.allCases.count)
  package var receivedBytes = Array(repeating: 0, count: SendClass.allCases.count)
  /// All that the receiver sends: reports, and what asks for pictures again.
  package var reportBytes = 0
  /// What was offered to a link that passed nothing.
  package var outageBytes = 0
  /// Falls back and returns: when, and to what.
  package var changes: [(Double, ModeChange)] = []
  package var reserve = 0.0
}
