import Congestion
import Peer
import Primitives
import Simulation
import Video
import Wire

/// One end's media as a program would bring it: an audio frame each 20 ms, a picture each 33 ms in
/// as many bytes as the machine asks for. What the bytes are does not matter to those who carry
/// them.
final class VideoEnd {
  let peer: SimulatedPeer
  private(set) var audioReceived = 0
  private(set) var audioSent = 0
  private(set) var framesReceived: [(at: Instant, frame: AssembledFrame)] = []
  private(set) var changes: [(at: Instant, isPublishing: Bool, change: FallbackMachine.Change)] = []
  private(set) var remoteStates: [(at: Instant, state: MediaState)] = []
  /// What the encoder was asked for, bit/s; 0 for no picture.
  private(set) var demands: [(at: Instant, bitsPerSecond: Int)] = []
  private var mediaTime: UInt16 = 0
  private var untilPicture = 0
  private var pattern: Int = 0
  private var bytes: [UInt8] = []
  private let call: CallID
  private let world: CallWorld

  init(_ peer: SimulatedPeer, _ call: CallID, in world: CallWorld) {
    self.peer = peer
    self.call = call
    self.world = world
    peer.host.observe = { [unowned self] event, _ in observe(event) }
  }

  private func observe(_ event: PeerEvent) {
    switch event {
    case .link(_, .publishFallback(let change)): changes.append((world.now, true, change))
    case .link(_, .subscribeFallback(let change)): changes.append((world.now, false, change))
    case .calling(.remoteMediaChanged(_, let state)): remoteStates.append((world.now, state))
    default: break
    }
  }

  /// Twenty milliseconds.
  func tick() {
    peer.host.command(now: world.now) { machine, now in
      takeArrivals(&machine, now)
      sendAudio(&machine, now)
      untilPicture -= 20
      if untilPicture <= 0 {
        untilPicture += 33
        sendPicture(&machine, now)
      }
    }
  }

  private func takeArrivals(_ machine: inout PeerMachine, _ now: Instant) {
    while let frame = machine.pollVideo(of: call, into: &bytes, now: now) {
      framesReceived.append((world.now, frame))
    }
    var isDone = false
    while !isDone {
      bytes.removeAll(keepingCapacity: true)
      bytes.append(addingCapacity: 1300) { output in
        guard let audio = machine.pollAudio(of: call, into: &output) else {
          isDone = true
          return
        }
        if audio.kind == .frame { audioReceived += 1 }
      }
    }
  }

  private func sendAudio(_ machine: inout PeerMachine, _ now: Instant) {
    let payload = [UInt8](repeating: 7, count: 80)
    if machine.sendAudio(
      payload.span, mediaTime: mediaTime, length: .milliseconds20, isMarked: mediaTime == 0,
      on: call, now: now)
    {
      audioSent += 1
    }
    mediaTime &+= 2
  }

  private func sendPicture(_ machine: inout PeerMachine, _ now: Instant) {
    let demand = machine.videoDemand(of: call, now: now)
    demands.append((world.now, demand?.bitsPerSecond ?? 0))
    guard let demand else { return }
    let isKey = demand.needsKeyFrame || pattern == 0
    let size = demand.bitsPerSecond / 8 / 30 * (isKey ? 3 : 1)
    bytes = [UInt8](repeating: 9, count: max(20, size))
    let place = TemporalPattern.Place(layer: 0, references: (base: isKey ? 0 : 1, other: 0))
    let frame = EncodedFrame(
      isKeyFrame: isKey, size: PictureSize(unchecked: 320, 240), place: place, quantizer: 30,
      byteCount: bytes.count)
    if machine.sendVideo(
      frame, bytes: &bytes, mediaTime: UInt32(mediaTime) << 8, on: call, now: now)
    {
      pattern += 1
    }
  }

  var statistics: LinkStatistics? { peer.statistics(of: call) }

  /// Of the video that came within a time, bit/s of payload.
  func receivedRate(from start: Instant, to end: Instant) -> Double {
    var byteCount = 0
    for entry in framesReceived where entry.at >= start && entry.at < end {
      byteCount += entry.frame.byteCount
    }
    return Double(byteCount) * 8e9 / Double(max(1, end.nanoseconds(since: start)))
  }
}
