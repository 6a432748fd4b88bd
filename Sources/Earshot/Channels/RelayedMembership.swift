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
  static func ask(_ endpoint: isolated Endpoint, _ name: ChannelName) {
    do throws(EarshotError) {
      try Channel.change(endpoint) { client, _ throws(ChannelRefusal) in
        try client.requestRelay(in: name.identity.id)
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

  /// What the machine of a seat is made of.
  struct Materials: ~Copyable, Sendable {
    var settings: ChannelRelayMachine.Settings
    private var identity: LocalIdentity?

    init(_ settings: ChannelRelayMachine.Settings, _ identity: consuming LocalIdentity) {
      self.settings = settings
      self.identity = .some(identity)
    }

    mutating func takeIdentity() -> LocalIdentity {
      guard let identity = identity.take() else { preconditionFailure("taken once") }
      return identity
    }
  }

  /// - Parameter role: The newest that was told of; the roster may not have it yet.
  static func materials(
    _ endpoint: isolated Endpoint, _ name: ChannelName, _ grant: ChannelRelayGrant,
    as role: MemberRole?, _ generation: UInt32
  ) -> Materials? {
    guard var standing = standing(endpoint, name) else { return nil }
    standing.own.role = role ?? standing.own.role
    var settings = ChannelRelayMachine.Settings(
      channel: name.identity, own: standing.own, token: standing.token, grant: grant,
      wallClockAtZero: endpoint.driver.readMachine { $0.configuration.wallClockAtZero })
    settings.generation = generation
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
