import Channels
package import Primitives
package import Wire

/// The channels of one peer (docs/protocol/channels.md): what they say to the rendezvous, and what
/// the peer tells of them. The rules are `ChannelClient`'s.
package struct PeerChannels {
  /// Once one was joined.
  private var client: ChannelClient?
  /// Tokens that members have shown, whatever they are worth; those of a channel that was left
  /// stay until another one is joined.
  private var proofs: [Bytes32: [UInt32: Proof]] = [:]

  /// The token of a member, as the rendezvous says.
  package struct Proof: Sendable {
    package let joinNumber: UInt64
    package let token: [UInt8]
  }

  /// What a relay's machine is to know of a channel (docs/protocol/relay.md).
  package struct Standing: Sendable {
    package var own: ChannelMember
    package var token: [UInt8]
    package var members: [ChannelMember]
    package var revision: UInt64
    /// Whether the members are those of the revision, and no others.
    package var isExact: Bool
    package var proofs: [UInt32: Proof]
  }

  /// `nil` before the roster has come.
  package func standing(in channel: Bytes32) -> Standing? {
    guard let client, let own = client.own(in: channel) else { return nil }
    return Standing(
      own: own.member, token: own.token, members: client.members(of: channel),
      revision: client.revision(of: channel), isExact: client.isExact(in: channel),
      proofs: proofs[channel] ?? [:])
  }

  /// The members of a channel as its user sees them, with the own one; by rising uid.
  package func members(of channel: Bytes32) -> [ChannelMember] {
    client?.members(of: channel) ?? []
  }

  /// - Parameter random: Where the stays of channels come from, if this is the first command.
  mutating func run(
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
    for channel in proofs.keys where client.state(of: channel) == nil { proofs[channel] = nil }
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
    if case .doubted = step { return }
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
    case .userJoined(let uid, _, _), .audienceJoined(let uid, _), .returned(let uid):
      guard uid != client?.own(in: channel.id)?.member.uid else { break }
      do throws(ChannelRefusal) {
        try client?.requestProof(of: uid, in: channel.id)
      } catch {
        // It is not checked, and gets nothing of us.
      }
    case .proven(let uid, let joinNumber, let token):
      keep(Proof(joinNumber: joinNumber, token: token), of: uid, in: channel.id)
      let fault = client?.fault(
        in: token, of: uid, joinNumber: joinNumber, in: channel,
        unixMilliseconds: unixSeconds * 1000)
      return .memberChecked(channel, uid: uid, fault)
    case .userOffline(let uid, let reason):
      if reason != .becameAudience { proofs[channel.id]?[uid] = nil }
    case .audienceLeft(let uid, _): proofs[channel.id]?[uid] = nil
    default: break
    }
    return .channel(channel, event)
  }

  /// Keeps what a member has shown, if the roster has that stay. Of another stay it is asked for
  /// when the roster shows it. A rendezvous may say anything of anybody, asked or not.
  private mutating func keep(_ proof: Proof, of uid: UInt32, in channel: Bytes32) {
    guard client?.member(uid, of: channel)?.joinNumber == proof.joinNumber else { return }
    // In place: there is one for each of thousands of members.
    proofs[channel, default: [:]][uid] = proof
    // Where too many events waited, some were not told of who is gone.
    let members = members(of: channel)
    guard proofs[channel, default: [:]].count > members.count else { return }
    let uids = Set(members.map(\.uid))
    proofs[channel] = proofs[channel]?.filter { uids.contains($0.key) }
  }
}
