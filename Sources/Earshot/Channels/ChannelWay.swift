internal import Primitives

/// Which way the audio of a channel goes (docs/protocol/channels.md §9): by calls of a mesh while
/// the channel is small, by a relay beyond that. All members see the same roster, so all of them
/// decide the same. Who changes has the new way before the old one ends.
struct ChannelWay {
  typealias Choice = ChannelMedia.Way

  /// What is to be done now.
  enum Step: Equatable { case startRelay, restRelay, refuse }

  private enum State: Equatable {
    case mesh
    /// A relay is asked for, since then.
    case joining(Instant)
    /// By the relay; calls end once their ends hear each other by it.
    case relay
    /// Calls are made, and the relay goes when all of them are there.
    case returning
  }

  let choice: Choice
  private var state = State.mesh
  private var isLarge = false
  /// Since when the channel is small enough for calls.
  private var smallSince: Instant?
  private var linkedSince: Instant?
  private var isConnected = false
  /// The rendezvous knew of no relay when it was asked last.
  private(set) var isUnavailable = false
  /// The relay had no room for us when it was asked last.
  private(set) var isFull = false
  /// The relay that was granted has not answered; the others may have their seats.
  private var isUnreached = false
  private var isRefused = false
  /// It was told that sound goes on.
  private var isCarried = false

  init(_ choice: Choice) { self.choice = choice }

  /// Whether sound goes by the relay.
  var isRelayed: Bool { isConnected && (state == .relay || state == .returning) }

  // MARK: - Inputs

  /// - Parameters:
  ///   - hosts: In the channel, with us.
  ///   - members: The same.
  ///   - isLinked: All calls that the mesh needs are there, and hosts are heard by them.
  ///   - stay: How long we are in the channel.
  mutating func update(
    hosts: Int, members: Int, isLinked: Bool, stay: Duration, now: Instant
  ) -> Step? {
    judge(hosts, members, now: now)
    linkedSince = isLinked ? linkedSince ?? now : nil
    switch state {
    case .mesh:
      if choice == .mesh, refuses(members, stay) { return .refuse }
      guard wantsRelay else { return nil }
      state = isConnected ? .relay : .joining(now)
      return .startRelay
    case .joining:
      if isConnected { state = .relay }
      if !wantsRelay { return rest() }
      if choice == .auto, isUnavailable || isFull, refuses(members, stay) { return .refuse }
    case .relay:
      if !wantsRelay { state = .returning }
    case .returning:
      if wantsRelay { state = .relay }
      if let linkedSince, now >= linkedSince + Self.overlap { return rest() }
    }
    return nil
  }

  mutating func handleConnected() {
    isConnected = true
    isUnavailable = false
    isFull = false
    isUnreached = false
  }

  mutating func handleLost() {
    isConnected = false
    if case .joining = state { isUnreached = true }
  }

  mutating func handleUnavailable() { isUnavailable = true }

  /// The relay has no room for us; the others may have their seats.
  mutating func handleFull() {
    isFull = true
    isConnected = false
  }

  /// Whether sound goes on, by calls or by the relay, if that is news.
  mutating func updateCarried(hasCalls: Bool) -> Bool? {
    let isCarried = hasCalls || isRelayed
    guard isCarried != self.isCarried else { return nil }
    self.isCarried = isCarried
    return isCarried
  }

  // MARK: - Getters

  /// Whether those who are not linked with us are to be called.
  func makesCalls(now: Instant) -> Bool {
    guard choice != .relayOnly else { return false }
    return switch state {
    case .mesh, .returning: true
    case .joining(let since):
      (choice == .auto && (isUnavailable || isFull)) || now >= since + Self.patience
    case .relay: !isConnected
    }
  }

  /// Whether calls of members are accepted.
  func takesCalls(now: Instant) -> Bool { !choice.isByRelay || makesCalls(now: now) }

  /// Whether all are to be called, also those who are to call us by their IDs: they do not know
  /// that we have no seat.
  var callsAll: Bool {
    choice != .relayOnly && state != .mesh && (isUnreached || (isFull && choice == .auto))
  }

  /// Whether calls are to end as soon as the relay does what they do.
  var endsCalls: Bool { state == .relay && isConnected }

  /// When `update` or `makesCalls` may have something new to say without anything happening; what
  /// is past says nothing new.
  func nextDeadline(after now: Instant) -> Instant? {
    var next = isLarge ? smallSince.map { $0 + Self.calm } : nil
    if case .joining(let since) = state, since + Self.patience > now {
      next = earliest(next, since + Self.patience)
    }
    if state == .returning { next = earliest(next, linkedSince.map { $0 + Self.overlap }) }
    return next
  }

  // MARK: - Parts

  private var wantsRelay: Bool { choice.isByRelay || (choice == .auto && isLarge) }

  private mutating func judge(_ hosts: Int, _ members: Int, now: Instant) {
    if hosts > Self.mostHosts || members > Self.mostMembers {
      (isLarge, smallSince) = (true, nil)
    } else if hosts < Self.mostHosts, members <= Self.mostMembers - 2 {
      let since = smallSince ?? now
      smallSince = since
      if now >= since + Self.calm { isLarge = false }
    } else {
      smallSince = nil
    }
  }

  /// Whether there are too many for calls of each with each; said once, to who comes last.
  private mutating func refuses(_ members: Int, _ stay: Duration) -> Bool {
    guard members > ChannelMedia.mostWithoutRelay, stay < Self.newcomer, !isRefused else {
      return false
    }
    isRefused = true
    return true
  }

  private mutating func rest() -> Step {
    state = .mesh
    isConnected = false
    isUnreached = false
    return .restRelay
  }

  /// Settled in the design: a mesh up to so many.
  private static let mostHosts = 4
  private static let mostMembers = 8
  /// Who finds too many on joining leaves; who was there before stays.
  private static let newcomer = Duration.seconds(10)
  /// How long a channel has to be smaller before its members leave the relay.
  private static let calm = Duration.seconds(10)
  /// For a relay to be there before calls are made meanwhile.
  private static let patience = Duration.milliseconds(1500)
  /// How long both ways are there before the old one ends: so the other ends hear us as well.
  static let overlap = Duration.seconds(1)
}
