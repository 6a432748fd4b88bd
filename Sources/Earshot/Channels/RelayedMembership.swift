internal import Channels
internal import GroupKeys
internal import Peer
internal import Primitives
internal import Reactor
internal import SecureSession
internal import Wire

/// What a `ChannelRelay` asks its endpoint: for relays, for who is in the channel, and for what a
/// seat is taken with.
enum RelayedMembership {
  /// Asks the rendezvous for a relay.
  ///
  /// - Parameter lost: The one that was granted, of which nothing is heard.
  static func ask(_ endpoint: isolated Endpoint, _ name: ChannelName, lost: PeerID?) {
    do throws(EarshotError) {
      try Channel.change(endpoint) { client, _ throws(ChannelRefusal) in
        try client.requestRelay(in: name.identity.id, lost: lost)
      }
    } catch {
      return  // It was left: nothing is wanted any more.
    }
  }

  static func standing(
    _ endpoint: isolated Endpoint, _ name: ChannelName
  ) -> PeerChannels.Standing? {
    endpoint.driver.readMachine { $0.channels.standing(in: name.identity.id) }
  }

  /// A member has shown a token: the others, of whom there are thousands, are as they were.
  static func handToken(
    of uid: UInt32, _ channel: Channel, to relay: isolated ChannelRelay
  ) async {
    guard let proof = await proof(channel.endpoint, channel.name, uid) else { return }
    relay.driver?.withMachine { $0.handleTokens([uid: proof], now: $1) }
  }

  private static func proof(
    _ endpoint: isolated Endpoint, _ name: ChannelName, _ uid: UInt32
  ) -> PeerChannels.Proof? {
    endpoint.driver.readMachine { $0.channels.proof(of: uid, in: name.identity.id) }
  }

  /// What the machine of a seat is made of.
  struct Materials: ~Copyable, Sendable {
    var settings: ChannelRelayMachine.Settings
    private var identity: LocalIdentity?

    init(_ settings: ChannelRelayMachine.Settings, _ identity: consuming LocalIdentity) {
      self.settings = settings
      self.identity = .some(identity)
    }

    /// On a socket of its own.
    mutating func makeDriver(on loop: EventLoop) throws -> MachineDriver<ChannelRelayMachine> {
      guard let identity = identity.take() else { preconditionFailure("taken once") }
      let machine = try ChannelRelayMachine(
        settings, identity: identity, random: .system, now: SystemClock.now)
      let family = settings.grant.address.family
      let any = SocketAddress(family: family, high: 0, low: 0, port: 0)
      return MachineDriver(machine, socket: try UDPSocket(binding: any), on: loop)
    }
  }

  /// - Parameter role: The newest that was told of; the roster may not have it yet.
  static func materials(
    _ endpoint: isolated Endpoint, _ name: ChannelName, _ grant: ChannelRelayGrant,
    as role: MemberRole?, _ generation: UInt32, _ options: ChannelRelay.Options
  ) -> Materials? {
    guard var standing = standing(endpoint, name) else { return nil }
    standing.own.role = role ?? standing.own.role
    var settings = ChannelRelayMachine.Settings(
      channel: name.identity, own: standing.own, token: standing.token, grant: grant,
      wallClockAtZero: endpoint.driver.readMachine { $0.configuration.wallClockAtZero })
    settings.generation = generation
    settings.pictures = options.pictureSettings
    settings.loudest = options.loudest
    return Materials(settings, endpoint.driver.readMachine { $0.identity.copy() })
  }

  /// `nil` = it just left.
  static func departure(_ reason: ChannelReason) -> Departure? {
    switch reason {
    case .removed: .removed
    case .banned: .banned
    case .tokenExpired: .expired
    case .replaced: .replaced
    default: nil
    }
  }
}

extension ChannelRelayMachine {
  /// Who is in the channel, what they have shown, and why others are gone.
  mutating func handle(
    _ standing: PeerChannels.Standing, _ departures: [UInt32: Departure], now: Instant
  ) {
    handleTokens(standing.proofs, now: now)
    handleRoster(
      standing.members, revision: standing.revision, isExact: standing.isExact,
      departures: departures, now: now)
  }
}

extension PeerChannels.Standing? {
  /// Whether the seat that `driver` has is that of a stay before this one.
  func isAfter(_ driver: MachineDriver<ChannelRelayMachine>) -> Bool {
    guard let own = self?.own else { return false }
    let seat = driver.readMachine { $0.settings.own }
    return own.uid != seat.uid || own.joinNumber != seat.joinNumber
  }
}

/// What a member has of its relay.
enum RelayContact: Equatable {
  /// No relay, or it was lost.
  case none
  case seated
  /// The seat is that of a former stay: it does what it can until there is another.
  case renewing(since: Instant)

  /// For a seat of the new stay to be there before the old one counts as lost.
  static let patience = Duration.milliseconds(1500)
}
