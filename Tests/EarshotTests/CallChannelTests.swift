import Calling
import Peer
import Reactor
import Testing

@testable import Earshot

/// A call of two that becomes a channel, through the public interface, over loopback.
@Suite struct CallChannelTests {
  /// One end of the first call that it has.
  private struct Side {
    let call: Call
    let room: CallChannel
    var story: Story
    private var iterator: AsyncStream<CallChannelStep>.Iterator

    init(_ story: Story, _ call: Call, hasAgreed: Bool = false) async throws {
      let (steps, feed) = AsyncStream.makeStream(of: CallChannelStep.self)
      var options = CallChannel.Options(makeCall: { Side.options }) { feed.yield($0) }
      options.hasAgreed = hasAgreed
      (self.story, self.call) = (story, call)
      room = try await call.allowChannel(options)
      iterator = steps.makeAsyncIterator()
    }

    /// Whoever calls.
    init(_ endpoint: Endpoint, calling name: String) async throws {
      let story = await Story(endpoint)
      try await self.init(story, try await endpoint.call(name, options: Self.options))
    }

    /// Whoever answers.
    init(answering story: Story, hasAgreed: Bool = false) async throws {
      var story = story
      let incoming = try #require(await story.incoming())
      let call = await story.endpoint.call(incoming.id)
      try await self.init(story, call, hasAgreed: hasAgreed)
      try await call.accept(Self.options)
    }

    static var options: CallOptions {
      var options = CallOptions(source: Tone(), sink: GatheredSound())
      options.followsChannels = true
      return options
    }

    /// Reads on until `found` gives something.
    mutating func first<Found>(_ found: (CallChannelStep) -> Found?) async -> Found? {
      while let step = await iterator.next(isolation: #isolation) {
        if let result = found(step) { return result }
      }
      return nil
    }

    mutating func became() async -> Bool? {
      await first { if case .became(_, let isOwn) = $0 { isOwn } else { nil } }
    }

    mutating func connected() async -> CallChannel.Member? {
      await first { if case .connected(let member) = $0 { member } else { nil } }
    }

    mutating func ended() async -> CallChannel.Member? {
      await first { if case .callEnded(let member, _) = $0 { member } else { nil } }
    }

    mutating func question() async -> CallChannel.Question? {
      await first { if case .question(let question) = $0 { question } else { nil } }
    }

    mutating func remoteMute() async -> CallID? {
      await story.first {
        if case .callProgress(let call, .remoteAudioMuted(true)) = $0 { call } else { nil }
      }
    }
  }

