import Audio
import Primitives
import Wire

extension FuzzTarget {
  /// A stream of bodies of AUDIO frames and of pulls: for each, a byte that chooses, then its
  /// fields.
  static let audioReceiver = FuzzTarget(
    "audio-receiver", maximumByteCount: 1200,
    seeds: {
      let bodies = audioBodies()
      let calm: [UInt8] = bodies.flatMap { script($0) + [1, 1] }
      let gaps: [UInt8] = bodies.enumerated().flatMap { index, body in
        index % 3 == 1 ? [1, 1] : script(body) + [1, 1, 4]
      }
      return [calm, gaps]
    },
    run: { bytes in
      guard var receiver = try? AudioReceiver(channels: 1) else {
        return expect(false, "a receiver can be made")
      }
      receiver.roundTripMilliseconds = 20
      var sound = [Int16](repeating: 0, count: AudioFormat.pullSampleCount + 1)
      var reader = ByteReader(bytes.span)
      var now: UInt64 = 1_000_000_000
      var mediaTime: UInt16 = 65_500
      var pulls: UInt64 = 0
      while pulls < 60, let choice = try? reader.readUInt8("choice") {
        if choice & 7 == 0 {
          guard let (frame, body) = try? body(&reader, choice, &mediaTime) else { return }
          receiver.receive(body.span, frame, arrival: Instant(nanoseconds: now))
          continue
        }
        now = later(now, choice, &reader)
        sound[AudioFormat.pullSampleCount] = 12_345
        var span = sound.mutableSpan
        _ = receiver.buffer.pull(into: &span, now: Instant(nanoseconds: now))
        pulls += 1
        expect(sound[AudioFormat.pullSampleCount] == 12_345, "a pull writes 5 ms")
        if let request = receiver.pollRequest(now: Instant(nanoseconds: now)) {
          expect(request.entryCount > 0, "a request asks for something")
        }
        if let report = receiver.pollReport(now: Instant(nanoseconds: now)) {
          expect(
            report.framesLost <= report.framesExpected || report.framesExpected < 0x100,
            "no more is lost than was sent")
        }
      }
      let statistics = receiver.buffer.statistics
      expect(statistics.totalSamplesReceived <= pulls * 240, "no more is counted than was given")
      expect(statistics.concealedSamples <= statistics.totalSamplesReceived, "counts add up")
    })

  private static func later(
    _ now: UInt64, _ choice: UInt8, _ reader: inout ByteReader
  ) -> UInt64 {
    switch choice & 7 {
    case 2: now &+ UInt64((try? reader.readUInt8("leap")) ?? 0) &* 40_000_000
    case 3: now &- min(now, UInt64((try? reader.readUInt8("back")) ?? 0) &* 5_000_000)
    default: now &+ 10_000_000
    }
  }

  /// media time step 1 · length 1 · body; flags and frame length in the byte that chose it.
  @_lifetime(reader: copy reader)
  private static func body(
    _ reader: inout ByteReader, _ choice: UInt8, _ mediaTime: inout UInt16
  ) throws(WireError) -> (AudioMediaFrame, [UInt8]) {
    let step = try reader.readUInt8("media time step")
    mediaTime = mediaTime &+ UInt16(step & 0x7F) &* (step & 0x80 == 0 ? 1 : 300)
    let length = Int(try reader.readUInt8("body length"))
    let frame = AudioMediaFrame(
      length: AudioMediaFrame.Length(rawValue: choice >> 3 & 3) ?? .milliseconds20,
      isMarked: choice & 0x40 != 0, hasCopies: choice & 0x20 != 0, mediaTime: mediaTime)
    return (frame, try reader.readBytes(min(length, reader.remaining), "body"))
  }

  private static func script(_ body: (length: UInt8, hasCopies: Bool, bytes: [UInt8])) -> [UInt8] {
    let kept = body.bytes.prefix(255)
    let choice = body.length << 3 | (body.hasCopies ? 0x20 : 0)
    return [choice, 2, UInt8(kept.count)] + kept
  }

  /// Frames with a copy of the one before and a parity, and one that was sent again.
  private static func audioBodies() -> [(length: UInt8, hasCopies: Bool, bytes: [UInt8])] {
    var settings = OpusEncoder.Settings(channels: 1, bitsPerSecond: 12_000)
    settings.complexity = 0
    guard var sender = try? AudioSender(settings) else { return [] }
    var plan = RedundancyPlan(bitrate: 12_000)
    plan.add(RedundancyPlan.Copy(distance: 1, isLowRate: false))
    plan.add(RedundancyPlan.Copy(parityOf: 1, and: 3))
    guard (try? sender.follow(plan)) != nil else { return [] }
    var bodies: [(length: UInt8, hasCopies: Bool, bytes: [UInt8])] = []
    for frame in 0..<8 {
      let samples = (0..<960).map { index in
        Int16(truncatingIfNeeded: (index * (frame + 1) * 400) % 12_000 - 6000)
      }
      if frame == 5 {
        var request = AudioRequestFrame(length: .milliseconds20)
        _ = request.add(mediaTime: 4)
        sender.handle(request)
      }
      var bytes: [UInt8] = []
      var hasCopies = false
      bytes.append(addingCapacity: 2600) { output in
        hasCopies =
          (try? sender.encode(samples.span, mediaTime: UInt16(frame * 2), into: &output)) ?? false
      }
      bodies.append((AudioMediaFrame.Length.milliseconds20.rawValue, hasCopies, bytes))
    }
    return bodies
  }
}
