package import Primitives
package import Wire

/// All channels of one endpoint: which it is in, and the one that it may publish to
/// (docs/protocol/channels.md). Nothing that happens in one reaches another's events.
package struct ChannelClient: Sendable {
  package let limits: ChannelLimits
  private var random: RandomSource
  private var memberships: [ChannelMembership] = []
  /// Last words that are to be said.
  private var farewells: [ChannelRequest] = []
  private var isConnected = false
  private var events: [(channel: ChannelIdentity, event: ChannelEvent)] = []
  package private(set) var droppedEventCount: UInt64 = 0

  package init(limits: ChannelLimits = ChannelLimits(), random: RandomSource) {
    self.limits = limits
    self.random = random
  }

  // MARK: - Commands

  /// Joins, and stays until `leave`. Who joins as a host takes the publish slot.
  ///
  /// - Parameter uid: 0 = any.
  package mutating func join(
    _ identity: ChannelIdentity, as role: MemberRole, uid: UInt32 = 0, token: [UInt8] = [],
    now: Instant
  ) throws(ChannelRefusal) {
    if let place = place(of: identity.id) {
      guard !memberships[place].isActive else { throw .alreadyJoined }
      collectEvents()
      memberships.remove(at: place)
    }
    guard memberships.count < limits.perProgram else { throw .tooManyChannels }
    guard role == .audience || publishing == nil else { throw .publishSlotTaken }
    memberships.append(
      ChannelMembership(
        identity, stay: random.next(), role: role, uid: uid, token: token, limits: limits,
        now: now))
  }

  /// Leaves: the publish slot is free at once, and the others are told.
  package mutating func leave(_ channel: Bytes32, now: Instant) throws(ChannelRefusal) {
    guard let place = place(of: channel) else { throw .unknownChannel }
    if memberships[place].isActive {
      memberships[place].leave(now: now)
      // Without contact nobody hears it; the server finds out by silence.
      if isConnected { farewells.append(memberships[place].farewell) }
    }
    collectEvents()
    memberships.remove(at: place)
  }

  package mutating func setRole(_ role: MemberRole, in channel: Bytes32) throws(ChannelRefusal) {
    if role == .host, let publishing, publishing != channel { throw .publishSlotTaken }
    try queue(.role(role), in: channel)
  }

  package mutating func renewToken(
    _ token: [UInt8], in channel: Bytes32
  ) throws(ChannelRefusal) {
    try queue(.renew(token), in: channel)
  }

  /// - Parameter banSeconds: How long its identity is kept out; 0 = not at all.
  package mutating func removeMember(
    _ uid: UInt32, banSeconds: UInt32 = 0, from channel: Bytes32
  ) throws(ChannelRefusal) {
    try queue(.remove(uid: uid, banSeconds: banSeconds), in: channel)
  }

  /// Asks for the token that a member has shown.
  package mutating func requestProof(
    of uid: UInt32, in channel: Bytes32
  ) throws(ChannelRefusal) {
    try queue(.proof(uid: uid), in: channel)
  }

  /// Asks for a seat at a relay; nothing is heard where there is none.
  ///
  /// - Parameter lost: The one that was granted, of which nothing is heard.
  package mutating func requestRelay(
    in channel: Bytes32, lost: PeerID? = nil
  ) throws(ChannelRefusal) {
    try queue(lost.map { .relayLost($0) } ?? .relay, in: channel)
  }

  /// Whether sound of a channel goes on by calls or a relay: then its membership waits for the
  /// rendezvous without end.
  package mutating func setCarried(
    _ isCarried: Bool, in channel: Bytes32
  ) throws(ChannelRefusal) {
    guard let place = place(of: channel) else { throw .unknownChannel }
    memberships[place].setCarried(isCarried)
  }

  private mutating func queue(
    _ content: ChannelRequest.Content, in channel: Bytes32
  ) throws(ChannelRefusal) {
    guard let place = place(of: channel), memberships[place].isActive else {
      throw .unknownChannel
    }
    guard memberships[place].queue(content) else { throw .tooManyCommands }
  }

  // MARK: - Inputs

  /// There is a session with the rendezvous from now on, perhaps another one than before; or none.
  package mutating func handleConnection(_ isConnected: Bool, now: Instant) {
    self.isConnected = isConnected
    guard isConnected else { return }
    for place in memberships.indices { memberships[place].handleConnection(now: now) }
  }

  package mutating func handle(_ notice: ChannelNotice, now: Instant) {
    guard let place = place(of: notice.channel) else { return }
    memberships[place].handle(notice.content, now: now)
    collectEvents()
  }

  package mutating func handleTimeout(now: Instant) {
    for place in memberships.indices { memberships[place].handleTimeout(now: now) }
    collectEvents()
  }

  // MARK: - Outputs

  package mutating func pollEvent() -> (channel: ChannelIdentity, event: ChannelEvent)? {
    collectEvents()
    return events.isEmpty ? nil : events.removeFirst()
  }

  package mutating func pollRequest(now: Instant) -> ChannelRequest? {
    guard isConnected else { return nil }
    if !farewells.isEmpty { return farewells.removeFirst() }
    for place in memberships.indices {
      if let request = memberships[place].pollRequest(now: now) { return request }
    }
    return nil
  }

  package var nextDeadline: Instant? {
    var next: Instant?
    for membership in memberships {
      next = earliest(next, membership.nextDeadline)
      if isConnected { next = earliest(next, membership.requestDue) }
    }
    return next
  }

  // MARK: - Getters

  /// The channel that has the publish slot.
  package var publishing: Bytes32? { memberships.first { $0.isPublishing }?.identity.id }

  package var channels: [ChannelIdentity] { memberships.map(\.identity) }

  /// The members of a channel as its user sees them, with the own one; by rising uid.
  package func members(of channel: Bytes32) -> [ChannelMember] {
    place(of: channel).map { memberships[$0].members } ?? []
  }

  /// One member of a channel; its roster is not copied.
  package func member(_ uid: UInt32, of channel: Bytes32) -> ChannelMember? {
    place(of: channel).flatMap { memberships[$0].member(uid) }
  }

  /// Ourselves in a channel, as its roster has us, and the token that we have shown; `nil` before
  /// the roster has come.
  package func own(in channel: Bytes32) -> (member: ChannelMember, token: [UInt8])? {
    guard let place = place(of: channel) else { return nil }
    let membership = memberships[place]
    return membership.members.first { $0.uid == membership.uid }.map { ($0, membership.shownToken) }
  }

  /// The revision that `members` have reached.
  package func revision(of channel: Bytes32) -> UInt64 {
    place(of: channel).map { memberships[$0].revision } ?? 0
  }

  /// Whether `members` are those of that revision, and no others.
  package func isExact(in channel: Bytes32) -> Bool {
    place(of: channel).map { memberships[$0].isExact } ?? false
  }

  package func state(of channel: Bytes32) -> ChannelState? {
    place(of: channel).map { memberships[$0].state }
  }

  // MARK: - Parts

  private func place(of channel: Bytes32) -> Int? {
    memberships.firstIndex { $0.identity.id == channel }
  }

  private mutating func collectEvents() {
    for place in memberships.indices {
      let channel = memberships[place].identity
      while let event = memberships[place].pollEvent() {
        if events.count < limits.events {
          events.append((channel, event))
        } else {
          droppedEventCount &+= 1
        }
      }
    }
  }
}
