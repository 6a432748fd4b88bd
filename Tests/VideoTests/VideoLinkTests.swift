import Primitives
import Testing
import Video

@Suite struct VideoLinkTests {
  /// Issue: capture to decoded p95 ≤ RTT/2 + 60 ms on a clean path.
  @Test func `a clean link shows every picture soon`() throws {
    var link = try SimulatedVideoLink(seed: 1, .init())
    try link.run(milliseconds: 8000)
    let sent = link.sender.statistics
    #expect(link.delays.count >= sent.framesSent - 2 && sent.framesSent > 200)
    #expect(link.misread == 0 && link.failures == 0)
    #expect(link.freezes.freezeCount == 0)
    #expect(link.delayPercentile(0.95) <= 40 / 2 + 60)
    #expect(sent.keyFramesEncoded == 1 && sent.framesDiscarded == 0)
    #expect(sent.retransmittedPacketsSent == 0)
    // The last ones may still wait when the run ends.
    #expect(sent.framesEncoded - sent.framesSent <= 2 && sent.qpSum > 0)
  }

  /// Method: 10 s at 700 kbit/s. Nothing may be shown that is not whole: the stamps tell.
  @Test(arguments: [
    (2, 40, 200), (2, 300, 1500), (5, 100, 1000), (10, 40, 1000), (10, 200, 3000),
  ])
  func `loss is repaired before it is seen`(
    lossPercent: Int, roundTrip: Int, frozen: Int
  ) throws {
    var link = try SimulatedVideoLink(
      seed: UInt64(lossPercent * 1000 + roundTrip),
      .init(lossPercent: lossPercent, roundTrip: roundTrip))
    try link.run(milliseconds: 10_000)
    #expect(link.misread == 0 && link.failures == 0)
    #expect(link.sender.statistics.retransmittedPacketsSent > 0)
    #expect(link.assembler.statistics.retransmittedPacketsReceived > 0)
    #expect(link.delays.count > 200)
    #expect(link.standing <= .milliseconds(frozen))
    #expect(link.freezes.totalFreezesDuration >= link.standing)
    #expect((link.psnr.min() ?? 0) > 25)
  }

  /// Method: 2 s of 100 % loss and on: the picture must be back within a second.
  @Test func `the picture comes back after an outage`() throws {
    var link = try SimulatedVideoLink(seed: 5, .init())
    try link.run(milliseconds: 3000)
    link.conditions.lossPercent = 100
    try link.run(milliseconds: 2000)
    let before = link.delays.count
    link.conditions.lossPercent = 0
    try link.run(milliseconds: 1000)
    #expect(link.delays.count - before >= 10)
    #expect(link.freezes.freezeCount == 1 && link.failures == 0)
    try link.run(milliseconds: 2000)
    #expect(link.delays.count - before >= 60)
    #expect(link.freezes.freezeCount == 1)
  }

  /// The link narrows to a tenth and widens again; the rungs follow.
  @Test func `the picture gets smaller and larger with the bitrate`() throws {
    var link = try SimulatedVideoLink(seed: 6, .init(bitsPerSecond: 800_000))
    try link.run(milliseconds: 4000)
    link.conditions.bitsPerSecond = 80_000
    try link.run(milliseconds: 6000)
    link.conditions.bitsPerSecond = 800_000
    try link.run(milliseconds: 6000)
    #expect(
      link.sizes.map(\.width) == [640, 240, 640] || link.sizes.map(\.width) == [640, 160, 640])
    #expect(link.misread == 0 && link.failures == 0)
    #expect(link.freezes.totalFreezesDuration < .milliseconds(1500))
  }
}
