import Audio
import Primitives
import Testing

struct OpusTests {
  @Test func `spends 64, 80 or 100 bytes on 20 ms at 32 kbit per second`() throws {
    let stream = try EncodedStream(TestSignal.voice(seconds: 2), settings: .init())
    #expect(stream.packets.count == 100)
    #expect(stream.packets.allSatisfy { [64, 80, 100].contains($0.count) })
    let sizes = PacketSizeClasses(bitsPerSecond: 32_000, frameLength: .milliseconds20)
    #expect((sizes.small, sizes.middle, sizes.large) == (64, 80, 100))
  }

  @Test(arguments: [6000, 16_000, 64_000, 510_000])
  func `pads every packet to one of three lengths`(rate: Int) throws {
    for frame in FrameLength.allCases {
      let settings = OpusEncoder.Settings(bitsPerSecond: rate, frameLength: frame)
      let sizes = PacketSizeClasses(bitsPerSecond: rate, frameLength: frame)
      let stream = try EncodedStream(TestSignal.voice(seconds: 1), settings: settings)
      #expect(sizes.large <= 1172)
      for payload in stream.packets {
        #expect([sizes.small, sizes.middle, sizes.large].contains(payload.count))
        #expect(OpusPacket(payload.span)?.sampleCount == frame.sampleCount)
      }
    }
  }

  /// Method: noise, which the codec would spend a quarter more on than is asked for.
  @Test func `keeps to the bitrate whatever the sound`() throws {
    var random = RandomSource(seed: 5)
    let noise = (0..<96_000).map { _ in Int16(truncatingIfNeeded: random.next() % 20_000) - 10_000 }
    let stream = try EncodedStream(noise, settings: .init())
    let sizes = PacketSizeClasses(bitsPerSecond: 32_000, frameLength: .milliseconds20)
    let spent = stream.packets.reduce(0) { $0 + $1.count }
    #expect(spent <= stream.packets.count * sizes.middle + sizes.mostUnused)
    #expect(stream.packets.suffix(20).allSatisfy { $0.count <= sizes.middle })
  }

  @Test func `a padded length is the least of the three that holds the packet`() {
    let sizes = PacketSizeClasses(bitsPerSecond: 32_000, frameLength: .milliseconds20)
    #expect([1, 64, 65, 80, 81, 100, 101].map(sizes.length) == [64, 64, 80, 80, 100, 100, 101])
    let least = PacketSizeClasses(bitsPerSecond: -1, frameLength: .milliseconds10)
    #expect(least.small <= least.middle && least.middle <= least.large)
  }

  @Test func `asks more of the encoder after pauses, less when nothing is left over`() {
    let sizes = PacketSizeClasses(bitsPerSecond: 32_000, frameLength: .milliseconds20)
    let most = sizes.mostUnused
    let asked = [-most, 0, most / 2, most, 2 * most].map(sizes.encoderBitsPerSecond)
    #expect(asked == [28_000, 28_000, 30_000, 32_000, 32_000])
  }

  @Test(arguments: FrameLength.allCases)
  func `makes packets of the length asked for`(frameLength: FrameLength) throws {
    let settings = OpusEncoder.Settings(frameLength: frameLength)
    let stream = try EncodedStream(TestSignal.voice(seconds: 1), settings: settings)
    for payload in stream.packets {
      let read = OpusPacket(payload.span)
      let packet = try #require(read)
      #expect(packet.sampleCount == frameLength.sampleCount)
    }
  }

  @Test func `carries copies only once loss is announced`() throws {
    let voice = TestSignal.voice(seconds: 2)
    let clean = try EncodedStream(voice, settings: .init())
    let lossy = try EncodedStream(voice, settings: .init(), announcedLoss: 10)
    var settings = OpusEncoder.Settings()
    settings.usesForwardErrorCorrection = false
    let without = try EncodedStream(voice, settings: settings, announcedLoss: 10)
    #expect(Self.copies(clean) == 0)
    #expect(Self.copies(lossy) > 50)
    #expect(Self.copies(without) == 0)
    #expect(lossy.packets.allSatisfy { [64, 80, 100].contains($0.count) })
  }

  @Test func `restores a lost frame better than it conceals one`() throws {
    let voice = TestSignal.voice(seconds: 1)
    let packets = try EncodedStream(voice, settings: .init(), announcedLoss: 10).packets
    let lost = try #require(packets.indices.first { $0 > 20 && Self.hasCopy(packets[$0]) }) - 1
    let whole = try Self.decode(packets, lost: nil, restores: false)
    let restored = try Self.decode(packets, lost: lost, restores: true)
    let concealed = try Self.decode(packets, lost: lost, restores: false)
    #expect(Self.difference(whole, restored) < 0.5 * Self.difference(whole, concealed))
  }

