/// The people of a channel that a call became: whom there is a call with, whom we have invited, and
/// who was let go. Pure.
package struct CallChannelPeople {
  package enum Stage: Equatable, Sendable {
    /// We have invited it; it has no token of ours.
    case invited
    /// It has a token, and is not in the roster yet.
    case passed
    /// Another member, or the other end of the first call.
    case there
  }

  /// What a name rests on: a weaker one never displaces a stronger one.
  package enum Naming: Int, Comparable, Sendable {
    /// It is the first of an ID.
    case id
    /// Its owner says so.
    case claimed
    /// It was typed or dialled, or the rendezvous says so.
    case given
    case pinned

    package static func < (left: Naming, right: Naming) -> Bool { left.rawValue < right.rawValue }
  }

  private struct Person {
    var call: CallID?
    var id: PeerID?
    var name: String
    var naming: Naming
    /// What was typed or dialled.
    var target: String?
    var stage: Stage
    /// Tokens that it was handed.
    var passCount = 0
    /// The two of its call were connected.
    var isConnected = false
  }

  /// What the end of a call means.
  package enum End: Equatable, Sendable {
    /// It was invited, and never had a token.
    case stayedOut(String)
    /// It had a token, and was never seen in the channel: it is not let in any more.
    case letGo(String)
    case ended(String)
  }

  private var people: [Person] = []
  /// Had a token, and are not to come in by it.
  private var dismissed: Set<PeerID> = []
  /// Who was said to be kept out by `--from`.
  private var turnedAway: Set<PeerID> = []

  package init() {}

  // MARK: - Inputs

  /// There is a call with somebody.
  package mutating func add(
    _ call: CallID, _ id: PeerID?, _ name: String, by naming: Naming = .given,
    target: String? = nil, _ stage: Stage
  ) {
    if let id {
      people.removeAll { $0.id == id && $0.call == nil }
      if stage == .invited { dismissed.remove(id) }
    }
    people.append(
      Person(call: call, id: id, name: name, naming: naming, target: target, stage: stage))
  }

  /// The other side of a call is known now.
  ///
  /// - Parameter name: What it is called, and by what.
  package mutating func identify(
    _ call: CallID, as id: PeerID, _ name: String?, by naming: Naming = .given
  ) {
    change(call) { person in
      person.id = id
      guard let name, naming >= person.naming else { return }
      (person.name, person.naming) = (name, naming)
    }
    // Whoever is invited again may come in.
    dismissed.remove(id)
  }

  /// Whom we call has answered. A name that is only claimed displaces none that was given.
  package mutating func identify(_ call: CallID, as who: CallPeer) {
    if let name = who.name {
      identify(call, as: who.id, name, by: who.nameTrust == .known ? .pinned : .given)
    } else {
      identify(call, as: who.id, who.cardName.map { "\($0)?" }, by: .claimed)
    }
  }

  /// The call is connected.
  package mutating func handleConnected(_ call: CallID) { change(call) { $0.isConnected = true } }

  /// It gets a token.
  package mutating func handlePass(_ call: CallID) { change(call) { $0.stage = .passed } }

  /// Whom we have invited is to have a token of whoever made the channel.
  ///
  /// - Returns: The call by which it gets it, and whether it is the first one; `nil` for somebody
  ///   else, and for one that was handed as many as may be.
  package mutating func handleEntry(of id: PeerID) -> (call: CallID, isFirst: Bool)? {
    guard
      let index = people.firstIndex(where: { $0.id == id && $0.call != nil && $0.target != nil }),
      let call = people[index].call, people[index].passCount < Self.mostPasses
    else { return nil }
    people[index].passCount += 1
    let isFirst = people[index].stage == .invited
    if isFirst { people[index].stage = .passed }
    return (call, isFirst)
  }

  /// The channel was left for another one: whom we have invited comes after, with a token of that.
  ///
  /// - Returns: Their calls.
  package mutating func inviteAgain(but first: CallID) -> [CallID] {
    var calls: [CallID] = []
    for index in people.indices where people[index].target != nil && people[index].call != first {
      guard let call = people[index].call else { continue }
      people[index].stage = .invited
      calls.append(call)
    }
    return calls
  }

  /// A member has let somebody go whom we were to let in at its wish.
  package mutating func dismiss(_ id: PeerID) { dismissed.insert(id) }

  /// Both called each other: the call goes on under another ID.
  package mutating func replace(_ old: CallID, by new: CallID) { change(old) { $0.call = new } }

  /// Somebody is in the roster.
  ///
  /// - Returns: The call that there is with it already.
  package mutating func handleArrival(_ id: PeerID) -> CallID? {
    guard let index = people.firstIndex(where: { $0.id == id && $0.call != nil }) else {
      return nil
    }
    people[index].stage = .there
    return people[index].call
  }

  package mutating func handleEnd(_ call: CallID) -> End? {
    guard let index = people.firstIndex(where: { $0.call == call }) else { return nil }
    let person = people.remove(at: index)
    switch person.stage {
    case .invited: return .stayedOut(person.name)
    case .passed:
      if let id = person.id { dismissed.insert(id) }
      return .letGo(person.name)
    case .there:
      // Its name is kept: it may be called again.
      people.append(
        Person(
          call: nil, id: person.id, name: person.name, naming: person.naming,
          target: person.target, stage: .there))
      forgetLongGone()
      return .ended(person.name)
    }
  }

  /// Says of each who is kept out once that it is; who made the channel decides how many come.
  package mutating func turnAway(_ id: PeerID) -> Bool {
    guard turnedAway.count < Self.mostTurnedAway else { return false }
    return turnedAway.insert(id).inserted
  }

  // MARK: - Getters

  /// Calls that ring, or were accepted a moment ago.
  package var invited: [CallID] { people.filter { $0.stage == .invited }.compactMap(\.call) }

  package var calls: [CallID] { people.compactMap(\.call) }

  /// The call with somebody whom we have invited, and who waits for a token.
  package func invitedCall(of id: PeerID) -> CallID? {
    people.first { $0.id == id && $0.stage == .invited }?.call
  }

  /// Whether there is a call with somebody, or it is being invited.
  package func hasCall(with id: PeerID) -> Bool {
    people.contains { $0.id == id && $0.call != nil }
  }

  package func isConnected(_ call: CallID) -> Bool {
    people.contains { $0.call == call && $0.isConnected }
  }

  package func target(of call: CallID) -> String? { people.first { $0.call == call }?.target }

  /// How many there are, with those who have left.
  package var count: Int { people.count }

  /// Who has a call with us, in their order.
  package var names: [String] {
    people.filter { $0.call != nil && $0.stage != .invited }.map(\.name)
  }

  package func name(of call: CallID) -> String? { people.first { $0.call == call }?.name }

  package func name(of id: PeerID) -> String? { people.first { $0.id == id }?.name }

  /// What somebody is called, and what that rests on.
  package func naming(of id: PeerID) -> (String, Naming)? {
    people.first { $0.id == id }.map { ($0.name, $0.naming) }
  }

  package func id(of call: CallID) -> PeerID? { people.first { $0.call == call }?.id }

  /// Whether it has a token, or is a member.
  package func isThere(_ call: CallID) -> Bool { stage(of: call).map { $0 != .invited } ?? false }

  package func stage(of call: CallID) -> Stage? { people.first { $0.call == call }?.stage }

  /// Who is there, or is being invited, and is called so: by its name, by what was typed, or by ID.
  package func name(ofWhoIs target: String) -> String? {
    people.first { person in
      person.call != nil
        && (person.name == target || person.target == target
          || person.id.map { "\($0)" } == target)
    }?.name
  }

  /// Whether it was let go, and came all the same.
  package func isDismissed(_ id: PeerID) -> Bool { dismissed.contains(id) }

  /// Whether the own program stays in the channel.
  ///
  /// - Parameters:
  ///   - hasFirst: The call that became the channel goes on.
  ///   - isAttended: A person is there. Who answers without one stays for the sake of the first
  ///     call alone: two such would hold each other for ever.
  ///   - members: Others in the roster whom we talk with.
  package func mayStay(hasFirst: Bool, isAttended: Bool, members: Int) -> Bool {
    hasFirst || isAttended && (members > 0 || !calls.isEmpty)
  }

  private mutating func forgetLongGone() {
    while people.count(where: { $0.call == nil }) > Self.mostDeparted,
      let index = people.firstIndex(where: { $0.call == nil })
    {
      people.remove(at: index)
    }
  }

  private mutating func change(_ call: CallID, _ body: (inout Person) -> Void) {
    if let index = people.firstIndex(where: { $0.call == call }) { body(&people[index]) }
  }

  /// Names that are kept of those who have left: a channel that was a call has 8 members at a time.
  package static let mostDeparted = 64
  /// Who is said to be kept out; more are kept out without a word.
  package static let mostTurnedAway = 64
  /// Tokens handed on to one guest: one to come in, one to stay, and newer ones each week.
  package static let mostPasses = 16
}

extension PeerID {
  /// Enough to tell two apart, where no decision hangs on it.
  package var shortText: String { description.prefix(8) + "…" }
}
