import Arguments
import Earshot
import MediaFiles
import PeerCommand
import Reactor
import Synchronization
import Testing

struct SoundTests {
  private static func save(_ samples: [Int16], to path: String) throws {
    var writer = try AudioFileWriter(path, channels: 1)
    try writer.write(samples.span)
    try writer.close()
  }

  @Test func `a played file ends once, and is told`() throws {
    let folder = try TemporaryFolder()
    try Self.save((0..<1500).map { Int16($0) }, to: folder.file("in.wav"))
    let ends = Mutex(0)
    let source = try PlayedSource(folder.file("in.wav"), isLooped: false) {
      ends.withLock { $0 += 1 }
    }
    #expect(source.length == 1500 && source.channelCount == 1)
    var samples = [Int16](repeating: -1, count: 1920)
    #expect(source.read(into: &samples, frameCount: 960) == 960)
    #expect(samples[959] == 959)
    #expect(source.read(into: &samples, frameCount: 960) == 540)
    #expect(source.read(into: &samples, frameCount: 960) == 0)
    #expect(ends.withLock { $0 } == 1)
    #expect(source.position == 1500 && source.fault == nil)
  }

  @Test func `a looped file goes on without a gap`() throws {
    let folder = try TemporaryFolder()
    try Self.save((0..<700).map { Int16($0) }, to: folder.file("in.wav"))
    let source = try PlayedSource(folder.file("in.wav"), isLooped: true) {
      Issue.record("it never ends")
    }
    var samples = [Int16](repeating: -1, count: 960)
    #expect(source.read(into: &samples, frameCount: 960) == 960)
    #expect(samples[699] == 699 && samples[700] == 0 && samples[959] == 259)
    #expect(source.length == nil)
  }

  @Test func `without a file a tone sounds, and its level shows`() throws {
    let source = try PlayedSource(nil, isLooped: false) {}
    var samples = [Int16](repeating: 0, count: 960)
    for _ in 0..<50 { #expect(source.read(into: &samples, frameCount: 960) == 960) }
    #expect((-40 ... -10).contains(source.meter.decibels))
  }

  @Test func `a meter knows silence, full scale and what lies between`() {
    let meter = LevelMeter()
    #expect(meter.decibels == -90)
    for _ in 0..<100 { meter.append([Int16](repeating: 16_384, count: 480), count: 480) }
    #expect(abs(meter.decibels + 6.02) < 0.05)
    meter.append([1], count: 2)
    for _ in 0..<200 { meter.append([Int16](repeating: 0, count: 480), count: 480) }
    #expect(meter.decibels == -90)
  }

  @Test func `what is heard is saved to its last sample`() throws {
    let folder = try TemporaryFolder()
    let sink = try AudioFileSink(folder.file("out.wav"), channelCount: 1)
    for _ in 0..<10 { sink.write([Int16](repeating: 5, count: 960), frameCount: 480) }
    sink.finish()
    sink.finish()
    #expect(sink.fault == nil)
    #expect(try AudioFileReader(folder.file("out.wav")).lengthFrames48k == 4800)
    let deaf = try AudioFileSink(nil, channelCount: 2)
    deaf.write([Int16](repeating: 5, count: 960), frameCount: 480)
    deaf.finish()
    #expect(deaf.fault == nil)
  }

  @Test func `the end of a source is told to a queue that comes later, once`() async throws {
    let (stream, feed) = AsyncStream.makeStream(of: SessionInput.self)
    let end = SourceEnd()
    end.report()
    end.connect(to: feed)
    feed.finish()
    var count = 0
    for await input in stream {
      if case .sourceEnded = input { count += 1 }
    }
    #expect(count == 1)
  }

  @Test func `two channels are heard where two are sent`() throws {
    let folder = try TemporaryFolder()
    var writer = try AudioFileWriter(folder.file("in.wav"), channels: 2)
    try writer.write([Int16](repeating: 1, count: 960).span)
    try writer.close()
    for (bitrate, channels) in [("32000", 1), ("64000", 2)] {
      var words = Arguments(["--play", folder.file("in.wav"), "--bitrate", bitrate])
      let opened = try OpenedSound(SoundOptions(&words), call: 1)
      #expect(opened.sink.channelCount == channels)
      #expect(opened.saveName == nil)
    }
  }
}