  @Test func `mixes stereo down and mono up`() throws {
    let tone = TestSignal.tone(hertz: 400, seconds: 0.5)
    let stereo = try EncodedStream(
      tone.flatMap { [$0, 0] }, settings: .init(channels: 2, bitsPerSecond: 64_000))
    let mono = try EncodedStream(tone, settings: .init())
    var toMono = try OpusDecoder(channels: 1)
    var toStereo = try OpusDecoder(channels: 2)
    var output = [Int16](repeating: 0, count: 5760 * 2)
    for packet in stereo.packets {
      var span = output.mutableSpan
      let count = try toMono.decode(packet.span, into: &span)
      #expect(count == 960)
    }
    #expect(output.prefix(960).contains { abs($0) > 3000 && abs($0) < 5000 })
    for packet in mono.packets {
      var span = output.mutableSpan
      let count = try toStereo.decode(packet.span, into: &span)
      #expect(count == 960)
    }
    for index in 0..<960 { #expect(output[2 * index] == output[2 * index + 1]) }
  }

  @Test func `refuses what is not a packet without harm`() throws {
    // The second is code 3 with a frame count of zero (RFC 6716 §3.2.5).
    for bytes: [UInt8] in [[], [0x03, 0x00], [UInt8](repeating: 0, count: 1276)] {
      let packet = OpusPacket(bytes.span)
      #expect(packet == nil)
    }
    let empty: [UInt8] = []
    let hollow: [UInt8] = [0x03, 0x00]
    var decoder = try OpusDecoder(channels: 1)
    var output = [Int16](repeating: 0, count: 5760)
    #expect(throws: OpusError.self) {
      var span = output.mutableSpan
      _ = try decoder.decode(empty.span, into: &span)
    }
    #expect(throws: OpusError.self) {
      var span = output.mutableSpan
      _ = try decoder.decode(hollow.span, into: &span)
    }
    #expect(throws: OpusError.self) { _ = try OpusDecoder(channels: 3) }
    #expect(throws: OpusError.self) { _ = try OpusEncoder(.init(channels: 0)) }
  }

  @Test(arguments: [20_000, 24_000, 28_000, 32_000])
  func `announces what makes the encoder add copies`(rate: Int) throws {
    let voice = TestSignal.voice(seconds: 2)
    let settings = OpusEncoder.Settings(bitsPerSecond: rate)
    let lossy = OpusEncoder.announcement(lossFraction: 0.05, bitsPerSecond: rate)
    let stream = try EncodedStream(voice, settings: settings, announcedLoss: lossy)
    #expect(Self.copies(stream) > 20)
    #expect(OpusEncoder.announcement(lossFraction: 0.001, bitsPerSecond: rate) == 0)
    #expect(OpusEncoder.announcement(lossFraction: 0.5, bitsPerSecond: 12_000) == 0)
  }

  @Test func `takes a new rate with the next frame`() throws {
    var encoder = try OpusEncoder()
    let samples = TestSignal.tone(hertz: 300, seconds: 0.02)
    #expect([64, 80, 100].contains(try encoder.packet(samples.span).count))
    try encoder.setBitrate(bitsPerSecond: 16_000)
    #expect([32, 40, 50].contains(try encoder.packet(samples.span).count))
    try encoder.setBitrate(bitsPerSecond: 1)
    #expect(encoder.settings.bitsPerSecond == 6000)
    #expect(throws: OpusError.self) { try encoder.packet(samples.span.extracting(0..<100)) }
  }

  private static func copies(_ stream: EncodedStream) -> Int {
    stream.packets.count(where: hasCopy)
  }

  private static func hasCopy(_ bytes: [UInt8]) -> Bool {
    guard let packet = OpusPacket(bytes.span) else { return false }
    return packet.carriesForwardErrorCorrection
  }

  private static func decode(_ packets: [[UInt8]], lost: Int?, restores: Bool) throws -> [Int16] {
    var decoder = try OpusDecoder(channels: 1)
    var samples: [Int16] = []
    var output = [Int16](repeating: 0, count: 960)
    for (index, packet) in packets.enumerated() {
      var span = output.mutableSpan
      if index != lost {
        _ = try decoder.decode(packet.span, into: &span)
      } else if restores {
        let following = packets[index + 1]
        _ = try decoder.decodeForwardErrorCorrection(
          in: following.span, sampleCount: 960, into: &span)
      } else {
        _ = try decoder.conceal(sampleCount: 960, into: &span)
      }
      samples += output
    }
    return samples
  }

  private static func difference(_ left: [Int16], _ right: [Int16]) -> Double {
    zip(left, right).reduce(0) {
      $0 + (Double($1.0) - Double($1.1)) * (Double($1.0) - Double($1.1))
    }
  }
}
