import Congestion
import Primitives
import Testing
import Video
import Wire

@testable import Earshot
@testable import Peer

/// A host's usual and low stream at who watches, and the own low one.
struct RelayedPictureStreamTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  /// A picture of one fragment; number 0 is a key frame.
  private func show(
    _ number: UInt16, of stream: UInt8, at mediaTime: UInt32, to pictures: RelayedPictureStream
  ) {
    let header = VideoMediaFrame(
      stream: stream, number: number, mediaTime: mediaTime, isKeyFrame: number == 0,
      temporalLayer: 0, references: (number == 0 ? 0 : 1, 0))
    let bytes: [UInt8] = [stream, UInt8(truncatingIfNeeded: number)]
    pictures.handle(header, bytes.span, now: start)
  }

  private func poll(_ pictures: RelayedPictureStream) -> [UInt8]? {
    var bytes: [UInt8] = []
    return pictures.poll(into: &bytes, now: start) == nil ? nil : bytes
  }

  @Test func `the other stream begins with its key frame, and the former is over`() {
    let pictures = RelayedPictureStream(source: 1)
    show(0, of: 0, at: 0, to: pictures)
    show(1, of: 0, at: 853, to: pictures)
    #expect(poll(pictures) == [0, 0] && poll(pictures) == [0, 1] && poll(pictures) == nil)
    show(0, of: 1, at: 1706, to: pictures)
    #expect(poll(pictures) == [1, 0] && pictures.current == 1)
    show(0, of: 0, at: 100, to: pictures)
    #expect(poll(pictures) == nil && pictures.current == 1)
    // A key frame of the same moment as a picture of the low stream.
    show(0, of: 0, at: 1706, to: pictures)
    show(1, of: 0, at: 2559, to: pictures)
    #expect(poll(pictures) == [0, 0] && poll(pictures) == [0, 1] && pictures.current == 0)
  }

  /// Fragments of hosts' pictures, 100 ms apart, and whose there are of which something was kept.
  private struct Screen {
    let pictures = RelayedPictures(
      VideoSettings(), receives: true)
    var now = Instant(nanoseconds: 1_000_000_000)

    mutating func show(_ hosts: ClosedRange<UInt32>, _ numbers: Range<UInt16>) {
      for number in numbers {
        for host in hosts {
          let header = VideoMediaFrame(
            stream: 0, number: number, mediaTime: UInt32(number) * 9000, isKeyFrame: number == 0,
            temporalLayer: 0, references: (number == 0 ? 0 : 1, 0))
          let bytes: [UInt8] = [1]
          _ = pictures.handle(
            header, bytes.span, of: host, source: UInt8(truncatingIfNeeded: host), now: now)
        }
        now = now + .milliseconds(100)
      }
    }

    func packets(_ host: UInt32) -> Int? { pictures.statistics(of: host)?.packetsReceived }
  }

  /// Goal: whoever begins to show pictures is seen, however many have done so before; nobody is cut
  /// who may be watched.
  @Test func `a seventeenth host has the memory of one that shows nothing any more`() {
    var screen = Screen()
    screen.show(1...16, 0..<20)
    screen.show(17...17, 0..<20)
    #expect(screen.packets(17) == nil && screen.packets(1) == 20)
    // Hosts 2 to 16 go on.
    screen.show(2...16, 20..<130)
    screen.show(17...17, 20..<30)
    #expect(screen.packets(17) == 10)
    screen.show(2...17, 130..<140)
    #expect((2...16).allSatisfy { screen.packets($0) == 140 } && screen.packets(17) == 20)
    // The first one is back, and has what it had; now nobody is silent.
    screen.show(1...1, 20..<30)
    #expect(screen.packets(1) == 20)
    screen.pictures.setUnwanted(true, 5)
    screen.show(1...1, 30..<40)
    #expect(screen.packets(1) == 30 && screen.packets(5) == 140)
  }

  /// A relay may say of frames what it likes.
  @Test func `hosts that there are not take no memory without end`() {
    var screen = Screen()
    for host in UInt32(1)...500 {
      screen.show(host...host, 0..<1)
      screen.now = screen.now + .seconds(1)
    }
    #expect((1...500).count { screen.packets($0) != nil } == 64)
  }

  @Test func `a low picture for which the queue has no room is left out, and the stream goes on`()
    throws
  {
    var low = RelayedLowStream(
      SmallVideo(width: 320, height: 180, framesPerSecond: 15, bitsPerSecond: 100_000))
    let uplink = Uplink(EstimatorLimits())
    low.handleWanted(100_000, now: start)
    let first = low.demand(uplink, now: start)
    #expect(first.map { $0.bitsPerSecond > 0 } == true)
    let size = try #require(PictureSize(width: 320, height: 180))
    let frame = EncodedFrame(
      isKeyFrame: true, size: size, place: TemporalPattern(layerCount: 2).place(isKeyFrame: true),
      quantizer: 20, byteCount: 60_000)
    var bytes = [UInt8](repeating: 1, count: 60_000)
    let isSent = low.send(frame, bytes: &bytes, mediaTime: 0, now: start)
    let next = low.demand(uplink, now: start)
    #expect(isSent && next?.bitsPerSecond == 0 && next?.needsKeyFrame == false)
    let last = low.demand(uplink, now: start + .seconds(10))
    #expect(last == nil, "nobody is to have it")
  }

  @Test func `a picture that is left out costs no key frame, and one that was asked for comes`()
    throws
  {
    let size = try #require(PictureSize(width: 640, height: 360))
    let picture = I420Picture(size)
    var low = LowVideoSending(framesPerSecond: 30)
    var demand = VideoDemand(bitsPerSecond: 100_000, needsKeyFrame: false)
    demand.box = PictureSize(width: 160, height: 90)
    var none = VideoDemand(bitsPerSecond: 0, needsKeyFrame: false)
    let asked: [Bool?] = [nil, false, nil, true, nil, nil]
    var keys: [Bool?] = []
    for (step, isAsked) in asked.enumerated() {
      none.needsKeyFrame = isAsked ?? false
      let wish = isAsked == nil ? demand : none
      keys.append(try low.encode(picture, milliseconds: Int64(step) * 33, wish)?.isKeyFrame)
    }
    #expect(keys == [true, nil, false, nil, true, false])
  }

  @Test func `a low stream is wanted for ten seconds after each word, if it is offered`() {
    let some = SmallVideo(width: 320, height: 180, framesPerSecond: 15, bitsPerSecond: 100_000)
    for small in [some, nil] {
      var low = RelayedLowStream(small)
      #expect(low.taken(now: start) == 0 && low.offer(nil) == 0)
      low.handleWanted(100_000, now: start)
      #expect((low.taken(now: start + .seconds(9)) > 100_000) == (small != nil))
      #expect(low.taken(now: start + .seconds(10)) == 0)
      low.handleWanted(0, now: start + .seconds(1))
      #expect(low.taken(now: start + .seconds(2)) == 0)
    }
  }
}
