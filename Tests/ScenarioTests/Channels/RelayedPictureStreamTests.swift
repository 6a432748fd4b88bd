import Primitives
import Testing
import Video
import Wire

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
