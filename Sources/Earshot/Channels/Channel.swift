internal import Channels
internal import Peer
internal import Primitives
internal import Reactor
internal import Tokens
internal import Wire

/// One channel that an endpoint has joined: a name for it, not a state of its own. Its events are
/// the endpoint's (`EndpointEvent.channel`).
public struct Channel: Sendable {
  /// Which one.
  public let name: ChannelName
  let endpoint: Endpoint

  /// Leaves: the others are told at once. Harmless when it was left.
  public func leave() async {
    await Self.leave(endpoint, name)
  }

  /// Asks for another role; `roleChanged` or `roleChangeFailed` tells.
  ///
  /// - Throws: When another channel has the role host: an endpoint publishes to one at a time.
  public func setRole(_ role: ChannelRole) async throws(EarshotError) {
    try await Self.change(endpoint) { client, _ throws(ChannelRefusal) in
      try client.setRole(role.wire, in: name.identity.id)
    }
  }

  /// Whether sound goes on, also without the rendezvous: it is waited for without end then. `nil` =
  /// as before.
  func setCarried(_ isCarried: Bool?) async {
    guard let isCarried else { return }
    do throws(EarshotError) {
      try await Self.change(endpoint) { client, _ throws(ChannelRefusal) in
        try client.setCarried(isCarried, in: name.identity.id)
      }
    } catch {
      return  // It was left.
    }
  }

  /// Hands over a newer token; nothing is interrupted, and `tokenRenewed` or `tokenRefused` tells.
  ///
  /// - Throws: When it is no token at all.
  public func renewToken(_ token: String) async throws(EarshotError) {
    try EarshotError.check(token: token)
    try await Self.change(endpoint) { client, _ throws(ChannelRefusal) in
      try client.renewToken(Array(token.utf8), in: name.identity.id)
    }
  }

  /// Removes a member; needs the word `manage` on the own token. `removalFinished` tells.
  ///
  /// - Parameters:
  ///   - uid: The member.
  ///   - banSeconds: How long its identity is kept out, at most a day; 0 = not at all.
  public func remove(_ uid: UInt32, banSeconds: UInt32 = 0) async throws(EarshotError) {
    try await Self.change(endpoint) { client, _ throws(ChannelRefusal) in
      try client.removeMember(uid, banSeconds: banSeconds, from: name.identity.id)
    }
  }

  /// All who are there, with this endpoint, by rising uid; empty before `joined`.
  public var members: [ChannelUser] {
    get async { await Self.members(endpoint, name) }
  }

  private static func members(
    _ endpoint: isolated Endpoint, _ name: ChannelName
  ) -> [ChannelUser] {
    endpoint.driver.readMachine { $0.channels.members(of: name.identity.id) }.map {
      ChannelUser(uid: $0.uid, id: $0.id, role: ChannelRole($0.role))
    }
  }

  static func join(
    _ endpoint: isolated Endpoint, _ name: ChannelName, _ role: ChannelRole, uid: UInt32,
    token: String?
  ) throws(EarshotError) -> Channel {
    if let token { try EarshotError.check(token: token) }
    try change(endpoint) { client, now throws(ChannelRefusal) in
      try client.join(
        name.identity, as: role.wire, uid: uid, token: token.map { Array($0.utf8) } ?? [],
        now: now)
    }
    return Channel(name: name, endpoint: endpoint)
  }

  private static func leave(_ endpoint: isolated Endpoint, _ name: ChannelName) {
    do throws(EarshotError) {
      try change(endpoint) { client, now throws(ChannelRefusal) in
        try client.leave(name.identity.id, now: now)
      }
    } catch {
      return  // It was left already.
    }
  }

  static func change(
    _ endpoint: isolated Endpoint,
    _ command: @Sendable (inout ChannelClient, Instant) throws(ChannelRefusal) -> Void
  ) throws(EarshotError) {
    guard !endpoint.isClosed else { throw .closed }
    let refusal = endpoint.driver.withMachine { machine, now -> ChannelRefusal? in
      do throws(ChannelRefusal) {
        try machine.withChannels(now: now) { client throws(ChannelRefusal) in
          try command(&client, now)
        }
        return nil
      } catch {
        return error
      }
    }
    if let refusal { throw .channel(refusal) }
  }
}

extension Endpoint {
  /// Joins a channel at the rendezvous, and stays in it until `Channel.leave`; any number of
  /// channels at once, but only in one of them as a host. `EndpointEvent.channel` tells what comes
  /// of it.
  ///
  /// - Parameters:
  ///   - name: The channel, with its key where it has one.
  ///   - role: Whether to be heard, as a host, or to listen.
  ///   - uid: The uid to ask for; 0 = any.
  ///   - token: The token of a channel with a key (`ChannelName.needsToken`).
  public func join(
    _ name: ChannelName, as role: ChannelRole, uid: UInt32 = 0, token: String? = nil
  ) throws(EarshotError) -> Channel {
    try Channel.join(self, name, role, uid: uid, token: token)
  }
}

extension EarshotError {
  static func channel(_ refusal: ChannelRefusal) -> EarshotError {
    switch refusal {
    case .alreadyJoined:
      EarshotError(
        .channelState, "The channel is joined already.", advice: "Leave it before joining again.")
    case .publishSlotTaken:
      EarshotError(
        .channelState, "Another channel has the role host; only one can be published to.",
        advice: "Leave it, or become audience there first.")
    case .tooManyChannels:
      EarshotError(
        .channelState, "This program is in as many channels as may be.", advice: "Leave one.")
    case .unknownChannel:
      EarshotError(
        .channelState, "The channel is not joined.", advice: "Join it first.")
    case .tooManyCommands:
      EarshotError(
        .channelState, "Too many commands of the channel wait for their results.",
        advice: "Wait for an event of the channel.")
    }
  }
}
