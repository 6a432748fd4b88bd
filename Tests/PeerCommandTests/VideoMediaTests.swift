import Earshot
import MediaFiles
import PeerCommand
import Primitives
import Synchronization
import Testing
import Video

struct VideoMediaTests {
  /// A y4m file of `count` pictures of 16×16, each of one brightness: its number.
  private static func save(_ count: Int, rate: String, to name: String, in folder: TemporaryFolder)
    throws
  {
    var bytes = Array("YUV4MPEG2 W16 H16 F\(rate) Ip C420\n".utf8)
    for number in 0..<count {
      bytes += Array("FRAME\n".utf8) + [UInt8](repeating: UInt8(number), count: 384)
    }
    try folder.write(bytes, to: name)
  }

  private static func numbers(
    _ source: PlayedVideo, every milliseconds: Int, count: Int
  ) throws -> [Int?] {
    var picture = try #require(VideoPicture(width: 32, height: 32))
    return (0..<count).map { index in
      switch source.read(into: &picture, at: .milliseconds(index * milliseconds)) {
      case .picture: Int(picture.bytes[0])
      case .nothingNew: -1
      case .ended: nil
      }
    }
  }

  @Test func `a file's pictures come at their times, and its end is told once`() throws {
    let folder = try TemporaryFolder()
    try Self.save(5, rate: "10:1", to: "a.y4m", in: folder)
    let ends = Mutex(0)
    let source = try PlayedVideo(.file(folder.file("a.y4m")), isLooped: false) {
      ends.withLock { $0 += 1 }
    }
    #expect(source.framesPerSecond == 10)
    // Called twice as often as there are pictures.
    #expect(
      try Self.numbers(source, every: 50, count: 11)
        == [0, 1, -1, 2, -1, 3, -1, 4, -1, nil, nil])
    #expect(ends.withLock { $0 } == 1 && source.fault == nil)
  }

  @Test func `a thread that comes late passes pictures by`() throws {
    let folder = try TemporaryFolder()
    try Self.save(10, rate: "10:1", to: "a.y4m", in: folder)
    let source = try PlayedVideo(.file(folder.file("a.y4m")), isLooped: true) {
      Issue.record("it never ends")
    }
    #expect(try Self.numbers(source, every: 300, count: 5) == [0, 3, 6, 9, 2])
  }

  @Test func `a file that is cut ends with a fault, and one without pictures just ends`() throws {
    let folder = try TemporaryFolder()
    try Self.save(2, rate: "10:1", to: "a.y4m", in: folder)
    try folder.write(Array(try folder.bytes(of: "a.y4m").dropLast()), to: "cut.y4m")
    let cut = try PlayedVideo(.file(folder.file("cut.y4m")), isLooped: false) {}
    #expect(try Self.numbers(cut, every: 100, count: 3) == [0, nil, nil])
    #expect(cut.fault?.contains("picture 2") == true)
    try folder.write(Array("YUV4MPEG2 W16 H16 F10:1\n".utf8), to: "empty.y4m")
    let empty = try PlayedVideo(.file(folder.file("empty.y4m")), isLooped: true) {}
    #expect(try Self.numbers(empty, every: 100, count: 1) == [nil])
  }

  @Test func `the test picture carries its number and the media time`() throws {
    let source = try PlayedVideo(.test, isLooped: false) {}
    var picture = try #require(VideoPicture(width: 16, height: 16))
    for index in 0..<3 {
      guard case .picture = source.read(into: &picture, at: .milliseconds(1000 + index)) else {
        Issue.record("there is always one")
        return
      }
      #expect(
        TestPictureReader.stamp(of: picture.i420)
          == TestPicture.Stamp(number: UInt16(index), clock: UInt32(1000 + index)))
    }
    #expect(picture.width == 1280 && picture.height == 720)
    #expect(picture.range(of: .red).upperBound == picture.bytes.count)
    #expect(picture.width(of: .blue) == 640 && picture.height(of: .luma) == 720)
  }

  @Test func `what is seen is saved with its times, and the size of the first`() throws {
    let folder = try TemporaryFolder()
    let sink = try VideoFileSink(folder.file("a.ivf"))
    let key = VideoMoment(
      time: .milliseconds(70), mediaTime: .zero, isKeyFrame: true, width: 640, height: 360)
    sink.record([0x10, 1, 2], key)
    sink.show(try #require(VideoPicture(width: 640, height: 360)), key)
    sink.finish()
    sink.finish()
    let bytes = try folder.bytes(of: "a.ivf")
    #expect(Array(bytes[12..<16]) == [0x80, 2, 0x68, 1] && bytes[24] == 1)
    #expect(Array(bytes[32...]) == [3, 0, 0, 0, 70, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 2])
    #expect(sink.fault == nil && sink.shownCount == 1)
    #expect(throws: MediaFileError.self) { try VideoFileSink(folder.file("no/a.ivf")) }
  }

  @Test func `a file named by its first frame is there from then on`() throws {
    let folder = try TemporaryFolder()
    let key = VideoMoment(
      time: .milliseconds(70), mediaTime: .zero, isKeyFrame: true, width: 640, height: 360)
    for (name, isSaved) in [("b.ivf", true), ("b.ivf", false), ("no/b.ivf", false)] {
      let path = folder.file(name)
      let sink = VideoFileSink(overwrites: false) { path }
      sink.record([0x10, 1, 2], key)
      sink.finish()
      #expect((sink.fault == nil) == isSaved)
    }
    VideoFileSink(overwrites: false) { "never named" }.finish()
    #expect(try folder.bytes(of: "b.ivf")[24] == 1)
  }

  /// 320×160: dark, but for a bright quarter at the top left.
  private static func picture(_ rotation: VideoRotation) throws -> VideoPicture {
    var picture = try #require(VideoPicture(width: 320, height: 160))
    picture.rotation = rotation
    let luma = picture.range(of: .luma)
    var bytes = picture.mutableBytes
    for index in luma { bytes[index] = index % 320 < 160 && index / 320 < 80 ? 220 : 30 }
    return picture
  }

  /// The frames of an IVF file, decoded: the size of each, and the brightness of its four quarters.
  private static func look(_ bytes: [UInt8]) throws -> [(width: Int, bright: [Bool])] {
    var decoder = try VP8Decoder()
    var picture = I420Picture(try #require(PictureSize(width: 16, height: 16)))
    var seen: [(width: Int, bright: [Bool])] = []
    var place = 32
    while place + 12 <= bytes.count {
      let count = Int(bytes[place]) | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2]) << 16
      let frame = Array(bytes[(place + 12)..<(place + 12 + count)])
      place += 12 + count
      guard try decoder.decode(frame.span, into: &picture) else { continue }
      let (width, height) = (picture.width, picture.height)
      let bright = [(1, 1), (3, 1), (1, 3), (3, 3)].map { x, y in
        picture.bytes[y * height / 4 * width + x * width / 4] > 120
      }
      seen.append((width, bright))
    }
    return seen
  }

  /// Goal: a player that knows of no rotation shows each picture upright.
  @Test func `pictures that are turned are saved upright`() throws {
    let folder = try TemporaryFolder()
    let sink = try VideoFileSink(folder.file("a.ivf"))
    let size = try #require(PictureSize(width: 320, height: 160))
    var encoder = try VP8Encoder(VP8Encoder.Settings(size: size, bitsPerSecond: 500_000))
    let turns: [VideoRotation] = [.none, .none, .quarter, .quarter, .half, .none, .none]
    for (index, rotation) in turns.enumerated() {
      // As an encoder does that begins anew at the sixth picture.
      if index == 5 { encoder.requestKeyFrame() }
      let picture = try Self.picture(rotation)
      var bytes: [UInt8] = []
      let frame = try #require(
        try encoder.encode(picture.i420, milliseconds: Int64(index * 33), into: &bytes))
      let moment = VideoMoment(
        time: .milliseconds(index * 33), mediaTime: .milliseconds(index * 33),
        isKeyFrame: frame.isKeyFrame, width: 320, height: 160, rotation: rotation)
      sink.record(bytes, moment)
      sink.show(picture, moment)
    }
    sink.finish()
    #expect(sink.fault == nil)
    let seen = try Self.look(try folder.bytes(of: "a.ivf"))
    #expect(seen.map(\.width) == [320, 320, 160, 160, 320, 320, 320])
    let corners = seen.map { $0.bright.firstIndex(of: true) }
    // Top left; by a quarter clockwise, top right; by half, bottom right.
    #expect(corners == [0, 0, 1, 1, 3, 0, 0])
    #expect(seen.allSatisfy { $0.bright.count { $0 } == 1 })
  }
}
