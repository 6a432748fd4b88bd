import Audio
import MediaFiles
import Peer
import Primitives
import Wire

/// One end's sound as its media thread runs it every 10 ms (`Earshot/AudioPipeline.swift`), with
/// the encoder, the copies, the requests and the playout that ship: sends the test tone, plays what
/// comes to nobody.
final class RehearsedSound {
  private var sender: AudioSender
  private var receiver: AudioReceiver
  private var policy: RedundancyPolicy
  private var tone = TestTone()
  private var packet: [UInt8] = []
  private var mediaTime: UInt16 = 0
  /// Milliseconds; a tick at first.
  private var untilNextFrame = 5
  private var isMarked = true

  init() throws(OpusError) {
    sender = try AudioSender(OpusEncoder.Settings())
    receiver = try AudioReceiver(channels: 1)
    policy = RedundancyPolicy(RedundancyPolicy.Limits())
    try sender.follow(policy.plan)
  }

  /// Samples given out, and those of them that were made up.
  var heard: (all: UInt64, concealed: UInt64) {
    let numbers = receiver.buffer.statistics
    return (numbers.totalSamplesReceived, numbers.concealedSamples)
  }

  /// Five milliseconds, both ways.
  func tick(_ machine: inout PeerMachine, of call: CallID, now: Instant) {
    takeArrivals(&machine, call, now)
    answer(&machine, call, now)
    play(now)
    untilNextFrame -= 5
    while untilNextFrame <= 0 {
      untilNextFrame += sender.plan.frameLength.milliseconds
      sendFrame(&machine, call, now)
    }
    repeatFrames(&machine, call, now)
  }

  // MARK: - In

  private func takeArrivals(_ machine: inout PeerMachine, _ call: CallID, _ now: Instant) {
    let trip = machine.roundTrip(of: call)
    if let trip { receiver.roundTripMilliseconds = Int(trip.smoothed / 1_000_000) }
    while true {
      var audio: ReceivedAudio?
      fill { audio = machine.pollAudio(of: call, into: &$0) }
      guard let audio else { return }
      switch audio.kind {
      case .frame: receive(audio)
      case .report: follow(trip, machine.audioAllowance(of: call), now)
      case .request:
        let body = packet
        if let request = try? AudioRequestFrame(body: body.span) { sender.handle(request) }
      }
    }
  }

  private func receive(_ audio: ReceivedAudio) {
    let frame = AudioMediaFrame(
      length: audio.length, isMarked: audio.isMarked, hasCopies: audio.hasCopies,
      mediaTime: audio.mediaTime)
    let body = packet
    receiver.receive(body.span, frame, arrival: audio.arrival)
  }

  private func follow(
    _ trip: (smoothed: UInt64, minimum: UInt64)?, _ allowance: Int?, _ now: Instant
  ) {
    let body = packet
    guard let report = try? AudioReportFrame(body: body.span) else { return }
    let roundTrip = trip.map {
      RedundancyPolicy.RoundTrip(smoothed: $0.smoothed, minimum: $0.minimum)
    }
    let isNew = policy.handle(
      report, roundTrip: roundTrip,
      allowedWireBitrate: allowance.flatMap { $0 < 511_000 ? $0 : nil },
      now: now)
    if isNew { try? sender.follow(policy.plan) }
  }

  private func answer(_ machine: inout PeerMachine, _ call: CallID, _ now: Instant) {
    if let request = receiver.pollRequest(now: now) {
      fill { request.writeBody(to: &$0) }
      let body = packet
      _ = machine.sendAudioControl(body.span, .request, on: call, now: now)
    }
    if let report = receiver.pollReport(now: now) {
      fill { report.writeBody(to: &$0) }
      let body = packet
      _ = machine.sendAudioControl(body.span, .report, on: call, now: now)
    }
  }

  private func play(_ now: Instant) {
    var played = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
    var span = played.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }

  // MARK: - Out

  private func sendFrame(_ machine: inout PeerMachine, _ call: CallID, _ now: Instant) {
    let frame = sender.plan.frameLength
    var samples = [Int16](repeating: 0, count: frame.sampleCount)
    var room = samples.mutableSpan
    tone.read(into: &room)
    guard let hasCopies = encode(samples) else { return }
    let body = packet
    _ = machine.sendAudio(
      body.span, mediaTime: mediaTime, length: Self.length(frame), isMarked: isMarked,
      hasCopies: hasCopies, on: call, now: now)
    isMarked = false
    mediaTime &+= UInt16(frame.milliseconds / 10)
  }

  private func encode(_ samples: [Int16]) -> Bool? {
    var hasCopies: Bool?
    fill { output in
      hasCopies = try? sender.encode(samples.span, mediaTime: mediaTime, into: &output)
    }
    return hasCopies
  }

  private func repeatFrames(_ machine: inout PeerMachine, _ call: CallID, _ now: Instant) {
    guard sender.hasRepetitions, untilNextFrame > 20 else { return }
    var time: UInt16?
    var body: [UInt8] = []
    body.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      time = sender.writeRepetitions(into: &$0)
    }
    guard let time else { return }
    _ = machine.sendAudio(
      body.span, mediaTime: time, length: .milliseconds20, isMarked: false, hasCopies: true,
      on: call, now: now)
  }

  private func fill(_ write: (inout OutputSpan<UInt8>) -> Void) {
    var body: [UInt8] = []
    body.append(addingCapacity: AudioFormat.maxPayloadByteCount) { write(&$0) }
    packet = body
  }

  private static func length(_ frame: FrameLength) -> AudioMediaFrame.Length {
    switch frame {
    case .milliseconds10: .milliseconds10
    case .milliseconds20: .milliseconds20
    case .milliseconds40: .milliseconds40
    case .milliseconds60: .milliseconds60
    }
  }
}
