import Primitives
import Testing
import Video

@testable import Earshot

/// The events of the other side's video, as an application sees them.
@Suite struct RemoteVideoTests {
  private static let small = I420Picture(VideoLadder.rungs[5].box).size
  private static let large = I420Picture(VideoLadder.usual.box).size

  private static func decoding() -> RemoteVideo {
    var video = RemoteVideo()
    _ = video.handle(sends: true, isPaused: false)
    _ = video.handleArrival()
    _ = video.handle(ShownPicture(size: small, isFirst: true))
    return video
  }

  @Test func `it starts, decodes, and changes its size`() {
    var video = RemoteVideo()
    #expect(video.handle(sends: true, isPaused: false).isEmpty)
    #expect(video.handleArrival() == [.remoteVideoChanged(.starting, .remoteUnmuted)])
    #expect(video.handleArrival().isEmpty)
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: true)) == [
        .remoteVideoChanged(.decoding, .remoteUnmuted),
        .firstVideoFrameDecoded(width: 320, height: 240),
      ])
    #expect(
      video.handle(ShownPicture(size: Self.large, isFirst: false)) == [
        .remoteVideoSizeChanged(width: 1280, height: 720)
      ])
  }

  @Test func `the other side mutes and unmutes`() {
    var video = Self.decoding()
    #expect(
      video.handle(sends: false, isPaused: false) == [
        .remoteVideoMuted(true), .remoteVideoChanged(.stopped, .remoteMuted),
      ])
    #expect(!video.isExpected)
    // A frame that was on its way changes nothing.
    #expect(video.handle(ShownPicture(size: Self.small, isFirst: false)).isEmpty)
    #expect(video.handle(sends: true, isPaused: false) == [.remoteVideoMuted(false)])
    #expect(video.handleArrival() == [.remoteVideoChanged(.starting, .remoteUnmuted)])
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: false)) == [
        .remoteVideoChanged(.decoding, .remoteUnmuted)
      ])
  }

  @Test func `that there never was any is not muting`() {
    var video = RemoteVideo()
    #expect(video.handle(sends: false, isPaused: false).isEmpty)
    #expect(!video.isExpected)
    #expect(video.handle(sends: true, isPaused: false) == [.remoteVideoMuted(false)])
  }

  @Test func `the other side falls back to audio alone and returns`() {
    var video = Self.decoding()
    #expect(
      video.handle(sends: false, isPaused: true) == [
        .remoteVideoMuted(true), .remoteVideoChanged(.frozen, .audioFallback),
      ])
    #expect(!video.isExpected)
    #expect(video.handle(sends: true, isPaused: false) == [.remoteVideoMuted(false)])
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: false)) == [
        .remoteVideoChanged(.decoding, .audioFallbackRecovery)
      ])
  }

  @Test func `this side asks for audio alone and for video again`() {
    var video = Self.decoding()
    #expect(
      video.handle(subscribesAudioOnly: true) == [.remoteVideoChanged(.frozen, .audioFallback)])
    #expect(video.handle(subscribesAudioOnly: false).isEmpty && video.isExpected)
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: true)) == [
        .remoteVideoChanged(.decoding, .audioFallbackRecovery),
        .firstVideoFrameDecoded(width: 320, height: 240),
      ])
  }

  @Test func `this side does not want it, and wants it again`() {
    var video = Self.decoding()
    #expect(video.handle(isUnwanted: true) == [.remoteVideoChanged(.stopped, .localMuted)])
    // That the other side leaves it out then is no news.
    #expect(video.handle(sends: false, isPaused: true).isEmpty)
    #expect(video.handleFreeze().isEmpty && video.handleArrival().isEmpty)
    #expect(video.handle(isUnwanted: false).isEmpty)
    #expect(video.handle(sends: true, isPaused: false).isEmpty)
    #expect(video.handleArrival() == [.remoteVideoChanged(.starting, .localUnmuted)])
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: false)) == [
        .remoteVideoChanged(.decoding, .localUnmuted)
      ])
  }

  @Test func `it freezes for want of pictures, and recovers`() {
    var video = Self.decoding()
    #expect(video.handleFreeze() == [.remoteVideoChanged(.frozen, .networkCongestion)])
    #expect(video.handleFreeze().isEmpty)
    #expect(
      video.handle(ShownPicture(size: Self.small, isFirst: false)) == [
        .remoteVideoChanged(.decoding, .networkRecovery)
      ])
    #expect(video.handleFailure() == [.remoteVideoChanged(.failed, .internalFailure)])
  }
}

@Suite struct LipBalanceTests {
  /// Pictures so much behind their sound, `seconds` long at 30 a second; the holds that were asked
  /// for.
  private static func run(
    _ balance: inout LipBalance, late: Int, seconds: Int, from second: Int
  ) -> [Duration] {
    (0..<(seconds * 30)).compactMap { index in
      let now = Instant(nanoseconds: UInt64(second + 1) * 1_000_000_000)
      return balance.recordOffset(.milliseconds(late), now: now + .milliseconds(index * 1000 / 30))
    }
  }

  @Test func `sound waits for pictures that are far behind, and no longer than bearable`() {
    var balance = LipBalance()
    #expect(Self.run(&balance, late: 25, seconds: 5, from: 0).isEmpty)
    #expect(Self.run(&balance, late: 70, seconds: 2, from: 5) == [.milliseconds(55)])
    // It has followed: nothing changes.
    #expect(Self.run(&balance, late: 15, seconds: 5, from: 7).isEmpty)
    #expect(Self.run(&balance, late: 400, seconds: 2, from: 12) == [.milliseconds(120)])
  }

  @Test func `what the pictures no longer need is given back`() {
    var balance = LipBalance()
    _ = Self.run(&balance, late: 60, seconds: 2, from: 0)
    #expect(balance.hold == .milliseconds(45))
    let holds = Self.run(&balance, late: -30, seconds: 12, from: 2)
    #expect(holds.last == .zero && holds.count == 5)
  }
}
