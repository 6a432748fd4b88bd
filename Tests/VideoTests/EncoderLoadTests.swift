import Primitives
import Testing
import Video

@Suite struct EncoderLoadTests {
  static let hd = PictureTests.size(1920, 1080)
  static let last = VideoLadder.rungs.count - 1

  static func load(nanosecondsPerPixel cost: Double) -> EncoderLoad {
    var load = EncoderLoad()
    for _ in 0..<10 { load.handlePicture(.nanoseconds(Int64(cost * 921_600)), pixelCount: 921_600) }
    return load
  }

  @Test func `nothing above 1280×720 is begun before ten pictures were timed`() {
    var load = EncoderLoad()
    for _ in 0..<9 { load.handlePicture(.milliseconds(1), pixelCount: 921_600) }
    let best = load.best(for: Self.hd, framesPerSecond: 30, present: Self.last)
    #expect(VideoLadder.rungs[best].box == PictureTests.size(1280, 720))
  }

  @Test func `a rung that shows no more than the next one is not entered`() {
    let load = Self.load(nanosecondsPerPixel: 1)
    #expect(load.best(for: Self.hd, framesPerSecond: 30, present: 1) == 0)
    #expect(load.best(for: PictureTests.size(1280, 720), framesPerSecond: 30, present: 3) == 1)
    #expect(load.best(for: PictureTests.size(640, 480), framesPerSecond: 30, present: 7) == 3)
    // At 15 pictures a second there is nothing to gain above 320×240 for a picture of this size.
    #expect(load.best(for: PictureTests.size(320, 240), framesPerSecond: 15, present: 7) == 5)
  }

  /// Goal: 30 pictures a second are never begun where they cannot be made, and a host between the
  /// two borders stays where it is. 1920×1080 at 30 is 62.2 million pixels a second.
  @Test func `what the host cannot keep up with is left, and entered with room to spare`() {
    let quick = Self.load(nanosecondsPerPixel: 9)
    #expect(quick.best(for: Self.hd, framesPerSecond: 30, present: 1) == 0)
    let between = Self.load(nanosecondsPerPixel: 12)
    #expect(between.best(for: Self.hd, framesPerSecond: 30, present: 1) == 1)
    #expect(between.best(for: Self.hd, framesPerSecond: 30, present: 0) == 0)
    let slow = Self.load(nanosecondsPerPixel: 40)
    #expect(slow.best(for: Self.hd, framesPerSecond: 30, present: 0) == 2)
    let hopeless = Self.load(nanosecondsPerPixel: 1e6)
    #expect(hopeless.best(for: Self.hd, framesPerSecond: 30, present: 0) == Self.last)
  }

  @Test func `one slow picture changes little, a second of them all`() {
    var load = Self.load(nanosecondsPerPixel: 10)
    load.handlePicture(.nanoseconds(40 * 921_600), pixelCount: 921_600)
    #expect(load.best(for: Self.hd, framesPerSecond: 30, present: 0) == 0)
    for _ in 0..<30 { load.handlePicture(.nanoseconds(40 * 921_600), pixelCount: 921_600) }
    #expect(load.best(for: Self.hd, framesPerSecond: 30, present: 0) > 0)
  }

  /// A host that makes 30 pictures of 1280×720 a second with a tenth of its time, as one was
  /// measured: 3 ns a pixel, half a millisecond a picture at the least, 1.3 ms to make it smaller.
  @Test(arguments: [1.0, 3.0])
  func `small pictures do not say that large ones are too much`(times slower: Double) {
    let small = PictureTests.size(320, 180)
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<20 {
      load.handle(
        EncoderLoad.Times(
          coding: .microseconds(Int64(490 * slower)), scaling: .microseconds(Int64(1300 * slower))),
        pixelCount: small.pixelCount, source: source.pixelCount)
    }
    let best = load.best(for: source, framesPerSecond: 30, present: 5)
    #expect(VideoLadder.rungs[best].box == source)
  }

  @Test func `to make a picture smaller counts at each size but the source's own`() {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<20 {
      load.handle(
        EncoderLoad.Times(coding: .milliseconds(5), scaling: .milliseconds(30)),
        pixelCount: 518_400, source: source.pixelCount)
    }
    // 9 ms at its own size; 35 ms at 960×540, of 33; 26.7 ms alone, below 24 a second.
    let best = load.best(for: source, framesPerSecond: 30, present: 2)
    #expect(VideoLadder.rungs[best].box == source)
  }

