package import Earshot

/// The people of a channel that a call became: whom there is a call with, whom we have invited, and
/// who was let go. Pure.
package struct RoomPeople {
  package enum Stage: Equatable, Sendable {
    /// We have invited it; it has no token of ours.
    case invited
    /// It has a token, and is not in the roster yet.
    case passed
    /// Another member, or the other end of the first call.
    case there
  }

  private struct Person {
    var call: CallID?
    var id: PeerID?
    var name: String
    /// What was typed or dialled.
    var target: String?
    var stage: Stage
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
    _ call: CallID, _ id: PeerID?, _ name: String, target: String? = nil, _ stage: Stage
  ) {
    if let id {
      people.removeAll { $0.id == id && $0.call == nil }
      if stage == .invited { dismissed.remove(id) }
    }
    people.append(Person(call: call, id: id, name: name, target: target, stage: stage))
  }

  /// The other side of a call is known now.
  package mutating func identify(_ call: CallID, as id: PeerID, _ name: String?) {
    change(call) { person in
      person.id = id
      if let name { person.name = name }
    }
    // Whoever is invited again may come in.
    dismissed.remove(id)
  }

  /// It gets a token.
  package mutating func handlePass(_ call: CallID) { change(call) { $0.stage = .passed } }

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
          call: nil, id: person.id, name: person.name, target: person.target, stage: .there))
      return .ended(person.name)
    }
  }

  /// Says of each who is kept out once that it is.
  package mutating func turnAway(_ id: PeerID) -> Bool { turnedAway.insert(id).inserted }

  // MARK: - Getters

  /// Calls that ring, or were accepted a moment ago.
  package var invited: [CallID] { people.filter { $0.stage == .invited }.compactMap(\.call) }

  package var calls: [CallID] { people.compactMap(\.call) }

  /// Who has a call with us, in their order.
  package var names: [String] {
    people.filter { $0.call != nil && $0.stage != .invited }.map(\.name)
  }

  package func name(of call: CallID) -> String? { people.first { $0.call == call }?.name }

  package func name(of id: PeerID) -> String? { people.first { $0.id == id }?.name }

  package func id(of call: CallID) -> PeerID? { people.first { $0.call == call }?.id }

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

  private mutating func change(_ call: CallID, _ body: (inout Person) -> Void) {
    if let index = people.firstIndex(where: { $0.call == call }) { body(&people[index]) }
  }
}
