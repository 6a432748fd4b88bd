import Calling
import Peer
import Primitives
import Wire

/// Audio from the first moment of a call to its last: the program must refuse it until it may flow.
extension SimulatedPeer {
  func beginMedia(_ call: CallID) {
    pumping.append(call)
    world.simulator.plan(after: .zero) { [weak self] in self?.pump(call) }
  }

  func endMedia(_ call: CallID) {
    collect(call)
    pumping.removeAll { $0 == call }
  }

  /// The first frame waits for nothing but leave to be sent.
  func pumpAtOnce(_ call: CallID) {
    world.simulator.plan(after: .zero) { [weak self] in self?.sendFrame(call) }
  }

  private func pump(_ call: CallID) {
    guard pumping.contains(call) else { return }
    sendFrame(call)
    collect(call)
    world.simulator.plan(after: world.mediaInterval) { [weak self] in self?.pump(call) }
  }

  private func sendFrame(_ call: CallID) {
    guard !isSilent else { return }
    let isEarly = !world.testimony.isAccepted(call, at: hostID)
    let frame = world.audioFrame
    let isTaken = host.command(now: world.now) { machine, now in
      machine.sendAudio(
        frame.span, mediaTime: mediaTime, length: .milliseconds20, isMarked: false, on: call,
        now: now)
    }
    mediaTime &+= UInt16(clamping: world.mediaInterval.milliseconds / 10)
    if isTaken == true {
      framesSent += 1
      if isEarly { world.testimony.noteEarlyFrame(call, at: hostID) }
    }
  }

  /// Takes what arrived; who has not accepted, or has not been, must get nothing.
  func collect(_ call: CallID) {
    let isEarly = !world.testimony.isAccepted(call, at: hostID)
    while let frame = nextFrame(of: call) {
      guard frame.header.kind == .frame else { continue }
      let arrival = clock.world(frame.arrival)
      heard.append(Heard(call: call, at: arrival, mediaTime: frame.header.frame.mediaTime))
      lastHeard[call] = arrival
      if isEarly { world.testimony.noteEarlyFrame(call, at: hostID) }
    }
  }

  private func nextFrame(of call: CallID) -> ReceivedAudio? {
    playout.removeAll(keepingCapacity: true)
    let frame = host.command(now: world.now) { machine, _ in
      var received: ReceivedAudio?
      playout.append(addingCapacity: 1_300) { received = machine.pollAudio(of: call, into: &$0) }
      return received
    }
    return frame ?? nil
  }
}
