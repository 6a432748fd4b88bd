import Earshot
import Primitives
import Testing

/// Whether a call becomes a channel, which one of two, and what a person is asked before.
@Suite struct CallChannelAccordTests {
  private static let now = Instant.zero + .seconds(100)
  /// A question that was shown `now` can have been read.
  private static let read = now + CallChannelAccord.readingTime
  private static let member = CallID(bytes: Array(repeating: 9, count: 16))

  private static func peer(_ number: UInt8) throws -> PeerID {
    try #require(PeerID(Array(repeating: number, count: 32)))
  }

  /// Invitations to two channels, the one that stays first.
  private static func pair() throws -> (lesser: ChannelInvitation, greater: ChannelInvitation) {
    let names = try [ChannelKey(), ChannelKey()].map { try #require($0.channel(named: "call")) }
    let sorted = CallChannelAccord.staysBefore(names[0], names[1]) ? [names[1], names[0]] : names
    return (
      ChannelInvitation(channel: sorted[0], token: "v4.public.a"),
      ChannelInvitation(channel: sorted[1], token: "v4.public.b")
    )
  }

  /// Goal: the inviter knows that an answer is waited for; the other side cannot fill its screen.
  @Test func `that the other end is asked is worth saying while there is a channel`() throws {
    var accord = CallChannelAccord(asks: true)
    let early = accord.handleAsked()
    accord.handleMade(try Self.pair().lesser.channel)
    let told = (0..<20).map { _ in accord.handleAsked() }
    #expect(told == (0..<20).map { $0 < CallChannelAccord.mostQuestions })
    accord.end()
    let late = accord.handleAsked()
    #expect(!early && !late)
  }

  /// Goal: nobody is brought into a channel with strangers without being asked.
  @Test func `a person is asked before the call becomes a channel`() throws {
    let invitation = try Self.pair().lesser
    var accord = CallChannelAccord(asks: true)
    accord.handleGuest(try Self.peer(3), "carol")
    #expect(accord.question == nil)
    #expect(accord.handleInvitation(invitation, now: Self.now) == .ask)
    #expect(accord.question?.guest?.name == "carol" && accord.question?.asker == nil)
    // Said again it is no second question.
    #expect(accord.handleInvitation(invitation, now: Self.now) == .nothing)
    #expect(accord.answer(true, now: Self.read) == .join(invitation))
    #expect(accord.question == nil && accord.answer(true, now: Self.read) == .nothing)
  }

  @Test func `no, and no answer within 30 s, leave the call as it was`() throws {
    let invitation = try Self.pair().lesser
    var accord = CallChannelAccord(asks: true)
    #expect(accord.handleInvitation(invitation, now: Self.now) == .ask)
    #expect(accord.answer(false, now: Self.read) == .decline(.declined))
    #expect(accord.handleInvitation(invitation, now: Self.now) == .ask)
    #expect(accord.deadline == Self.now + .seconds(30))
    #expect(accord.expire(now: Self.now + .seconds(29)) == .nothing)
    #expect(accord.expire(now: Self.now + .seconds(30)) == .decline(.unanswered))
    #expect(accord.deadline == nil)
  }

  @Test func `where nobody can be asked, or others were known of, there is no question`() throws {
    let invitation = try Self.pair().lesser
    var script = CallChannelAccord(asks: false)
    #expect(script.handleInvitation(invitation, now: Self.now) == .join(invitation))
    var guest = CallChannelAccord(asks: true, hasAgreed: true)
    #expect(guest.handleInvitation(invitation, now: Self.now) == .join(invitation))
  }

  /// Goal: a peer cannot ask until somebody gives in.
  @Test func `questions of one call have an end`() throws {
    let invitation = try Self.pair().lesser
    var accord = CallChannelAccord(asks: true)
    for _ in 0..<CallChannelAccord.mostQuestions {
      #expect(accord.handleInvitation(invitation, now: Self.now) == .ask)
      #expect(accord.answer(false, now: Self.read) == .decline(.declined))
    }
    #expect(accord.handleInvitation(invitation, now: Self.now) == .decline(.declined))
    #expect(accord.question == nil)
  }

  @Test func `nobody is asked about the channel of one that has left`() throws {
    var accord = CallChannelAccord(asks: true)
    #expect(accord.handleInvitation(try Self.pair().lesser, now: Self.now) == .ask)
    accord.handleFirstEnd()
    #expect(accord.question == nil && accord.deadline == nil)
    #expect(accord.answer(true, now: Self.read) == .nothing)
  }

  /// Goal: of two channels made at the same moment both sides keep the same one.
  @Test func `of two channels of one call the lesser one stays on both sides`() throws {
    let (lesser, greater) = try Self.pair()
    var winner = CallChannelAccord(asks: false)
    var loser = CallChannelAccord(asks: false)
    winner.handleMade(lesser.channel)
    loser.handleMade(greater.channel)
    #expect(winner.handleInvitation(greater, now: Self.now) == .nothing)
    #expect(loser.handleInvitation(lesser, now: Self.now) == .move(lesser))
    // It is a member like any other from now on.
    let newer = ChannelInvitation(channel: lesser.channel, token: "v4.public.c")
    #expect(loser.handleInvitation(newer, now: Self.now) == .renew(newer))
  }

  @Test func `who has made the channel that gives way is asked, and a no brings up the other`()
    throws
  {
    let (lesser, greater) = try Self.pair()
    var winner = CallChannelAccord(asks: true)
    var loser = CallChannelAccord(asks: true)
    winner.handleMade(lesser.channel)
    loser.handleMade(greater.channel)
    #expect(winner.handleInvitation(greater, now: Self.now) == .nothing)
    #expect(loser.handleInvitation(lesser, now: Self.now) == .ask)
    #expect(loser.answer(false, now: Self.read) == .decline(.declined))
    // The winner's ends, and its person is asked about the loser's.
    #expect(winner.handleDeclined(now: Self.now) == .ask)
    #expect(winner.answer(true, now: Self.read) == .join(greater))
  }

  @Test func `a question about a channel that gives way to one made since is none`() throws {
    let (lesser, greater) = try Self.pair()
    var accord = CallChannelAccord(asks: true)
    #expect(accord.handleInvitation(greater, now: Self.now) == .ask)
    accord.handleMade(lesser.channel)
    #expect(accord.question == nil)
    #expect(accord.handleDeclined(now: Self.now) == .ask)
    accord.handleFollowed()
  }

  /// Goal: a guest of the lost channel is in the one that stays, and no token keeps anybody.
  @Test func `a guest goes where whoever invited it goes, some times`() throws {
    let (lesser, greater) = try Self.pair()
    var guest = CallChannelAccord(asks: true, hasAgreed: true)
    #expect(guest.handleInvitation(greater, now: Self.now) == .join(greater))
    #expect(guest.handleInvitation(lesser, now: Self.now) == .move(lesser))
    for _ in 0..<10 { _ = guest.handleInvitation(try Self.pair().lesser, now: Self.now) }
    #expect(guest.handleInvitation(try Self.pair().lesser, now: Self.now) == .nothing)
  }

  @Test func `a member's wish is granted by the person, or by who may come`() throws {
    let (mine, carol) = (try Self.pair().lesser.channel, try Self.peer(3))
    var person = CallChannelAccord(asks: true)
    // Whoever has made no channel lets nobody in.
    var member = CallChannelAccord(asks: false)
    #expect(
      member.handleWish(
        carol, nil, of: Self.member, by: try Self.peer(90), isAdmitted: true, isThere: false,
        now: Self.now)
        == .refuse(carol, for: Self.member))
    person.handleMade(mine)
    #expect(
      person.handleWish(
        carol, "carol", of: Self.member, by: try Self.peer(90), isAdmitted: false, isThere: false,
        now: Self.now) == .ask)
    #expect(person.question?.asker == Self.member)
    #expect(person.answer(true, now: Self.read) == .admit(carol, for: Self.member))
    #expect(person.withdraw(carol, by: CallID(bytes: Array(0..<16))) == false)
    #expect(person.withdraw(carol, by: Self.member) == true)
    #expect(person.withdraw(carol, by: Self.member) == false)
    var script = CallChannelAccord(asks: false)
    script.handleMade(mine)
    for isAdmitted in [true, false] {
      #expect(
        script.handleWish(
          carol, nil, of: Self.member, by: try Self.peer(90), isAdmitted: isAdmitted,
          isThere: false, now: Self.now)
          == (isAdmitted ? .admit(carol, for: Self.member) : .refuse(carol, for: Self.member)))
    }
  }

  /// Goal: a member cannot make us sign without end, nor take the places of the others, whoever is
  /// let go again, by whatever calls, and in whoever's name that it brings in.
  @Test func `tokens at members' wishes have an end, and none takes another's`() throws {
    var script = CallChannelAccord(asks: false)
    script.handleMade(try Self.pair().lesser.channel)
    var calls: UInt8 = 0
    func tokens(of member: PeerID, ids: [PeerID]) -> [PeerID] {
      calls += 1
      let call = CallID(bytes: Array(repeating: calls, count: 16))
      var signed: [PeerID] = []
      for id in ids {
        let step = script.handleWish(
          id, nil, of: call, by: member, isAdmitted: true, isThere: false, now: Self.now)
        if step == .admit(id, for: call) { signed.append(id) }
        _ = script.withdraw(id, by: call)
      }
      script.handleEnd(of: call)
      return signed
    }
    let others = try (100..<200 as Range<UInt8>).map { try Self.peer($0) }
    var total = 0
    for member in try (1...7 as ClosedRange<UInt8>).map({ try Self.peer($0) }) {
      let sameOne = tokens(of: member, ids: Array(repeating: others[0], count: 3))
      let brought = tokens(of: member, ids: others)
      #expect(sameOne.count + brought.count == CallChannelAccord.mostAdmitted)
      // Whom it has brought in has no more.
      let fresh = try Self.peer(200 + calls)
      #expect(tokens(of: member, ids: [fresh]).isEmpty)
      total += sameOne.count + brought.count
    }
    #expect(total == CallChannelAccord.mostAdmittedInAll)
  }

  /// Each one that is let in asks for the next, as whoever has many identities does.
  @Test func `who was brought in wishes on its inviter's account`() throws {
    var script = CallChannelAccord(asks: false)
    script.handleMade(try Self.pair().lesser.channel)
    var member = try Self.peer(1)
    var count = 0
    func wish(_ id: PeerID, by member: PeerID, _ number: UInt8) -> Bool {
      let call = CallID(bytes: Array(repeating: number, count: 16))
      let step = script.handleWish(
        id, nil, of: call, by: member, isAdmitted: true, isThere: false, now: Self.now)
      return step == .admit(id, for: call)
    }
    for number in 2..<100 as Range<UInt8> {
      let next = try Self.peer(number)
      guard wish(next, by: member, number) else { continue }
      count += 1
      member = next
    }
    #expect(count == CallChannelAccord.mostAdmitted)
    #expect(wish(try Self.peer(150), by: try Self.peer(151), 1))
  }

  /// Goal: a member has no say about another one.
  @Test func `nobody wishes for, or lets go, who is a member`() throws {
    var script = CallChannelAccord(asks: false)
    script.handleMade(try Self.pair().lesser.channel)
    let (carol, dan) = (try Self.peer(3), try Self.peer(4))
    let other = CallID(bytes: Array(repeating: 8, count: 16))
    let members = [Self.member: try Self.peer(90), other: try Self.peer(91)]
    func wish(_ id: PeerID, of call: CallID, isThere: Bool = false) -> CallChannelAccord.Step {
      script.handleWish(
        id, nil, of: call, by: members[call] ?? id, isAdmitted: true, isThere: isThere,
        now: Self.now)
    }
    #expect(wish(dan, of: other, isThere: true) == .refuse(dan, for: other))
    #expect(wish(carol, of: Self.member) == .admit(carol, for: Self.member))
    #expect(wish(carol, of: other) == .refuse(carol, for: other))
    #expect(script.inviter(of: carol) == Self.member)
    script.handleArrival(carol)
    #expect(script.withdraw(carol, by: Self.member) == false)
    script.handleEnd(of: Self.member)
    #expect(script.inviter(of: carol) == nil)
  }

  @Test func `who has come in declines no more`() throws {
    var accord = CallChannelAccord(asks: false)
    accord.handleMade(try Self.pair().lesser.channel)
    #expect(accord.mayDecline)
    accord.handleFollowed()
    #expect(!accord.mayDecline && accord.handleDeclined(now: Self.now) == .nothing)
    accord.end()
    accord.handleMade(try Self.pair().lesser.channel)
    #expect(accord.mayDecline)
  }

  /// Goal: a key that was meant for "Answer? Press y or n" lets nobody in.
  @Test func `a key before the question can be read answers nothing`() throws {
    let invitation = try Self.pair().lesser
    var accord = CallChannelAccord(asks: true)
    #expect(accord.handleInvitation(invitation, now: Self.now) == .ask)
    #expect(accord.answer(true, now: Self.now + .milliseconds(900)) == .nothing)
    #expect(accord.question != nil)
    #expect(accord.answer(true, now: Self.read) == .join(invitation))
  }

  @Test func `a question goes with whoever asked it`() throws {
    var accord = CallChannelAccord(asks: true)
    accord.handleMade(try Self.pair().lesser.channel)
    let carol = try Self.peer(3)
    for step in 0..<2 {
      let asked = accord.handleWish(
        carol, nil, of: Self.member, by: try Self.peer(90), isAdmitted: false, isThere: false,
        now: Self.now)
      #expect(asked == .ask)
      if step == 0 {
        #expect(accord.withdraw(carol, by: Self.member) == false)
      } else {
        accord.handleEnd(of: Self.member)
      }
      #expect(accord.question == nil)
    }
  }

  /// Goal: nobody is pressed by a member that hangs up and calls again, and others may ask on.
  @Test func `questions of members have an end, by whatever calls`() throws {
    var accord = CallChannelAccord(asks: true)
    accord.handleMade(try Self.pair().lesser.channel)
    let carol = try Self.peer(3)
    func questions(of member: PeerID) -> Int {
      var count = 0
      for number in 0..<100 as Range<UInt8> {
        let call = CallID(bytes: Array(repeating: number, count: 16))
        let step = accord.handleWish(
          carol, nil, of: call, by: member, isAdmitted: false, isThere: false, now: Self.now)
        if step == .ask { count += 1 }
        accord.handleEnd(of: call)
      }
      return count
    }
    for number in 11...17 as ClosedRange<UInt8> {
      #expect(questions(of: try Self.peer(number)) == CallChannelAccord.mostQuestions)
    }
    #expect(questions(of: try Self.peer(18)) == 0, "more than eight are never there")
    // The first call's own question has a count of its own.
    accord.end()
    #expect(accord.handleInvitation(try Self.pair().lesser, now: Self.now) == .ask)
  }

  @Test func `a guest that is let go before the answer is not named any more`() throws {
    var accord = CallChannelAccord(asks: true)
    let (carol, dan) = (try Self.peer(3), try Self.peer(4))
    accord.handleGuest(carol, "carol")
    #expect(accord.handleInvitation(try Self.pair().lesser, now: Self.now) == .ask)
    #expect(accord.question?.guest?.id == carol)
    accord.handleGuestGone(dan)
    #expect(accord.question?.guest?.id == carol)
    accord.handleGuestGone(carol)
    #expect(accord.question != nil && accord.question?.guest == nil)
    // Nor in the next question.
    #expect(accord.answer(false, now: Self.read) == .decline(.declined))
    #expect(accord.handleInvitation(try Self.pair().lesser, now: Self.read) == .ask)
    #expect(accord.question?.guest == nil)
  }

  /// Goal: a peer that repeats itself does not make us send.
  @Test func `a token that is said again, or too soon, is no request to the rendezvous`() throws {
    let first = try Self.pair().lesser
    func token(_ number: Int) -> ChannelInvitation {
      ChannelInvitation(channel: first.channel, token: "v4.public.\(number)")
    }
    var accord = CallChannelAccord(asks: false)
    #expect(accord.handleInvitation(first, now: Self.now) == .join(first))
    #expect(accord.handleInvitation(first, now: Self.now) == .nothing)
    #expect(accord.handleInvitation(token(1), now: Self.now) == .renew(token(1)))
    var count = 0
    for number in 2..<1002 {
      let now = Self.now + .milliseconds(Int64(number * 10))
      if accord.handleInvitation(token(number), now: now) != .nothing { count += 1 }
    }
    #expect(count == 1, "renewals in 10 s")
  }
}
