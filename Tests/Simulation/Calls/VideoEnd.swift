import Calling
package import Congestion
package import Peer
package import Primitives
package import Video
package import Wire

/// One end's media as a program would bring it: an audio frame each 20 ms, a picture each 33 ms in
/// as many bytes as the machine asks for. What the bytes are does not matter to those who carry
/// them.
package final class VideoEnd {
  package let peer: SimulatedPeer
  package private(set) var audioReceived = 0
  package private(set) var audioSent = 0
  /// Of a frame of 40 ms.
  private var hasFirstHalf = false
  package private(set) var framesReceived: [(at: Instant, frame: AssembledFrame)] = []
  /// By their media time, which is no other frame's.
  package private(set) var framesSent: [(at: Instant, mediaTime: UInt32)] = []
  package private(set) var changes:
    [(
      at: Instant, isPublishing: Bool, change: FallbackMachine.Change
    )] = []
  package private(set) var remoteStates: [(at: Instant, state: MediaState)] = []
  /// What the encoder was asked for, bit/s; 0 for no picture.
  package private(set) var demands: [(at: Instant, bitsPerSecond: Int)] = []
  /// Whether the ladder goes up soon in its first seconds; `nil` has no ladder. Each change of the
  /// picture's size takes a key frame.
  package var hurries: Bool?
  private var ladder: VideoLadder?
  /// The place of 1280×720 on it, which is what the source has.
  private static let best = 1
  /// The places on the ladder, from when on.
  package private(set) var rungs: [(at: Instant, index: Int)] = []
  private var recent = RecentMost()
  private var mediaTime: UInt16 = 0
  private var untilPicture = 0
  private var pattern: TemporalPattern
  private var hasBegun = false
  private let size = PictureSize(width: 320, height: 240)
  private var bytes: [UInt8] = []
  private let call: CallID
  private let world: CallWorld
  /// The end of another call of the same peer.
  private let other: VideoEnd?

  /// - Parameter other: the end of another call of `peer`, made before.
  package init(
    _ peer: SimulatedPeer, _ call: CallID, in world: CallWorld, layers: Int = 1,
    beside other: VideoEnd? = nil
  ) {
    self.peer = peer
    self.other = other
    pattern = TemporalPattern(layerCount: layers)
    self.call = call
    self.world = world
    peer.host.observe = { [weak self] event, _ in self?.observe(event) }
  }

  private func observe(_ event: PeerEvent) {
    other?.observe(event)
    switch event {
    case .link(call, .publishFallback(let change)): changes.append((world.now, true, change))
    case .link(call, .subscribeFallback(let change, _)): changes.append((world.now, false, change))
    case .calling(.remoteMediaChanged(call, let state)): remoteStates.append((world.now, state))
    default: break
    }
  }

  /// Looks for what has come, as a decoder's thread would at once.
  package func look() {
    peer.host.command(now: world.now) { machine, now in takeArrivals(&machine, now) }
  }

  /// Twenty milliseconds.
  package func tick() {
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
        if audio.header.kind == .frame { audioReceived += 1 }
      }
    }
  }

  /// 32 kbit/s in frames of 20 ms or, where that is more than audio may take, 24 in frames of 40.
  private func sendAudio(_ machine: inout PeerMachine, _ now: Instant) {
    let isNarrow = machine.audioAllowance(of: call).map { $0 < 58_000 } ?? false
    defer { mediaTime &+= 2 }
    if isNarrow, !hasFirstHalf {
      hasFirstHalf = true
      return
    }
    // A frame of 40 ms is there when its second half is.
    let start = hasFirstHalf ? mediaTime &- 2 : mediaTime
    let payload = [UInt8](repeating: 7, count: hasFirstHalf ? 120 : 80)
    let length: AudioMediaFrame.Length = hasFirstHalf ? .milliseconds40 : .milliseconds20
    hasFirstHalf = false
    if machine.sendAudio(
      payload.span, mediaTime: start, length: length, isMarked: start == 0, on: call, now: now)
    {
      audioSent += 1
    }
  }

  private func sendPicture(_ machine: inout PeerMachine, _ now: Instant) {
    let demand = machine.videoDemand(of: call, now: now)
    demands.append((world.now, demand?.bitsPerSecond ?? 0))
    guard let demand, let size else { return }
    let isKey = climb(demand) || demand.needsKeyFrame || !hasBegun
    let byteCount = min(demand.bitsPerSecond, mostOfRung) / 8 / 30 * (isKey ? 3 : 1)
    bytes = [UInt8](repeating: 9, count: max(20, byteCount))
    let place = pattern.place(isKeyFrame: isKey)
    let frame = EncodedFrame(
      isKeyFrame: isKey, size: size, place: place, quantizer: 30, byteCount: bytes.count)
    let time = UInt32(mediaTime) << 8
    let number = machine.sendVideo(frame, bytes: &bytes, mediaTime: time, on: call, now: now)
    if number != nil {
      framesSent.append((world.now, time))
      pattern.advance(past: place)
      hasBegun = true
    }
  }

  /// What an encoder can make of a picture of this size, as measured with the test picture: bit/s.
  private var mostOfRung: Int {
    guard let index = ladder?.index, index > Self.best else { return .max }
    return VideoLadder.rungs[index - 1].enterBitsPerSecond / 5 * 7
  }

  /// Whether the picture's size changes.
  private func climb(_ demand: VideoDemand) -> Bool {
    guard let hurries else { return false }
    let rate = recent.handle(demand.steadyBitsPerSecond, now: world.now)
    if ladder == nil {
      let first = VideoLadder(bitsPerSecond: rate, best: Self.best, hurries: hurries)
      ladder = first
      rungs.append((world.now, first.index))
    }
    guard ladder?.handle(bitsPerSecond: rate, best: Self.best, now: world.now) == true else {
      return false
    }
    rungs.append((world.now, ladder?.index ?? 0))
    return true
  }

  package var statistics: LinkStatistics? { peer.statistics(of: call) }

  /// Of the video that came within a time, bit/s of payload.
  package func receivedRate(from start: Instant, to end: Instant) -> Double {
    var byteCount = 0
    for entry in framesReceived where entry.at >= start && entry.at < end {
      byteCount += entry.frame.byteCount
    }
    return Double(byteCount) * 8e9 / Double(max(1, end.nanoseconds(since: start)))
  }
}
