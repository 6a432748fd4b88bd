import Primitives
import Testing
import Video

/// Encodes the test picture as a source of 30 pictures a second would give it.
struct TestStream: ~Copyable {
  var encoder: VP8Encoder
  var frames: [(frame: EncodedFrame, bytes: [UInt8], stamp: TestPicture.Stamp)] = []
  private var source: TestPicture
  private var picture: I420Picture
  private var index = 0

  init(_ settings: VP8Encoder.Settings) throws {
    encoder = try VP8Encoder(settings)
    source = TestPicture(settings.size)
    picture = I420Picture(settings.size)
  }

  mutating func run(pictures: Int) throws {
    let settings = encoder.settings
    if source.size != settings.size {
      source = TestPicture(settings.size)
      picture = I420Picture(settings.size)
    }
    for _ in 0..<pictures {
      let time = Int64(index * 1000 / settings.framesPerSecond)
      let stamp = TestPicture.Stamp(number: UInt16(index), clock: UInt32(time))
      source.draw(stamp, into: &picture)
      var bytes: [UInt8] = []
      if let frame = try encoder.encode(picture, milliseconds: time, into: &bytes) {
        frames.append((frame, bytes, stamp))
      }
      index += 1
    }
  }

  func bitsPerSecond(lastPictures: Int) -> Double {
    let first = UInt16(index - lastPictures)
    let bytes = frames.filter { $0.stamp.number >= first }.reduce(0) { $0 + $1.bytes.count }
    return Double(bytes * 8 * encoder.settings.framesPerSecond) / Double(lastPictures)
  }
}

@Suite struct VP8Tests {
  static func settings(
    _ width: Int, _ height: Int, _ rate: Int, fps: Int = 30, layers: Int = 1
  ) -> VP8Encoder.Settings {
    VP8Encoder.Settings(
      size: PictureTests.size(width, height), bitsPerSecond: rate, framesPerSecond: fps,
      temporalLayers: layers)
  }

  /// Issue: ±15 % of the rate.
  @Test(arguments: [(320, 240, 300_000), (640, 480, 600_000), (640, 480, 1_000_000)])
  func `keeps to the bitrate`(width: Int, height: Int, rate: Int) throws {
    var stream = try TestStream(Self.settings(width, height, rate))
    try stream.run(pictures: 150)
    let measured = stream.bitsPerSecond(lastPictures: 120)
    #expect(abs(measured - Double(rate)) < 0.15 * Double(rate))
  }

  @Test func `follows a new bitrate from the next frame on`() throws {
    var stream = try TestStream(Self.settings(320, 240, 400_000))
    try stream.run(pictures: 90)
    try stream.encoder.reconfigure(Self.settings(320, 240, 150_000))
    try stream.run(pictures: 30)
    #expect(stream.bitsPerSecond(lastPictures: 30) < 1.3 * 150_000)
    #expect(stream.frames.allSatisfy { !$0.frame.isKeyFrame || $0.stamp.number == 0 })
    try stream.encoder.reconfigure(Self.settings(320, 240, 400_000))
    try stream.run(pictures: 60)
    #expect(stream.bitsPerSecond(lastPictures: 30) > 0.7 * 400_000)
  }

  @Test func `makes a key frame when asked and when the size changes, and else none`() throws {
    var stream = try TestStream(Self.settings(320, 240, 300_000))
    try stream.run(pictures: 40)
    stream.encoder.requestKeyFrame()
    try stream.run(pictures: 40)
    try stream.encoder.reconfigure(Self.settings(160, 120, 300_000))
    try stream.run(pictures: 20)
    try stream.encoder.reconfigure(Self.settings(640, 480, 500_000))
    try stream.run(pictures: 20)
    let keys = stream.frames.filter(\.frame.isKeyFrame)
    #expect(keys.count == 4)
    #expect(keys.map(\.frame.size.width) == [320, 320, 160, 640])
    #expect(keys.allSatisfy { (try? VP8Header(parsing: $0.bytes.span))?.size == $0.frame.size })
    #expect(keys.dropFirst().map(\.stamp.number).allSatisfy { [40, 41, 80, 100].contains($0) })
  }

  /// The stamp is legible at the smallest picture and the least rate of the ladder.
  @Test(arguments: [(160, 120, 40_000, 8), (160, 120, 64_000, 8), (320, 240, 120_000, 15)])
  func `number and time can be read at low bitrates`(
    width: Int, height: Int, rate: Int, fps: Int
  ) throws {
    var stream = try TestStream(Self.settings(width, height, rate, fps: fps))
    try stream.run(pictures: 100)
    var decoder = try VP8Decoder()
    var picture = I420Picture(PictureTests.size(16, 16))
    var enlarged = I420Picture(PictureTests.size(640, 480))
    var scaler = PictureScaler()
    #expect(stream.frames.count >= 85)
    for (_, bytes, stamp) in stream.frames {
      let isShown = try decoder.decode(bytes.span, into: &picture)
      #expect(isShown)
      #expect(TestPictureReader.stamp(of: picture) == stamp)
      scaler.scale(picture, into: &enlarged)
      #expect(TestPictureReader.stamp(of: enlarged) == stamp)
    }
  }

