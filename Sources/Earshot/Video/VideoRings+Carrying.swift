internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Between the rings of a call's video and the machine.
extension VideoRings {
  /// What was encoded, on its way.
  ///
  /// - Parameter memory: goes round between the loop and the threads.
  /// - Returns: whether a frame has left.
  func send(
    on callID: Wire.CallID, _ machine: inout PeerMachine, _ memory: inout [UInt8], tap: MediaTap?,
    now: Instant
  ) -> Bool {
    var bytes: [UInt8] = []
    swap(&bytes, &memory)
    var hasSent = false
    while case .outgoing(let frame, let mediaTime)? = outbox.withLock({ $0.pop(into: &bytes) }) {
      // Sending takes the bytes.
      let kept = tap == nil ? [] : bytes
      let number = machine.sendVideo(
        frame, bytes: &bytes, mediaTime: mediaTime, on: callID, now: now)
      guard let number else { continue }
      hasSent = true
      tap?.show(frame, number, mediaTime, kept)
    }
    swap(&bytes, &memory)
    return hasSent
  }

  /// Frames that have come, as many as there is room for.
  ///
  /// - Parameter isWanted: else they are dropped.
  /// - Returns: how many were handed to the decoder.
  func receive(
    of callID: Wire.CallID, _ machine: inout PeerMachine, _ memory: inout [UInt8],
    isWanted: Bool, tap: MediaTap?, now: Instant
  ) -> Int {
    var bytes: [UInt8] = []
    swap(&bytes, &memory)
    var count = 0
    while !isWanted || inbox.withLock({ !$0.isFull }),
      let frame = machine.pollVideo(of: callID, into: &bytes, now: now)
    {
      guard isWanted else { continue }
      tap?.show(frame, bytes)
      // There is room, and nobody else puts anything there.
      _ = inbox.withLock { $0.push(.incoming(frame), &bytes) }
      count += 1
    }
    swap(&bytes, &memory)
    return count
  }
}
