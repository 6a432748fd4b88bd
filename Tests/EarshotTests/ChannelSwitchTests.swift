import Testing
import Video

@testable import Earshot

/// Seeds' callbacks 42, 43 and 84 in channels: what a host switches off.
@Suite struct ChannelSwitchTests {
  /// What alice is told of bob, by a call and by a relay in the same words.
  private func switched(_ alice: inout MediaMember) async -> CallProgress? {
    await alice.first { step in
      let progress: CallProgress
      switch step {
      case .progress(_, let told), .relay(.progress(.some, let told)): progress = told
      default: return nil
      }
      switch progress {
      case .remoteAudioEnabled, .remoteVideoEnabled, .remoteAudioCaptureEnabled,
        .remoteVideoCaptureEnabled:
        return progress
      default: return nil
      }
    }
  }

  private func steps(_ part: MediaPart, _ isOn: Bool) -> CallProgress {
    switch part {
    case .audio: .remoteAudioEnabled(isOn)
    case .video: .remoteVideoEnabled(isOn)
    case .audioSource: .remoteAudioCaptureEnabled(isOn)
    case .videoSource: .remoteVideoCaptureEnabled(isOn)
    }
  }

  private func expectSwitches(_ alice: inout MediaMember, _ bob: MediaMember) async {
    for part in MediaPart.allCases {
      for isOn in [false, true] {
        await bob.media.setEnabled(isOn, part)
        #expect(await switched(&alice) == steps(part, isOn))
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `in a mesh the others are told what was switched`() async throws {
    let town = try await LoopbackTown()
    let size = try #require(PictureSize(width: 160, height: 120))
    var alice = try await MediaMember(town.alice, .host) { $0.makeVideoSink = { _ in Eye() } }
    var bob = try await MediaMember(town.bob, .host) { $0.makeVideoSource = { Camera(size) } }
    let bobs = try #require(await bob.joined())
    #expect(await alice.firstPicture() == bobs)
    await expectSwitches(&alice, bob)
    await town.close()
    for member in [alice, bob] { member.finish() }
  }

  @Test(.timeLimit(.minutes(1)))
  func `by a relay the others are told what was switched`() async throws {
    let town = try RelayTown()
    let endpoints = try await town.pair()
    let size = try #require(PictureSize(width: 160, height: 120))
    let ofBob = GatheredSound()
    var alice = try await MediaMember(endpoints[0], .host, .relay, own: ofBob) {
      $0.makeVideoSink = { _ in Eye() }
    }
    let bob = try await MediaMember(endpoints[1], .host, .relay) {
      $0.makeVideoSource = { Camera(size) }
    }
    #expect(await alice.firstFrame() != nil)
    await expectSwitches(&alice, bob)
    // Who has switched all sound off hears nobody either.
    await alice.media.setEnabled(false, .audio)
    let start = ofBob.samples.count
    await alice.relayNumbers()
    await alice.relayNumbers()
    #expect(!ofBob.samples.dropFirst(start + 9600).contains { abs(Int($0)) > 1000 })
    for member in [alice, bob] {
      await member.media.leave()
      member.finish()
    }
    for endpoint in endpoints { await endpoint.close() }
    town.stop()
  }
}