  /// Four times slower than a host was measured to be (`VideoQuality speed`): 3.2 ms at 320×240 and
  /// 30 ms at 1280×720, of 33.
  @Test func `nor do small pictures promise large ones that are too much`() {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<20 {
      load.handle(
        EncoderLoad.Times(coding: .microseconds(3200), scaling: .microseconds(5100)),
        pixelCount: 76_800, source: source.pixelCount)
    }
    let best = load.best(for: source, framesPerSecond: 30, present: 5)
    #expect(VideoLadder.rungs[best].box != source)
  }

  @Test func `one that was slow to be made smaller is one of ten`() {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for number in 0..<20 {
      load.handle(
        EncoderLoad.Times(
          coding: .milliseconds(15), scaling: .milliseconds(number == 0 ? 200 : 4)),
        pixelCount: 518_400, source: source.pixelCount)
    }
    // 26.2 ms at its own size, above 0.7 of 33; 25.8 ms at 960×540, below 0.85. If the first one
    // weighed more, each smaller size would seem too much as well.
    let best = load.best(for: source, framesPerSecond: 30, present: 2)
    #expect(VideoLadder.rungs[best].box == PictureTests.size(960, 540))
  }

  @Test func `a small picture on a host that is far too slow lets no large one in`() {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<20 {
      load.handle(
        EncoderLoad.Times(coding: .milliseconds(10)), pixelCount: 57_600,
        source: source.pixelCount)
    }
    // 10 ms a picture; 1280×720 would take 121 ms.
    let best = load.best(for: source, framesPerSecond: 30, present: 5)
    #expect(VideoLadder.rungs[best].box != source)
  }

  /// An encoder's first ten pictures of a size take twice what later ones do: 6 and 2.6 ms were
  /// measured at 720 lines. Here they take what the host cannot keep up with.
  @Test(arguments: [(320, 180, 5), (480, 270, 4), (640, 360, 3), (960, 540, 2)])
  func `a new rung is judged by what it takes once its encoder has its pace`(
    width: Int, height: Int, rung: Int
  ) {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<40 {
      load.handle(
        EncoderLoad.Times(coding: .milliseconds(2), scaling: .milliseconds(2)),
        pixelCount: width * height, source: source.pixelCount)
    }
    load.handleChange()
    for number in 0..<40 {
      let best = load.best(for: source, framesPerSecond: 30, present: 1)
      #expect(VideoLadder.rungs[best].box == source, "after \(number)")
      load.handlePicture(.milliseconds(number < 10 ? 60 : 20), pixelCount: source.pixelCount)
    }
  }

  @Test func `a new rung that is too much is left after twenty pictures`() {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for _ in 0..<40 { load.handlePicture(.microseconds(500), pixelCount: 57_600) }
    load.handleChange()
    var stayed = 0
    while stayed < 100, load.best(for: source, framesPerSecond: 30, present: 1) == 1 {
      load.handlePicture(.milliseconds(40), pixelCount: source.pixelCount)
      stayed += 1
    }
    #expect(stayed == 20)
  }

  /// A program beside it takes the processor for a third of a second, at one of several moments.
  @Test(arguments: [9, 20, 40, 60])
  func `one picture that waited for the processor changes no rung`(at moment: Int) {
    let source = PictureTests.size(1280, 720)
    var load = EncoderLoad()
    for number in 0..<80 {
      load.handlePicture(
        .milliseconds(number == moment ? 330 : 9), pixelCount: source.pixelCount)
      let best = load.best(for: source, framesPerSecond: 30, present: 1)
      if number > 10 { #expect(VideoLadder.rungs[best].box == source, "after \(number)") }
    }
  }

  @Test func `what cannot be is not taken`() {
    var load = EncoderLoad()
    load.handlePicture(.zero, pixelCount: 100)
    load.handlePicture(.milliseconds(1), pixelCount: 0)
    for _ in 0..<9 { load.handlePicture(.milliseconds(1), pixelCount: 100) }
    #expect(load.cost == nil)
  }
}

extension EncoderLoad {
  /// A picture of the source's own size.
  fileprivate mutating func handlePicture(_ took: Duration, pixelCount: Int) {
    handle(Times(coding: took), pixelCount: pixelCount, source: pixelCount)
  }
}
