public import Primitives

/// What this host has, how a rendezvous sees it, and what is in the way of calls: a plain value.
///
///     let plan = DiagnosisPlan(rendezvous: ["rendezvous.example:7400"])
///     let diagnosis = try await NetworkDiagnosis.examine(plan)
///     for finding in diagnosis.findings { print(finding) }
///
/// What was not asked, or could not be told apart, is absent, never guessed; `findings` says so.
public struct NetworkDiagnosis: Sendable, Equatable {
  /// What the kernel tells of this host.
  public var host: HostFacts
  /// What each address of the rendezvous told, in the order in which they were asked.
  public var sightings: [RendezvousSighting]
  /// What is between this host and the rendezvous, one for each family in which one answered.
  public var translators: [TranslatorFacts]
  /// What the router does when it is asked for a port; `nil` = there is none to ask.
  public var portMapping: PortMappingFacts?
  /// What each TURN server told.
  public var relays: [RelaySighting]
  /// What each `earshot-relay` told.
  public var channelRelays: [ChannelRelaySighting] = []

  package init(
    host: HostFacts, sightings: [RendezvousSighting] = [], relays: [RelaySighting] = []
  ) {
    self.host = host
    self.sightings = sightings
    self.relays = relays
    translators = TranslatorFacts.judge(sightings)
  }

  /// Whether a rendezvous was asked and none answered.
  public var isUnreachable: Bool {
    !sightings.isEmpty && !sightings.contains { $0.isAnswered }
  }
}

/// What is to be examined.
public struct DiagnosisPlan: Sendable {
  /// `HOST:PORT` or `HOST:PORT#ID` of each rendezvous to ask, at most `mostRendezvous`; none = only
  /// this host is examined. A name is asked at each of its addresses. Two addresses tell how a
  /// translator maps (RFC 4787); one cannot.
  public var rendezvous: [String]
  /// As `Configuration.identityFile`.
  public var identityFile: String?
  /// As `Configuration.token`.
  public var token: String?
  /// As `Configuration.bind`.
  public var bind: String
  /// Whether the host's router is asked to open a port for a moment. `true` unless set.
  public var mapsPort = true
  /// How long an address may take to answer.
  public var patience: Duration
  /// Whether it is also measured how long translators keep mappings: two minutes for each family.
  public var measuresLifetime = false
  /// TURN servers to ask for a relay; none = those that the rendezvous names.
  public var relays: [RelayOptions] = []
  /// As `Configuration.relayAuthorities`.
  public var relayAuthorities: String?

  /// `HOST:PORT` or `HOST:PORT#ID` of each `earshot-relay` to look for, besides the one that the
  /// rendezvous tells of; at most `mostRendezvous`.
  public var channelRelays: [String] = []

  /// How many may be named.
  public static let mostRendezvous = 4
  /// How many addresses are asked in all.
  public static let mostAddresses = 8

  /// 5 s for each address.
  public init(rendezvous: [String] = []) {
    self.rendezvous = rendezvous
    bind = "[::]:0"
    patience = .seconds(5)
  }
}

/// What one address of a rendezvous told.
public struct RendezvousSighting: Sendable, Equatable {
  /// As it was named: `HOST:PORT`.
  public var name: String
  /// The address that was asked; `nil` when the name has none.
  public var address: SocketAddress?
  /// The own address that packets to it leave from.
  public var local: SocketAddress?
  /// The address that it sees.
  public var seenAs: SocketAddress?
  /// The address that it sees of a second socket, and that socket's own one.
  public var second: SocketPair?
  /// What its echoes showed, at the first address of each family that answers.
  public var trials: LineTrials?
  /// Its clock minus ours, in ms.
  public var clockOffsetMs: Double?
  /// How far `clockOffsetMs` may be off, in ms: half the time that the handshake took, and what
  /// the rendezvous cuts off of the time that it tells.
  public var clockUncertaintyMs: Double?
  /// The median round trip, in ms.
  public var roundTripMs: Double?
  /// What became of the ECN field on the way there.
  public var uplinkECN: ECNSurvival?
  /// What became of it on the way back.
  public var downlinkECN: ECNSurvival?
  /// Why there is nothing, or not all.
  public var error: EarshotError?
  /// Whether it answered, be it with a refusal.
  public var isAnswered: Bool

  package init(name: String, address: SocketAddress? = nil, isAnswered: Bool = false) {
    self.name = name
    self.address = address
    self.isAnswered = isAnswered
  }
}

/// A socket of this host, and what the other end sees of it.
public struct SocketPair: Sendable, Equatable {
  /// The own address.
  public var local: SocketAddress
  /// What the other end sees.
  public var seenAs: SocketAddress

  package init(local: SocketAddress, seenAs: SocketAddress) {
    self.local = local
    self.seenAs = seenAs
  }
}

/// What an `earshot-relay` told.
public struct ChannelRelaySighting: Sendable, Equatable {
  /// As it was named, `HOST:PORT`, or the address that the rendezvous tells.
  public var name: String
  /// Whether the rendezvous tells members of it.
  public var isOffered: Bool
  /// The ID that it is to show; `nil` where none was given.
  public var id: PeerID?
  /// The address that was asked; `nil` when the name has none.
  public var address: SocketAddress?
  /// From the first question to the answer that shows its key, in ms, rounded up: two round trips,
  /// and one more while it is under load.
  public var tookMs: Double?
  /// Why members get nothing from it; `nil` = nothing is the matter.
  public var error: EarshotError?

  package init(name: String, isOffered: Bool = false, id: PeerID? = nil) {
    self.name = name
    self.isOffered = isOffered
    self.id = id
  }
}
