import Testing

@testable import Audio

@Suite struct SentFramesTests {
  @Test func `keeps the last 64 frames, both ways of coding them`() throws {
    var frames = SentFrames()
    for number in 0..<100 {
      frames.add(
        [UInt8(number), 1, 2], [UInt8(number)], mediaTime: UInt16(number * 2),
        length: .milliseconds20)
    }
    #expect(frames.slot(mediaTime: 70) == nil, "65 frames ago")
    let slot = try #require(frames.slot(mediaTime: 72))
    #expect(frames[slot].primaryByteCount == 3 && frames[slot].lowRateByteCount == 1)
    let bytes = frames.primary(slot)
    #expect(bytes[0] == 36)
    let copy = frames.lowRate(slot)
    #expect(copy[0] == 36)
    #expect(frames.wanted == nil)
  }

  @Test func `what is wanted comes oldest first`() throws {
    var frames = SentFrames()
    for number in 0..<80 {
      frames.add([1], [], mediaTime: UInt16(number * 2), length: .milliseconds20)
    }
    let newer = try #require(frames.slot(mediaTime: 150))
    let older = try #require(frames.slot(mediaTime: 40))
    frames[newer].isWanted = true
    frames[older].isWanted = true
    #expect(frames.wanted == older)
    frames[older].isWanted = false
    #expect(frames.wanted == newer)
  }
}
