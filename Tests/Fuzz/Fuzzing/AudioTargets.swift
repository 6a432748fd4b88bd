import Audio
import Primitives

extension FuzzTarget {
  static let audio: [FuzzTarget] = [
    opusPacket, jitterBuffer, audioReceiver, arrivalRecording,
  ]

  private static let opusPacket = FuzzTarget(
    "opus-packet", maximumByteCount: 1300, seeds: { opusPayloads() },
    run: { bytes in
      guard let packet = OpusPacket(bytes.span) else { return }
      expect((120...AudioFormat.maxPacketSampleCount).contains(packet.sampleCount), "2.5 to 120 ms")
      guard var decoder = try? OpusDecoder(channels: packet.isStereo ? 2 : 1) else {
        return expect(false, "a decoder can be made")
      }
      var samples = [Int16](repeating: 0, count: AudioFormat.maxPacketSampleCount * 2)
      var span = samples.mutableSpan
      if let count = try? decoder.decode(bytes.span, into: &span) {
        expect(count == packet.sampleCount, "a packet holds what it says")
      }
    })

  /// A stream of packets and pulls: for each, a byte that chooses, then its fields.
  private static let jitterBuffer = FuzzTarget(
    "jitter-buffer", maximumByteCount: 1200,
    seeds: {
      let payloads = opusPayloads()
      let calm: [UInt8] = payloads.flatMap { script(payload: $0) + [1, 1] }
      let late: [UInt8] = payloads.flatMap { script(payload: $0) + [2, 5, 3, 9] }
      return [calm, late, calm + late]
    },
    run: { bytes in
      guard var buffer = try? JitterBuffer(channels: 1) else {
        return expect(false, "a jitter buffer can be made")
      }
      var sound = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
      var reader = ByteReader(bytes.span)
      var now: UInt64 = 1_000_000_000
      var mediaTime: UInt16 = 65_500
      var pulls: UInt64 = 0
      while pulls < 60, let choice = try? reader.readUInt8("choice") {
        switch choice & 3 {
        case 0:
          guard let payload = try? packet(&reader, &mediaTime, &now) else { return }
          buffer.insert(
            payload.span, mediaTime: mediaTime &- UInt16(choice >> 6) &* 2,
            arrival: Instant(nanoseconds: now), origin: origin(choice >> 2),
            isMarked: choice & 0x20 != 0)
        case 1: now &+= 10_000_000
        case 2: now &+= UInt64((try? reader.readUInt8("leap")) ?? 0) &* 40_000_000
        default: now &-= min(now, UInt64((try? reader.readUInt8("back")) ?? 0) &* 5_000_000)
        }
        var span = sound.mutableSpan
        _ = buffer.pull(into: &span, now: Instant(nanoseconds: now))
        pulls += 1
      }
      let statistics = buffer.statistics
      expect(statistics.concealedSamples <= statistics.totalSamplesReceived, "counts add up")
    })

  private static func origin(_ bits: UInt8) -> PacketOrigin {
    switch bits & 7 {
    case 1: .copy(steps: 2, isLowRate: true)
    case 2: .copy(steps: 4, isLowRate: false)
    case 3: .retransmission
    default: .primary
    }
  }

  /// What a file of a call's arrivals says, played.
  private static let arrivalRecording = FuzzTarget(
    "arrival-recording", maximumByteCount: 1200,
    seeds: {
      guard var buffer = try? JitterBuffer(channels: 1) else { return [] }
      buffer.recording = ArrivalRecording(channels: 1)
      var sound = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
      for (index, payload) in opusPayloads().enumerated() {
        buffer.insert(
          payload.span, mediaTime: UInt16(index * 2),
          arrival: Instant(nanoseconds: UInt64(index) * 20_000_000), origin: origin(UInt8(index)))
        for _ in 0..<2 {
          var span = sound.mutableSpan
          _ = buffer.pull(into: &span, now: Instant(nanoseconds: UInt64(index) * 20_000_000))
        }
      }
      buffer.recording?.pause()
      return [buffer.recording?.bytes ?? []]
    },
    run: { bytes in
      guard var replay = try? ArrivalReplay(bytes) else { return }
      replay.usesCopies = bytes.count % 2 == 0
      replay.usesRetransmissions = bytes.count % 3 > 0
      var sound = [Int16](repeating: 0, count: 2 * AudioFormat.pullSampleCount)
      for _ in 0..<60 {
        var span = sound.mutableSpan
        guard (try? replay.pull(into: &span)) == true else { break }
      }
      let statistics = replay.buffer.statistics
      expect(statistics.concealedSamples <= statistics.totalSamplesReceived, "counts add up")
    })

  /// time step 1 · length 1 · payload
  @_lifetime(reader: copy reader)
  private static func packet(
    _ reader: inout ByteReader, _ mediaTime: inout UInt16, _ now: inout UInt64
  ) throws(WireError) -> [UInt8] {
    let step = try reader.readUInt8("media time step")
    mediaTime = mediaTime &+ UInt16(step & 0x7F) &* (step & 0x80 == 0 ? 1 : 300)
    now &+= 1_000_000
    let length = Int(try reader.readUInt8("payload length"))
    return try reader.readBytes(min(length, reader.remaining), "payload")
  }

  private static func script(payload: [UInt8]) -> [UInt8] {
    let kept = payload.prefix(255)
    return [0, 2, UInt8(kept.count)] + kept
  }

  /// A second of a rising tone, coded in several ways.
  private static func opusPayloads() -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    for (length, rate) in [(FrameLength.milliseconds20, 12_000), (.milliseconds60, 24_000)] {
      var settings = OpusEncoder.Settings(channels: 1, bitsPerSecond: rate)
      settings.frameLength = length
      guard var encoder = try? OpusEncoder(settings) else { continue }
      for frame in 0..<4 {
        let samples = (0..<length.sampleCount).map { index in
          Int16(truncatingIfNeeded: (index * (frame + 1) * 400) % 12_000 - 6000)
        }
        var payload: [UInt8] = []
        payload.append(addingCapacity: AudioFormat.maxPayloadByteCount) { output in
          _ = try? encoder.encode(samples.span, into: &output)
        }
        payloads.append(payload)
      }
    }
    return payloads
  }
}
