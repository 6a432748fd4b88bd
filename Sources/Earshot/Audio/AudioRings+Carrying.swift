internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Between the rings of a call's audio and the machine. Allocates nothing, unless media is
/// captured.
extension AudioRings: AudioIntake {
  /// Straight out of a packet: the only copy before the jitter buffer.
  func carry(
    _ body: Span<UInt8>, _ audio: ReceivedAudio,
    roundTrip: (smoothed: UInt64, minimum: UInt64)?, allowance: Int?
  ) {
    let conditions = PathConditions(
      roundTrip: roundTrip, allowance: allowance ?? PathConditions.unlimited)
    // A full ring: the media thread has stood still for a second, and late audio is worth little.
    _ = received.push(body, AudioLabel(audio, conditions).packed)
  }

  /// What the pipeline has encoded, on its way.
  ///
  /// - Returns: whether a frame of audio has left.
  func send(
    on callID: Wire.CallID, _ machine: inout PeerMachine, tap: MediaTap?, now: Instant
  ) -> Bool {
    if let heard = machine.lastHeard(of: callID) { peerHeard.set(heard.nanoseconds) }
    var hasSentFrame = false
    var isThere = true
    while isThere {
      isThere =
        toSend.pop { payload, packed in
          let header = AudioLabel(packed).header
          let isSent = machine.sendAudio(payload, header, on: callID, now: now)
          hasSentFrame = hasSentFrame || (isSent && header.kind == .frame)
          if let tap, header.kind == .frame { tap.show(payload, header.frame, age: nil) }
          return true
        } ?? false
    }
    return hasSentFrame
  }

  /// What has come and is captured, for the pipeline's next visit: otherwise it does not wait in
  /// the machine.
  func receive(of callID: Wire.CallID, _ machine: inout PeerMachine, tap: MediaTap?) {
    let (roundTrip, allowance) = (
      machine.roundTrip(of: callID), machine.audioAllowance(of: callID)
    )
    var isThere = true
    while isThere {
      isThere =
        machine.pollAudio(of: callID) { body, received in
          self.carry(body, received, roundTrip: roundTrip, allowance: allowance)
          if let tap, received.header.kind == .frame {
            let age = SystemClock.now.nanoseconds(since: received.arrival)
            tap.show(body, received.header.frame, age: age)
          }
          return true
        } ?? false
    }
  }
}