  /// Goal: whoever embeds the library can do what the program does.
  @Test(.timeLimit(.minutes(1)))
  func `one of two invites a third, and all talk with each other`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"])
    let (bobs, carols) = (await Story(town.bob), await Story(town.endpoints[2]))
    var alice = try await Side(town.alice, calling: "bob")
    var bob = try await Side(answering: bobs)
    await alice.story.connected()
    let invited = try await alice.room.invite("carol")
    var carol = try await Side(answering: carols, hasAgreed: true)
    #expect(await alice.connected()?.call == invited)
    #expect(await alice.became() == true)
    let question = try #require(await bob.question())
    #expect(question.guest == town.endpoints[2].id && question.guestName == "carol")
    #expect(await carol.became() == false)
    // Who has just been asked has not read it yet: an answer is taken after a second.
    await town.bob.pause(.milliseconds(1200))
    #expect(await bob.room.answer(true))
    #expect(await !bob.room.answer(true), "nothing is asked any more")
    #expect(await bob.became() == false)
    #expect(await bob.connected()?.id == town.endpoints[2].id)
    #expect(await carol.connected()?.id == town.bob.id)
    try await expectTalk(&alice, &bob, &carol)
    // The call of the two goes on when one of them leaves the channel.
    await carol.room.leave()
    let isAlone = await carol.first {
      if case .left(let isAlone) = $0 { isAlone } else { nil }
    }
    #expect(isAlone == false)
    await carol.call.hangUp()
    #expect(await alice.ended()?.name == "carol")
    await alice.room.leave()
    await bob.room.leave()
    #expect(await alice.call.state == .connected)
    await town.close()
  }

  private func expectTalk(_ alice: inout Side, _ bob: inout Side, _ carol: inout Side) async throws
  {
    for side in [alice, bob, carol] {
      let standing = await side.room.standing
      #expect(standing.isOpen && !standing.hasFailed && standing.members.count == 2)
      #expect(standing.channel != nil && standing.uid != nil && standing.stay ?? .zero > .zero)
    }
    await bob.room.setAudioMuted(true)
    #expect(await alice.remoteMute() == alice.call.id)
    #expect(await carol.remoteMute() != nil)
    await bob.room.setAudioMuted(false)
    await bob.room.setVideoMuted(true)
    for name in ["carol", "no name", "bob"] {
      let room = alice.room
      await #expect(throws: EarshotError.self) { try await room.invite(name) }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `who says no stays in a call of two`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"])
    let (bobs, carols) = (await Story(town.bob), await Story(town.endpoints[2]))
    var alice = try await Side(town.alice, calling: "bob")
    var bob = try await Side(answering: bobs)
    await alice.story.connected()
    try await alice.room.invite("carol")
    var carol = try await Side(answering: carols, hasAgreed: true)
    #expect(await bob.question() != nil)
    await town.bob.pause(.milliseconds(1200))
    #expect(await bob.room.answer(false))
    let isAnswered = await alice.first {
      if case .remoteDeclined(let isAnswered) = $0 { isAnswered } else { nil }
    }
    #expect(isAnswered == true)
    #expect(await carol.story.report() != nil)
    #expect(await alice.ended()?.name == "carol")
    let standing = await alice.room.standing
    #expect(!standing.isOpen && standing.channel == nil && standing.members.count == 1)
    #expect(await alice.call.state == .connected)
    // Whose own call is over has no channel to be in.
    await alice.call.hangUp()
    let own = alice.call.id
    _ = await alice.story.first { if case .callEnded(own, _) = $0 { true } else { nil } }
    let room = alice.room
    await #expect(throws: EarshotError.self) { try await room.invite("carol") }
    #expect(await !room.answer(true))
    await town.close()
  }

  /// Goal: docs/protocol/channels.md §10 — calls of members are not taken after leaving, and what
  /// was lent for them is given back.
  @Test(.timeLimit(.minutes(1)))
  func `who has left a channel rejects its members, and has its own room again`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"])
    let (bobs, carols) = (await Story(town.bob), await Story(town.endpoints[2]))
    var alice = try await Side(town.alice, calling: "bob")
    let early = alice.room
    let refusal = await #expect(throws: EarshotError.self) { try await early.invite("carol") }
    #expect(refusal?.message.contains("not connected yet") == true)
    let bob = try await Side(answering: bobs)
    await alice.story.connected()
    let room = await town.alice.callRoom
    try await alice.room.invite("carol")
    // The second counts once the rendezvous has said who it is.
    while await town.alice.callRoom == 7 { await town.alice.pause(.milliseconds(10)) }
    #expect(await town.alice.callRoom == 6, "eight, and two there are")
    try await town.alice.setMaximumCalls(2)
    let carol = try await Side(answering: carols, hasAgreed: true)
    #expect(await alice.became() == true)
    let name = try #require(await alice.room.standing.channel)
    await alice.room.leave()
    #expect(await town.alice.callRoom == room + 1, "what was set meanwhile holds")
    let left = alice.room
    let late = await #expect(throws: EarshotError.self) { try await left.invite("carol") }
    #expect(late?.message.contains("was left") == true)
    // Carol has not heard of it, and calls.
    await carol.call.hangUp()
    var options = Side.options
    options.userExtension = CallChannelMarks.member(of: name)
    let call = try await town.endpoints[2].call("\(town.alice.id)", options: options)
    var stories = carol.story
    let end = await stories.first {
      if case .callEnded(call.id, let report) = $0 { report.outcome } else { nil }
    }
    #expect(end == .busy)
    #expect(await bob.call.state == .connected)
    await town.close()
  }

  @Test func `why nobody can be invited is a sentence`() {
    let all: [CallChannelRefusal] = [
      .isOver, .isLeft, .notConnected, .makerHasLeft, .hasEnded, .isFull, .isHere("bob"),
      .noTarget("no name"), .cannotBecome("bob"),
    ]
    #expect(Set(all.map(\.error.message)).count == all.count)
    #expect(all.allSatisfy { $0.error.code == .channelState && $0.error.message.hasSuffix(".") })
  }

  @Test func `user data tells the calls of a channel`() throws {
    let tea = try #require(ChannelKey().channel(named: "call"))
    #expect(CallChannelMarks.member(of: tea).contains(tea.audience))
    #expect(CallChannelTimes.entranceLife < CallChannelTimes.memberLife)
  }
}

extension Endpoint {
  /// How many more calls there may be.
  fileprivate var callRoom: Int { driver.readMachine { $0.ledger.room } }
}
