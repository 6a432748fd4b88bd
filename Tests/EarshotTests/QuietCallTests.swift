import Earshot
import Testing

/// Calls in which a side sends no sound: from the beginning, for a while, or at all.
extension CallTests {
  /// Goal: whoever has no source listens: the call is connected at both ends, the other side is
  /// told that nothing will be heard, and nothing is graded in a direction that carries nothing.
  @Test(.timeLimit(.minutes(1)), arguments: [(false, true), (true, false), (false, false)])
  func `a call without a source holds`(callerSpeaks: Bool, calleeSpeaks: Bool) async throws {
    let town = try await LoopbackTown()
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    let options = { speaks in CallOptions(source: speaks ? Tone() : nil, sink: Ear()) }
    let call = try await town.alice.call("bob", options: options(callerSpeaks))
    let incoming = try #require(await bob.incoming())
    try await town.bob.call(incoming.id).accept(options(calleeSpeaks))
    await alice.connected()
    await bob.connected()
    let atAlice = try #require(await alice.statistics())
    let atBob = try #require(await bob.statistics())
    #expect(alice.remoteMutes == (calleeSpeaks ? [] : [true]))
    #expect(bob.remoteMutes == (callerSpeaks ? [] : [true]))
    #expect((atAlice.qualityTx > 0) == callerSpeaks && (atBob.qualityRx > 0) == callerSpeaks)
    #expect((atBob.qualityTx > 0) == calleeSpeaks && (atAlice.qualityRx > 0) == calleeSpeaks)
    await call.hangUp()
    let atCaller = try #require(await alice.report())
    let atCallee = try #require(await bob.report())
    #expect(atCaller.outcome == .completed && atCallee.outcome == .completed)
    for (report, hears, speaks) in [
      (atCaller, calleeSpeaks, callerSpeaks), (atCallee, callerSpeaks, calleeSpeaks),
    ] {
      let numbers = try #require(report.statistics)
      #expect((numbers.received.mos != nil) == hears)
      #expect((numbers.qualityRx > 0) == hears && (numbers.qualityTx > 0) == speaks)
      #expect(hears || numbers.received.concealedSamples == 0)
      #expect((numbers.audio?.inbound.audibleDuration ?? 0 > 0) == hears)
    }
    #expect(calleeSpeaks || alice.qualityChanges == 0)
    #expect(callerSpeaks || bob.qualityChanges == 0)
    await town.close()
  }

  /// Goal: a side that starts muted is announced as muted at once, is neither graded nor counted as
  /// lost, and is heard and graded as any other when it unmutes.
  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func `a side that starts muted is told, and heard later`(isCaller: Bool) async throws {
    let town = try await LoopbackTown()
    var muted = CallOptions(source: Tone(), sink: Ear())
    muted.startsMuted = true
    let loud = CallOptions(source: Tone(), sink: Ear())
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    let call = try await town.alice.call("bob", options: isCaller ? muted : loud)
    let incoming = try #require(await bob.incoming())
    try await town.bob.call(incoming.id).accept(isCaller ? loud : muted)
    await alice.connected()
    await bob.connected()
    // Who listens to the muted side.
    var listener = isCaller ? bob : alice
    for _ in 0..<2 {
      let numbers = try #require(await listener.statistics())
      #expect(listener.remoteMutes == [true])
      #expect(numbers.received.mos == nil && numbers.qualityRx == 0)
      #expect(numbers.received.concealedSamples == 0)
      #expect(numbers.audio?.quality.frozenMs == 0 && numbers.audio?.quality.activeMs == 0)
    }
    #expect(listener.qualityChanges == 0)
    try await (isCaller ? town.alice : town.bob).call(call.id).setAudioMuted(false)
    var last: CallStatistics?
    for _ in 0..<3 { last = await listener.statistics() }
    #expect(listener.remoteMutes == [true, false])
    let heard = try #require(last)
    // A host under load may conceal some of it; the 4 s of silence would be nearly all.
    #expect(try #require(heard.received.mos) > 2 && (1...5).contains(heard.qualityRx))
    #expect(heard.received.concealedFraction < 0.3)
    await call.hangUp()
    #expect(await listener.report()?.outcome == .completed)
    await town.close()
  }
}
