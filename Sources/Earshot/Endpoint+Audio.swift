internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Audio between the machine on the loop and the pipeline on its thread. Nothing here allocates
/// once a call runs, unless somebody captures media.
extension Endpoint {
  func startAudio(_ callID: Wire.CallID) {
    guard let record = calls[callID], record.audio == nil else { return }
    do {
      let wake = try LoopWake()
      let audio = try CallAudio(record.options, wake: wake)
      record.audioWatch = try wake.attach(to: loop) { self.sendAudio(callID) }
      record.audio = audio
      takeAudio(callID)
    } catch {
      publish(.callProgress(CallID(callID), .audioFailed("\(error)")))
    }
    updateStatisticsTimer()
  }

  /// Ends the thread, closes the sink's file, and gives the loop its place back. Harmless when
  /// repeated, and when no audio was begun.
  func stopAudio(_ record: CallRecord) {
    record.audio?.stop()
    if let watch = record.audioWatch.take() { loop.unwatch(watch) }
  }

  /// The pipeline has encoded something.
  private func sendAudio(_ callID: Wire.CallID) {
    guard let audio = calls[callID]?.audio else { return }
    let capture = self.capture
    driver.withMachine { machine, now in
      var isThere = true
      while isThere {
        isThere =
          audio.rings.toSend.pop { payload, label in
            let frame = OutgoingFrame(label)
            _ = machine.sendAudio(
              payload, mediaTime: frame.mediaTime, length: frame.length, isMarked: frame.isMarked,
              on: callID, now: now)
            if let capture { self.capture(payload, frame, of: callID, machine, to: capture) }
            return true
          } ?? false
      }
    }
  }

  /// Something came in: on to the pipeline, which looks when it next plays.
  func takeAudio(_ callID: Wire.CallID) {
    // Until the own audio has begun, what comes waits in the machine.
    guard let audio = calls[callID]?.audio else { return }
    driver.withMachine { machine, _ in takeAudio(callID, audio, &machine) }
  }

  private func takeAudio(
    _ callID: Wire.CallID, _ audio: CallAudio, _ machine: inout PeerMachine
  ) {
    while true {
      arrived.removeAll(keepingCapacity: true)
      var frame: ReceivedAudio?
      arrived.append(addingCapacity: 1275) { output in
        frame = machine.pollAudio(of: callID, into: &output)
      }
      guard let frame else { return }
      if let capture { self.capture(arrived, frame, of: callID, machine, to: capture) }
      _ = audio.rings.received.push(
        arrived.span,
        SPSCRing.Label(frame.arrival.nanoseconds, UInt64(frame.mediaTime)))
    }
  }

  // MARK: - Capture

  private func capture(
    _ payload: Span<UInt8>, _ frame: OutgoingFrame, of callID: Wire.CallID,
    _ machine: borrowing PeerMachine, to capture: any MediaCapture
  ) {
    guard let remote = machine.statistics(of: callID)?.remote else { return }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(payload.count)
    for index in 0..<payload.count { bytes.append(payload[index]) }
    capture.capture(
      CapturedFrame(
        isOutgoing: true, local: localAddress(toward: remote), remote: remote,
        mediaTime: frame.mediaTime, isMarked: frame.isMarked,
        wallNanoseconds: SystemClock.wallNanoseconds), payload: bytes)
  }

  private func capture(
    _ payload: [UInt8], _ frame: ReceivedAudio, of callID: Wire.CallID,
    _ machine: borrowing PeerMachine, to capture: any MediaCapture
  ) {
    guard let remote = machine.statistics(of: callID)?.remote else { return }
    let age = SystemClock.now.nanoseconds(since: frame.arrival)
    capture.capture(
      CapturedFrame(
        isOutgoing: false, local: localAddress(toward: remote), remote: remote,
        mediaTime: frame.mediaTime, isMarked: frame.isMarked,
        wallNanoseconds: SystemClock.wallNanoseconds &- age),
      payload: payload)
  }
}

/// What the pipeline wrote beside an encoded frame.
struct OutgoingFrame {
  let mediaTime: UInt16
  let length: AudioMediaFrame.Length
  let isMarked: Bool

  init(_ label: SPSCRing.Label) {
    mediaTime = UInt16(truncatingIfNeeded: label.second)
    switch UInt8(truncatingIfNeeded: label.second >> 16) {
    case 1: length = .milliseconds10
    case 4: length = .milliseconds40
    case 6: length = .milliseconds60
    default: length = .milliseconds20
    }
    isMarked = label.second >> 32 & 1 == 1
  }
}
