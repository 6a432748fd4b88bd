import Primitives
import Testing
import Video
import Wire

/// What a receiver keeps is bounded, whatever comes.
@Suite struct FragmentStoreTests {
  @Test func `when the store is full all is thrown away and a key frame asked for`() {
    var assembler = VideoAssembler()
    let now = VideoLadderTests.moment(1)
    let payload = [UInt8](repeating: 1, count: 1150)
    // Five frames of 256 fragments each, of which the last never comes: one more than
    // there is room.
    for number in 0..<5 as Range<UInt16> {
      for index in 0..<255 as Range<UInt8> {
        var frame = VideoMediaFrame(
          number: number, mediaTime: 0, isKeyFrame: true, temporalLayer: 0, references: (0, 0))
        frame.fragmentIndex = index
        frame.lastFragmentIndex = 255
        assembler.handle(frame, payload.span, now: now)
        #expect(assembler.fragmentCount <= VideoLimits.fragments)
      }
    }
    #expect(assembler.statistics.resetCount == 1)
    #expect(assembler.fragmentCount < 256)
    let request = MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: now) }
    #expect(request.count >= 5 && request[1] & 4 != 0)
  }

  @Test func `a fragment that contradicts the others of its frame is dropped`() {
    let first: [UInt8] = [1]
    let second: [UInt8] = [2]
    var assembler = VideoAssembler()
    let now = VideoLadderTests.moment(1)
    var frame = VideoMediaFrame(
      number: 3, mediaTime: 5, isKeyFrame: true, temporalLayer: 0, references: (0, 0))
    frame.lastFragmentIndex = 1
    assembler.handle(frame, first.span, now: now)
    frame.fragmentIndex = 1
    frame.mediaTime = 6
    assembler.handle(frame, second.span, now: now)
    #expect(assembler.statistics.packetsDiscarded == 1)
    frame.mediaTime = 5
    assembler.handle(frame, second.span, now: now)
    #expect(assembler.takeFrames(now: now).map(\.1) == [[1, 2]])
  }
}
