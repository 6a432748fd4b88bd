import Audio
import Primitives
import Testing
import Video

@testable import Earshot

/// The states of all streams of a channel by a relay.
@Suite struct RelayedStreamsTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)
  private var streams = RelayedStreams(now: start)
  private var now = start

  private func told(_ steps: [ChannelRelayStep]) -> [String] {
    steps.map { step in
      guard case .progress(let uid, .streamChanged(let change)) = step else { return "\(step)" }
      return "\(uid ?? 0) \(change.stream): \(change.old) > \(change.new), \(change.reason)"
    }
  }

  @Test mutating func `a host's streams begin with the seat, and end with it`() {
    #expect(streams.add(7, hasScreen: false, now: now).isEmpty)
    #expect(
      told(streams.begin(now: now)) == ["7 audioSubscribe: idle > subscribing, started"])
    now = now + .seconds(1)
    #expect(
      told(streams.add(9, hasScreen: false, now: now)) == [
        "9 audioSubscribe: idle > subscribing, started"
      ])
    let first = streams.change(7, now: now) {
      $0.handleAudioArrival(now: now) + [.firstFrameReceived]
    }
    #expect(told(first).first == "7 remoteAudio: stopped > starting, started")
    #expect(first.last == .firstFrame(uid: 7, elapsed: .seconds(1)))
    let playing = streams.change(7, now: now) {
      $0.handle(AudioNote.playing(isAfterSilence: false), now: now)
    }
    #expect(
      told(playing) == [
        "7 remoteAudio: starting > decoding, firstFrame",
        "7 audioSubscribe: subscribing > subscribed, firstFrame",
      ])
    now = now + .seconds(16)
    let again = streams.change(7, now: now) {
      $0.handle(AudioNote.frozen, now: now)
        + $0.handle(AudioNote.playing(isAfterSilence: true), now: now)
    }
    #expect(again.last == .firstFrame(uid: 7, elapsed: .seconds(17)))
    #expect(
      told(streams.end(now: now)) == [
        "7 remoteAudio: decoding > stopped, remoteOffline",
        "7 audioSubscribe: subscribed > idle, callEnded",
        "9 audioSubscribe: subscribing > idle, callEnded",
      ])
    #expect(told(streams.begin(now: now)).count == 2)
    #expect(
      told(streams.remove(9, now: now)) == ["9 audioSubscribe: subscribing > idle, callEnded"])
    #expect(streams.remove(9, now: now).isEmpty && streams.uids == [7])
  }

  @Test mutating func `what is not wanted of a host says so, also for who comes later`() {
    _ = streams.begin(now: now)
    _ = streams.add(7, hasScreen: true, now: now)
    streams.unwanted.audio.set(true, 7)
    #expect(
      told(streams.applyMutes(now: now)) == [
        "7 audioSubscribe: subscribing > notSubscribed, localMuted"
      ])
    streams.unwanted.audio = HostChoice(all: true)
    #expect(streams.applyMutes(now: now).isEmpty)
    #expect(
      told(streams.add(8, hasScreen: true, now: now)).first
        == "8 audioSubscribe: idle > notSubscribed, localMuted")
    streams.unwanted.audio.set(false, 8)
    #expect(streams.mutes.audio.covers(9) && !streams.mutes.audio.covers(8))
    #expect(
      told(streams.applyMutes(now: now)) == [
        "8 audioSubscribe: notSubscribed > subscribing, localUnmuted"
      ])
    streams.unwanted.video = HostChoice(all: true)
    #expect(streams.mutes.video.isAll)
    _ = streams.applyMutes(now: now)
    #expect(!streams.expectsPictures(of: 7))
    streams.unwanted.video.set(false, 7)
    #expect(!streams.mutes.video.isAll)
    _ = streams.applyMutes(now: now)
    #expect(streams.expectsPictures(of: 7) && !streams.expectsPictures(of: 8))
  }

  @Test mutating func `pictures of a host begin, have a size, pause and return`() throws {
    let small = try #require(PictureSize(width: 320, height: 180))
    let large = try #require(PictureSize(width: 640, height: 360))
    _ = streams.begin(now: now)
    _ = streams.add(7, hasScreen: true, now: now)
    #expect(
      told(streams.changeVideo(of: 7, now: now) { $0.handleArrival() }).first
        == "7 remoteVideo: stopped > starting, remoteUnmuted")
    let shown = streams.handle(
      [.shown(ShownPicture(size: small, isFirst: true))], of: 7, now: now)
    #expect(
      shown.last == .progress(uid: 7, .firstVideoFrameDecoded(width: 320, height: 180)))
    let larger = streams.handle(
      [.shown(ShownPicture(size: large, isFirst: false))], of: 7, now: now)
    #expect(
      larger == [.progress(uid: 7, .remoteVideoSizeChanged(width: 640, height: 360))])
    #expect(
      told(streams.changeVideo(of: 7, now: now) { $0.handle(sends: false, isPaused: false) }) == [
        "7 remoteVideo: decoding > stopped, remoteMuted",
        "7 videoSubscribe: subscribed > notSubscribed, remoteMuted",
      ])
    #expect(!streams.expectsPictures(of: 7))
    _ = streams.changeVideo(of: 7, now: now) { $0.handle(sends: true, isPaused: false) }
    let frame = ShownPicture(size: large, isFirst: false)
    #expect(
      told(streams.handle([.shown(frame)], of: 7, now: now)).first
        == "7 remoteVideo: stopped > decoding, remoteUnmuted")
    #expect(
      told(streams.handleView(.audioOnly, now: now)).first
        == "7 remoteVideo: decoding > frozen, audioFallback")
    #expect(streams.handleView(.audioOnly, now: now).isEmpty)
    #expect(streams.handle([.noDecoder("none")], of: 7, now: now).first == .videoFailed("none"))
    _ = streams.add(8, hasScreen: true, now: now)
    #expect(!streams.expectsPictures(of: 8), "who comes meanwhile shows nothing either")
    let again = streams.restartView(now: now)
    #expect(again.first == .subscribeFallback(.usual) && streams.expectsPictures(of: 8))
    #expect(streams.restartView(now: now).isEmpty, "told once")
    _ = streams.handleView(.lowStream, now: now)
    #expect(streams.restartView(now: now) == [.subscribeFallback(.usual)])
  }
}
