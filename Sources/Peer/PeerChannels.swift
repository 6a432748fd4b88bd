import Channels
package import Primitives
package import Wire

/// The channels of one peer (docs/protocol/channels.md): what they say to the rendezvous, and what
/// the peer tells of them. The rules are `ChannelClient`'s.
package struct PeerChannels {
  /// Once one was joined.
  private var client: ChannelClient?

  /// The members of a channel as its user sees them, with the own one; by rising uid.
  package func members(of channel: Bytes32) -> [ChannelMember] {
    client?.members(of: channel) ?? []
  }

  /// - Parameter random: Where the stays of channels come from, if this is the first command.
  mutating func perform(
    isConnected: Bool, random: inout RandomSource, now: Instant,
    _ command: (inout ChannelClient) throws(ChannelRefusal) -> Void
  ) throws(ChannelRefusal) {
    var client: ChannelClient
    if let known = self.client {
      client = known
    } else {
      client = ChannelClient(random: random.split())
      client.handleConnection(isConnected, now: now)
    }
    defer { self.client = client }
    try command(&client)
  }

  /// The others hear of it at once, and not by silence.
  mutating func leaveAll(now: Instant) {
    for identity in client?.channels ?? [] {
      do throws(ChannelRefusal) {
        try client?.leave(identity.id, now: now)
      } catch {
        // It is none any more.
      }
    }
  }

  mutating func handle(_ notice: ChannelNotice, now: Instant) {
    client?.handle(notice, now: now)
  }

  /// Contact with the rendezvous stands, or has ended.
  mutating func handleContact(_ step: RegistrationStep, now: Instant) {
    if case .registered = step {
      client?.handleConnection(true, now: now)
    } else {
      client?.handleConnection(false, now: now)
    }
  }

  mutating func handleTimeout(now: Instant) { client?.handleTimeout(now: now) }

  var nextDeadline: Instant? { client?.nextDeadline }

  // MARK: - Outputs

  /// Says what is to be said. Each request is made again after a second where no answer came; the
  /// last word is not.
  mutating func sendRequests(by rendezvous: inout RendezvousLink, now: Instant) {
    while let request = client?.pollRequest(now: now) {
      rendezvous.send(.channel(request), life: .seconds(2), now: now)
    }
  }

  /// - Parameter unixSeconds: What our own clock shows, by which tokens are judged.
  mutating func pollEvent(unixSeconds: UInt64) -> PeerEvent? {
    guard let (channel, event) = client?.pollEvent() else { return nil }
    guard channel.key != nil else { return .channel(channel, event) }
    switch event {
    case .userJoined(let uid, _, _), .audienceJoined(let uid, _):
      do throws(ChannelRefusal) {
        try client?.requestProof(of: uid, in: channel.id)
      } catch {
        // It is not checked, and gets nothing of us.
      }
    case .proven(let uid, let joinNumber, let token):
      let fault = client?.fault(
        in: token, of: uid, joinNumber: joinNumber, in: channel,
        unixMilliseconds: unixSeconds * 1000)
      return .memberChecked(channel, uid: uid, fault)
    default: break
    }
    return .channel(channel, event)
  }
}
