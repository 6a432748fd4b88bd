import Synchronization
import Testing
import Video

@testable import Earshot

/// Muting single members of a channel, over loopback (`ChannelMutes`).
@Suite struct ChannelMutesTests {
  /// After 200 ms, for what was on its way.
  private func hasNoise(_ sound: GatheredSound, from start: Int) -> Bool {
    sound.samples.dropFirst(start + 9600).contains { abs(Int($0)) > 1000 }
  }

  /// Goal: one method, whichever way the sound comes.
  @Test(.timeLimit(.minutes(1)))
  func `who is muted stays so when the way changes, and when it comes back`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    let ofBob = GatheredSound()
    var alice = try await MediaMember(endpoints[0], .host, .relay, own: ofBob)
    var bob = try await MediaMember(endpoints[1], .host, .relay)
    let bobs = try #require(await bob.joined())
    let media = alice.media
    await #expect(throws: EarshotError.self) {
      try await media.setRemoteAudioMuted(true, of: bobs &+ 1000)
    }
    #expect(await alice.firstFrame() == bobs)
    try await media.setRemoteAudioMuted(true, of: bobs)
    let start = ofBob.samples.count
    await alice.relayNumbers()
    await alice.relayNumbers()
    #expect(!hasNoise(ofBob, from: start), "by the relay")
    await town.killRelay()
    // Calls take its place.
    #expect(await alice.numbers() != nil)
    #expect(await alice.numbers() != nil)
    #expect(await bob.numbers()?.received.packetsReceived ?? 0 > 20)
    #expect(!hasNoise(ofBob, from: start), "by a call")
    await bob.media.leave()
    try await expectReturn(endpoints[1], &alice, ofBob, from: start)
    await media.leave()
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
    for member in [alice, bob] { member.finish() }
  }

  private func expectReturn(
    _ bob: Endpoint, _ alice: inout MediaMember, _ ofBob: GatheredSound, from start: Int
  ) async throws {
    var again = try await MediaMember(bob, .host, .mesh)
    let uid = try #require(await again.joined())
    #expect(await alice.firstFrame() == uid)
    #expect(await alice.numbers() != nil)
    #expect(!hasNoise(ofBob, from: start), "by another call")
    try await alice.media.setRemoteAudioMuted(false, of: uid)
    let unmuted = ofBob.samples.count
    #expect(await alice.numbers() != nil)
    #expect(hasNoise(ofBob, from: unmuted))
    again.finish()
  }

  @Test(.timeLimit(.minutes(1)))
  func `whose pictures are not wanted sends none`() async throws {
    let town = try await LoopbackTown()
    let size = try #require(PictureSize(width: 160, height: 120))
    var alice = try await MediaMember(town.alice, .host) { $0.makeVideoSink = { _ in Eye() } }
    var bob = try await MediaMember(town.bob, .host) { $0.makeVideoSource = { Camera(size) } }
    let bobs = try #require(await bob.joined())
    #expect(await alice.firstPicture() == bobs)
    try await alice.media.setRemoteVideoMuted(true, of: bobs)
    #expect(await bob.isSeen() == false)
    // What holds for all holds for it as well.
    await alice.media.setAllRemoteVideoMuted(false)
    #expect(await bob.isSeen() == true)
    await alice.media.setAllRemoteAudioMuted(true)
    try await alice.media.setRemoteAudioMuted(false, of: bobs)
    let choice = await alice.media.mutes.unwanted
    #expect(choice.audio.all && choice.audio.hasExceptions && !choice.video.all)
    await town.close()
    for member in [alice, bob] { member.finish() }
  }

  /// Seeds' callback 25, in a channel by a relay.
  @Test(.timeLimit(.minutes(1)))
  func `by a relay others are told how pictures are turned`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    let size = try #require(PictureSize(width: 160, height: 120))
    let eye = Eye()
    var alice = try await MediaMember(endpoints[0], .host, .relay) {
      $0.makeVideoSink = { _ in eye }
    }
    let bob = try await MediaMember(endpoints[1], .host, .relay) {
      $0.makeVideoSource = { Camera(size, rotation: .quarter) }
    }
    let turn = await alice.first { step -> VideoRotation? in
      guard case .relay(.progress(_, .remoteVideoRotated(let turn))) = step else { return nil }
      return turn
    }
    #expect(turn == .quarter)
    // Each picture by itself: the first ones are as the camera gave them.
    let turns = eye.sights.withLock { $0.map { ($0.stamp.number, $0.moment.rotation) } }
    #expect(turns.allSatisfy { number, turn in turn == (number < 10 ? .none : .quarter) })
    for member in [alice, bob] {
      await member.media.leave()
      member.finish()
    }
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
  }

  @Test func `a choice is for all or for none, but for some`() {
    var choice = HostChoice<UInt32>()
    #expect(!choice.covers(7) && !choice.isAll && !choice.hasExceptions)
    choice.set(true, 7)
    #expect(choice.covers(7) && !choice.covers(8) && choice.hasExceptions)
    choice.set(false, 7)
    #expect(choice == HostChoice())
    choice = HostChoice(all: true)
    #expect(choice.isAll && choice.covers(7))
    choice.set(false, 7)
    #expect(!choice.isAll && !choice.covers(7) && choice.covers(8))
    choice.remove(7)
    #expect(choice.isAll && choice.startsAnew(after: HostChoice()))
    #expect(!choice.startsAnew(after: choice))
    for host in 0..<4096 as Range<UInt32> {
      #expect(choice.admits(false, host))
      choice.set(false, host)
    }
    #expect(!choice.admits(false, 4096) && choice.admits(false, 0) && choice.admits(true, 4096))
    choice.set(false, 4096)
    #expect(!choice.covers(4095) && choice.covers(4096))
  }
}
