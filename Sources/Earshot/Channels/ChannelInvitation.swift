internal import Calling
internal import Channels
internal import Peer
internal import Primitives
internal import Reactor
internal import Tokens
internal import Wire

/// What the other side of a call gives to make a channel of it (`CallProgress.invitedToChannel`):
/// where to go, and the token that opens it. Keep the token to yourself.
public struct ChannelInvitation: Sendable, Equatable, CustomStringConvertible {
  /// The channel, with its key.
  public let channel: ChannelName
  /// For `Endpoint.join`, or for `Channel.renewToken` where the channel is joined already.
  public let token: String

  /// - Parameters:
  ///   - channel: the channel, with its key.
  ///   - token: the token of one member.
  public init(channel: ChannelName, token: String) {
    self.channel = channel
    self.token = token
  }

  /// The channel; the token stays out of logs.
  public var description: String { channel.description }

  init(_ pass: ChannelPass) {
    let key = TokenPublicKey(bytes: pass.key)
    channel = ChannelName(ChannelIdentity(name: pass.name, key: key))
    token = String(decoding: pass.token, as: UTF8.self)
  }

  /// `nil` for an open channel, or a token of a wrong length.
  var pass: ChannelPass? {
    guard let key = channel.identity.key else { return nil }
    return ChannelPass(key: key.bytes, name: channel.identity.name, token: Array(token.utf8))
  }
}

extension Call {
  /// Whether the other side would follow into a channel (`CallOptions.followsChannels`), as far as
  /// it has said by now: the caller knows it since the answer.
  public var canBecomeChannel: Bool {
    get async { await Self.canBecomeChannel(endpoint, id) }
  }

  /// Makes a channel of the call, or a part of one: tells the other side where it is, under the
  /// keys of the call, which goes on as the pair of the two in it. Join it as well, and give the
  /// same to others by calls of theirs (`ChannelKey`).
  ///
  /// - Throws: `callState` when the call is not connected, or the other side would not follow;
  ///   `invalidArgument` for an open channel or a token that is none.
  public func invite(to invitation: ChannelInvitation) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.invite(endpoint, id, invitation)
    }
  }

  /// Says no because this side has other calls: the caller hears that it is busy, as if there had
  /// been no room (`Configuration.maximumCalls`).
  public func rejectAsBusy() async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      let callID = endpoint.resolve(id)
      try endpoint.command { machine, now throws(PeerRefusal) in
        try machine.reject(callID, .busy, now: now)
      }
    }
  }

  private static func canBecomeChannel(_ endpoint: isolated Endpoint, _ id: CallID) -> Bool {
    let callID = endpoint.resolve(id)
    let words = endpoint.driver.readMachine { $0.words(of: callID) }
    return words?.abilities.contains(.channels) ?? false
  }

  private static func invite(
    _ endpoint: isolated Endpoint, _ id: CallID, _ invitation: ChannelInvitation
  ) throws(EarshotError) {
    try EarshotError.check(token: invitation.token)
    guard let pass = invitation.pass else {
      throw .invalidArgument(
        "A call becomes a channel with a key alone.", advice: "Make one by ChannelKey.")
    }
    try send(endpoint, id, .channel(pass))
  }

  /// Says it to a side that follows into channels.
  static func send(
    _ endpoint: isolated Endpoint, _ id: CallID, _ control: CallControlMessage
  ) throws(EarshotError) {
    let callID = endpoint.resolve(id)
    guard endpoint.calls[callID]?.told.state == .connected else {
      throw .callState("The call is not connected.")
    }
    guard canBecomeChannel(endpoint, id) else {
      throw .callState("The other side does not follow into channels.")
    }
    endpoint.driver.withMachine { machine, now in
      machine.say(control, on: callID, now: now)
    }
  }

  static func setMaximumCalls(
    _ endpoint: isolated Endpoint, _ count: Int
  ) throws(EarshotError) {
    guard !endpoint.isClosed else { throw .closed }
    guard Configuration.callCounts.contains(count) else {
      throw .invalidArgument("\(count) calls at once are out of range.", advice: "Use 1 to 32.")
    }
    endpoint.driver.withMachine { machine, _ in machine.setPolicy { $0.mostCalls = count } }
  }
}

extension Endpoint {
  /// How many calls there may be at once from now on (`Configuration.maximumCalls`). Those that
  /// there are go on.
  public func setMaximumCalls(_ count: Int) throws(EarshotError) {
    try Call.setMaximumCalls(self, count)
  }
}
