package import Forwarding
package import Primitives
package import Relay
package import SecureSession
package import Tokens
package import Wire

/// Who may register.
package enum Admission: Sendable {
  case everyone
  /// These identities; each of these names belongs to the one beside it.
  case only(ids: Set<PeerID>, names: [PeerName: PeerID])

  func allows(_ id: PeerID) -> Bool {
    switch self {
    case .everyone: true
    case .only(let ids, _): ids.contains(id)
    }
  }

  /// Whether the list gives the name to somebody else.
  func keeps(_ name: PeerName, from id: PeerID) -> Bool {
    guard case .only(_, let names) = self, let owner = names[name] else { return false }
    return owner != id
  }
}

/// TURN servers for clients: each client gets credentials of its own (docs/decisions/0061).
package struct RelayService: Sendable {
  /// At most `RelayOffer.serverLimit`, the preferred one first.
  package let uris: [String]
  private let secret: RelaySecret
  private let lifeSeconds: UInt32

  /// Eight times as long as a session lives: a client has fresh ones well before.
  package static let usualLife: UInt32 = 43_200

  package init(
    uris: [String], secret: RelaySecret, lifeSeconds: UInt32 = RelayService.usualLife
  ) {
    self.uris = uris
    self.secret = secret
    self.lifeSeconds = lifeSeconds
  }

  /// RELAYS for one client, with one user for all servers.
  func offer(unixSeconds: UInt64, random: inout RandomSource) -> RelayOffer {
    let credentials = secret.credentials(
      until: unixSeconds &+ UInt64(lifeSeconds), random: &random)
    return RelayOffer(
      lifeSeconds: lifeSeconds,
      servers: uris.prefix(RelayOffer.serverLimit).map {
        RelayOffer.Server(uri: $0, user: credentials.user, password: credentials.password)
      })
  }
}

/// What a server is told when it starts.
package struct ServerSettings: ~Copyable {
  package var identity: LocalIdentity
  /// The server's own contact card, for CARD.
  package var card: ContactCard
  /// Starts so far, this one included; never goes back (docs/protocol/session.md §8).
  package var bootCounter: UInt64
  /// 32 secret bytes that stay the same for ever.
  package var resetKey: [UInt8]
  /// Milliseconds since 1970 UTC at the machine's `Instant.zero`.
  package var wallMilliseconds: UInt64
  package var admission: Admission
  /// What the access token of a registration must be; `nil` = none is needed.
  package var tokenRule: TokenRule?
  /// `nil` = clients are told of no TURN server.
  package var relays: RelayService?
  /// The identities of relays that may register (docs/protocol/relay.md §1).
  package var relayIDs: Set<PeerID> = []
  /// The nodes of the service that this is one of, signed by its root; `nil` = clients pin this
  /// server alone.
  package private(set) var nodes: NodeList?
  /// How long a ticket for a pair is good: 12 h, as are credentials for a TURN server.
  package var pairTicketLife = Duration.seconds(43_200)
  /// Where the server is a relay itself: how much it forwards. It answers no look-up then, and its
  /// access tokens are grants for seats.
  package var forwarding: ForwardingLimits?

  package init(
    identity: consuming LocalIdentity, card: ContactCard, bootCounter: UInt64,
    resetKey: [UInt8], wallMilliseconds: UInt64, admission: Admission = .everyone,
    tokenKey: TokenPublicKey? = nil, relays: RelayService? = nil, nodes: NodeList? = nil
  ) {
    self.nodes = nodes
    tokenRule = Self.tokenRule(tokenKey, card, nodes)
    self.identity = identity
    self.card = card
    self.bootCounter = bootCounter
    self.resetKey = resetKey
    self.wallMilliseconds = wallMilliseconds
    self.admission = admission
    self.relays = relays
  }

  /// Key agreements; a token is one more signature to check.
  func workPerSecond(_ limits: ServerLimits) -> UInt64 {
    let most = limits.keyAgreementsPerSecond
    return tokenRule == nil ? most : most * 4 / 5
  }

  /// Who may register, with which tokens, which relays, and the list of nodes.
  mutating func admit(
    _ admission: Admission, tokenKey: TokenPublicKey?, relays: Set<PeerID>, nodes: NodeList?
  ) {
    self.admission = admission
    self.nodes = nodes
    tokenRule = Self.tokenRule(tokenKey, card, nodes)
    relayIDs = relays
  }

  /// A token is for this server, or for the service whose root has signed its nodes.
  private static func tokenRule(
    _ key: TokenPublicKey?, _ card: ContactCard, _ nodes: NodeList?
  ) -> TokenRule? {
    key.map { TokenRule(key: $0, audience: "\(card.id)", service: nodes.map { "\($0.root)" }) }
  }

  /// Whether a client that understands it is told that it may ask for relays for its calls: also
  /// while there is none, as one may be named later. By a relay, that it knows low streams.
  func hasPairs(for abilities: ClientAbilities) -> Bool { abilities.contains(.pairs) }

  /// Whether a member that understands it is told that it may send to all members at once.
  func hasChannelData(for abilities: ClientAbilities) -> Bool {
    abilities.contains(.channelData) && forwarding != nil
  }

  /// Whether a member that understands it is told how many frames of each host it was not sent.
  func hasUnsentCounts(for abilities: ClientAbilities) -> Bool {
    abilities.contains(.unsentCounts) && forwarding != nil
  }

  /// A message, unless the server is a relay and it is none that a relay takes.
  func permitted(_ message: RendezvousMessage) throws(WireError) -> RendezvousMessage {
    if forwarding == nil { return message }
    switch message {
    case .token, .channelData: return message
    default: throw .invalid("message to a relay", at: 0)
    }
  }

  /// Seconds since 1970 UTC.
  func unixSeconds(_ now: Instant) -> UInt64 { unixMilliseconds(now) / 1000 }

  /// Milliseconds since 1970 UTC.
  func unixMilliseconds(_ now: Instant) -> UInt64 {
    wallMilliseconds &+ now.nanoseconds / 1_000_000
  }
}
