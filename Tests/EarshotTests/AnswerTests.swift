import Earshot
import Testing
import Video

extension CallTests {
  /// Goal: the caller knows whom it talks to from the answer on, and the callee at the ring whether
  /// video is offered.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `the caller is told who answered`(hasVideo: Bool) async throws {
    let town = try await LoopbackTown()
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    var options = CallOptions(source: Tone(), sink: Ear())
    let size = try #require(PictureSize(width: 160, height: 120))
    if hasVideo { options.videoSource = Camera(size) }
    let call = try await town.alice.call("bob", options: options)
    let incoming = try #require(await bob.incoming())
    #expect(incoming.offersVideo == hasVideo)
    #expect(await town.bob.call(incoming.id).peer?.id == town.alice.id)
    var answer = CallOptions(source: Tone(), sink: Ear())
    answer.userExtension = #"{"desk":7}"#
    try await town.bob.call(incoming.id).accept(answer)
    let answered = await alice.first { event -> CallPeer? in
      if case .callProgress(_, .answered(let peer)) = event { peer } else { nil }
    }
    let peer = try #require(answered)
    #expect(peer.id == town.bob.id && peer.name == "bob" && peer.trust == .new)
    #expect(peer.userExtension == #"{"desk":7}"#)
    #expect(await call.peer == peer)
    await alice.connected()
    await bob.connected()
    await call.hangUp()
    let report = try #require(await alice.report())
    #expect(report.peer == peer.id && report.trust == peer.trust)
    #expect(await call.peer == nil)
    await town.close()
  }

  /// Goal: who calls a program that takes no calls hears at once why.
  @Test(.timeLimit(.minutes(1)))
  func `a program that leaves a call to others says why`() async throws {
    let town = try await LoopbackTown()
    var (alice, bob) = (await Story(town.alice), await Story(town.bob))
    _ = try await town.alice.call("bob", options: CallOptions(source: Tone(), sink: Ear()))
    let incoming = try #require(await bob.incoming())
    try await town.bob.call(incoming.id).leaveToOthers(reason: "it takes files only now")
    let report = try #require(await alice.report())
    #expect(report.outcome == .rejected)
    #expect(report.reason == "The other side does not take the call (it takes files only now).")
    await town.close()
  }

  /// Goal: whoever calls somebody whose call rings here answers it, and there is one call.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `calling somebody who rings answers`(byName: Bool) async throws {
    let town = try await LoopbackTown()
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    let options = CallOptions(source: Tone(), sink: Ear())
    _ = try await town.alice.call("bob", options: options)
    let incoming = try #require(await bob.incoming())
    let target = byName ? "alice" : town.alice.id.description
    let call = try await town.bob.call(target, options: options)
    #expect(call.id == incoming.id)
    let answered = await bob.first { event -> CallPeer? in
      if case .callProgress(_, .answered(let peer)) = event { peer } else { nil }
    }
    #expect(answered?.id == town.alice.id)
    await alice.connected()
    await bob.connected()
    await call.hangUp()
    #expect(await alice.report()?.outcome == .completed)
    await town.close()
  }

  /// Goal: the same when both call each other: whoever's invitation gave way is told as well.
  @Test(.timeLimit(.minutes(1)))
  func `both who call each other are told who answered, and their wishes hold`() async throws {
    let town = try await LoopbackTown()
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    var muted = CallOptions(source: Tone(), sink: Ear())
    muted.startsMuted = true
    let (first, second) = (town.alice, town.bob)
    async let one = first.call("bob", options: muted)
    async let other = second.call("alice", options: muted)
    let calls = try await [one, other]
    for index in 0...1 {
      var story = index == 0 ? alice : bob
      let answered = await story.first { event -> CallPeer? in
        if case .callProgress(_, .answered(let peer)) = event { peer } else { nil }
      }
      #expect(answered?.id == (index == 0 ? town.bob.id : town.alice.id))
      await story.connected()
      if index == 0 { alice = story } else { bob = story }
    }
    _ = await alice.statistics()
    _ = await bob.statistics()
    #expect(alice.remoteMutes == [true] && bob.remoteMutes == [true])
    for call in calls { await call.hangUp() }
    #expect(await alice.report()?.statistics?.received.mos == nil)
    await town.close()
  }
}