  @Test(arguments: [2, 3]) func `upper layers can be left out`(layers: Int) throws {
    var stream = try TestStream(Self.settings(320, 240, 400_000, layers: layers))
    try stream.run(pictures: 80)
    for top in 0..<layers {
      var decoder = try VP8Decoder()
      var whole = try VP8Decoder()
      var picture = I420Picture(PictureTests.size(16, 16))
      var expected = picture
      var count = 0
      for (frame, bytes, stamp) in stream.frames {
        _ = try whole.decode(bytes.span, into: &expected)
        guard Int(frame.temporalLayer) <= top else { continue }
        let isShown = try decoder.decode(bytes.span, into: &picture)
        #expect(isShown && picture == expected, "layers to \(top), picture \(stamp.number)")
        count += 1
      }
      #expect(count >= stream.frames.count >> (layers - 1 - top))
    }
  }

  @Test func `keeps to the bitrate with layers`() throws {
    var stream = try TestStream(Self.settings(320, 240, 300_000, layers: 3))
    try stream.run(pictures: 150)
    #expect(abs(stream.bitsPerSecond(lastPictures: 120) - 300_000) < 60_000)
  }

  @Test func `layers and references follow the pattern`() {
    var pattern = TemporalPattern(layerCount: 3)
    var seen: [[UInt8]] = []
    for index in 0..<9 {
      let place = pattern.place(isKeyFrame: index == 0)
      seen.append([place.layer, place.references.base, place.references.other])
      pattern.advance(past: place)
    }
    #expect(
      seen == [
        [0, 0, 0], [2, 1, 0], [1, 2, 0], [2, 3, 1], [0, 4, 0], [2, 1, 0], [1, 2, 0], [2, 3, 1],
        [0, 4, 0],
      ])
    var two = TemporalPattern(layerCount: 2)
    two.advance(past: two.place(isKeyFrame: true))
    #expect(two.place(isKeyFrame: false).layer == 1)
    #expect(TemporalPattern(layerCount: 1).place(isKeyFrame: false).references == (1, 0))
  }

  @Test func `refuses what is no frame, and waits for a key frame after`() throws {
    var stream = try TestStream(Self.settings(160, 120, 100_000))
    try stream.run(pictures: 5)
    let first = stream.frames[0].bytes
    let second = stream.frames[1].bytes
    var decoder = try VP8Decoder()
    var picture = I420Picture(PictureTests.size(16, 16))
    #expect(throws: VPXError.self) {
      _ = try decoder.decode(second.span, into: &picture)
    }
    let isFirst = try decoder.decode(first.span, into: &picture)
    #expect(isFirst)
    let isReady = !decoder.needsKeyFrame
    #expect(isReady)
    let huge: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F, 0, 0]
    #expect(throws: VPXError.self) { _ = try decoder.decode(huge.span, into: &picture) }
    let isLost = decoder.needsKeyFrame
    #expect(isLost)
    #expect(throws: VPXError.self) {
      _ = try decoder.decode(second.span, into: &picture)
    }
    let isAgain = try decoder.decode(first.span, into: &picture)
    #expect(isAgain)
    #expect(throws: VPXError.self) {
      _ = try VP8Encoder(Self.settings(160, 120, 1)).encodeWrongSize()
    }
  }

  @Test func `a header says what libvpx would make room for`() throws {
    let key: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00]
    let keyHeader = try VP8Header(parsing: key.span)
    #expect(keyHeader.size == PictureTests.size(320, 240))
    let delta: [UInt8] = [0x11, 0, 0]
    let header = try VP8Header(parsing: delta.span)
    #expect(!header.isKeyFrame && header.isShown && header.size == nil)
    for bad in [
      [0x10, 0], [0x1E, 0, 0], [0x10, 1, 0, 0x9D, 0x01, 0x2A, 64, 1, 240],
      [0x10, 0, 0, 0x9D, 0x02, 0x2A, 64, 1, 240, 0], [0x11, 1, 0],
    ] as [[UInt8]] {
      #expect(throws: WireError.self) { _ = try VP8Header(parsing: bad.span) }
    }
  }
}

extension VP8Encoder {
  /// A picture of another size than the encoder's.
  consuming func encodeWrongSize() throws -> Bool {
    var bytes: [UInt8] = []
    return try encode(I420Picture(PictureTests.size(32, 32)), milliseconds: 0, into: &bytes) != nil
  }
}
