import Audio
import Testing
import Wire

struct UpperBandDetectorTests {
  @Test func `finds nothing above 8 kHz in speech that ends there`() {
    #expect(!Self.says(Self.speech(hiss: 4500...7500)).contains(true))
  }

  @Test(arguments: [1.0, 0.05])
  func `finds the upper band with the first hiss after half a second of sound`(loudness: Double) {
    let said = Self.says(Self.speech(hiss: 9500...13_000, loudness: loudness))
    // The first hiss is within the first half second; the second lasts from 500 to 620 ms.
    #expect(!said.prefix(25).contains(true))
    #expect(said.dropFirst(31).allSatisfy { $0 })
  }

  @Test func `what is far below the voice does not count`() {
    let said = Self.says(Self.speech(hiss: 9500...13_000, hissLevel: 0.002))
    #expect(!said.contains(true))
  }

  @Test func `forgets after three seconds of speech, not in a pause`() {
    var sound = Self.speech(hiss: 9500...13_000)
    sound += [Int16](repeating: 0, count: 10 * 48_000)
    let paused = Self.says(sound)
    #expect(paused.last == true)
    let end = paused.count
    sound += Self.speech(hiss: 4500...7500) + Self.speech(hiss: 4500...7500)
    let said = Self.says(sound)
    let change = said.dropFirst(end).firstIndex(of: false).map { ($0 - end) * 20 }
    // 0.4 s of speech without a hiss were before the pause.
    #expect((2500...4000).contains(change ?? 0), "\(String(describing: change)) ms")
    #expect(said.last == false)
  }

  @Test func `silence leaves it as it is`() {
    let silence = [Int16](repeating: 0, count: 48_000)
    #expect(!Self.says(silence + silence).contains(true))
    let speech = Self.speech(hiss: 9500...13_000)
    #expect(Self.says(speech + silence + speech).suffix(100).allSatisfy { $0 })
  }

  @Test func `the encoder leaves out a band in which there is nothing, and takes it back`() throws {
    let narrow = try EncodedStream(Self.speech(hiss: 4500...7500), settings: .init())
    #expect(narrow.packets.allSatisfy { !Self.hasUpperBand($0) })
    let wide = try EncodedStream(Self.speech(hiss: 9500...13_000), settings: .init())
    #expect(wide.packets.dropFirst(32).allSatisfy(Self.hasUpperBand))
    var music = OpusEncoder.Settings(bitsPerSecond: 64_000)
    music.isSpeech = false
    music.detectsUpperBand = false
    let all = try EncodedStream(Self.speech(hiss: 9500...13_000), settings: music)
    #expect(all.packets.contains(where: Self.hasUpperBand))
  }

  /// Method: RFC 6716 §3.1, table 2, every configuration.
  @Test func `reads the band from a packet`() {
    for configuration in 0..<32 {
      let packet: [UInt8] = [UInt8(configuration << 3), 1, 2, 3]
      let isWide = [12, 13, 14, 15].contains(configuration) || configuration >= 24
      #expect(Self.hasUpperBand(packet) == isWide, "\(configuration)")
    }
  }

  @Test func `a copy leaves out what its frames leave out`() throws {
    var sender = try AudioSender(.init())
    var plan = RedundancyPlan()
    plan.add(.init(distance: 1, isLowRate: true))
    plan.copyBitrate = 24_000
    try sender.follow(plan)
    let speech = Self.speech(hiss: 4500...7500)
    for index in 0..<100 {
      var body: [UInt8] = []
      try body.append(addingCapacity: AudioSender.maximumBodyByteCount) {
        (output) throws(OpusError) in
        _ = try sender.encode(
          speech.span.extracting(index * 960..<(index + 1) * 960),
          mediaTime: UInt16(2 * index), into: &output)
      }
      // The first frame's copy is coded before anything is known.
      guard index > 1 else { continue }
      let parts = try AudioBody(body.span, hasCopies: true)
      #expect(parts.copy(0).coding == .lowRate)
      let copy = body.span.bytes(at: parts.copy(0).payload)
      let packet = OpusPacket(copy)
      #expect(packet?.hasUpperBand == false)
    }
  }

  private static func hasUpperBand(_ bytes: [UInt8]) -> Bool {
    guard let packet = OpusPacket(bytes.span) else { return false }
    return packet.hasUpperBand
  }

  /// What the detector says after each 20 ms.
  private static func says(_ samples: [Int16]) -> [Bool] {
    var detector = UpperBandDetector()
    return stride(from: 0, to: samples.count, by: 960).map {
      detector.addFrame(samples.span.extracting($0..<$0 + 960))
    }
  }

  /// Four seconds of a voice that hisses for 120 ms, each half second. All of it swells, as an
  /// edge would have a band of its own.
  private static func speech(
    hiss band: ClosedRange<Double>, hissLevel: Double = 0.2, loudness: Double = 1
  ) -> [Int16] {
    let steps = (0..<12).map {
      2 * Double.pi * (band.lowerBound + Double($0) * width(band)) / 48_000
    }
    return (0..<4 * 48_000).map { index in
      let swell = TestSignal.sine(.pi * Double(index % 12_000) / 12_000)
      let phase = 2 * Double.pi * 130 * Double(index) / 48_000
      var value = 0.0
      for harmonic in 1...6 { value += TestSignal.sine(Double(harmonic) * phase) * 3000 }
      value *= swell * swell
      if index % 24_000 < 5760 {
        let hiss = TestSignal.sine(.pi * Double(index % 24_000) / 5760)
        let sum = steps.reduce(0) { $0 + TestSignal.sine($1 * Double(index)) }
        value += sum * 1500 * hissLevel * hiss * hiss
      }
      return Int16(value * loudness)
    }
  }

  private static func width(_ band: ClosedRange<Double>) -> Double {
    (band.upperBound - band.lowerBound) / 12
  }
}
