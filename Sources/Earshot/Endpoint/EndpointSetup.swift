internal import Calling
internal import Cryptography
internal import Peer
internal import Primitives
internal import Reactor
internal import Relay
internal import SecureSession
internal import Storage
internal import Wire

/// Everything an endpoint needs before it can live: made off the loop, because files and name
/// servers are slow.
struct EndpointSetup: ~Copyable {
  let id: PeerID
  let known: KnownIdentities
  let dialled: DialledRendezvous
  let loop: EventLoop
  let localAddress: SocketAddress
  let relayAuthorities: String?
  let mapsPort: Bool
  let machine: PeerMachine
  let socket: UDPSocket

  /// - Parameter address: Which address of the rendezvous to use; `nil` = the system's choice.
  static func make(
    _ configuration: Configuration, at address: SocketAddress? = nil
  ) async throws(EarshotError) -> EndpointSetup {
    let target = try RendezvousTarget(configuration.rendezvous)
    guard Configuration.callCounts.contains(configuration.maximumCalls) else {
      throw .invalidArgument(
        "\(configuration.maximumCalls) calls at once are out of range.", advice: "Use 1 to 32.")
    }
    guard configuration.relays.count <= RelayRoster.serverLimit else {
      throw .invalidArgument(
        "\(configuration.relays.count) TURN servers are too many.",
        advice: "Give \(RelayRoster.serverLimit).")
    }
    var name: PeerName?
    if let text = configuration.name {
      guard let valid = PeerName(text) else { throw .invalidName(text) }
      name = valid
    }
    if let token = configuration.token { try EarshotError.check(token: token) }
    if let path = configuration.relayAuthorities { try RelayStreams.check(authorities: path) }
    guard let bind = SocketAddress(configuration.bind) else {
      throw .invalidAddress(configuration.bind)
    }
    let path =
      configuration.isEphemeral ? nil : try LocalIdentityFile.path(configuration.identityFile)
    let identity = try path.map(LocalIdentityFile.open) ?? LocalIdentityFile.ephemeral()
    let resolved = try await target.resolve(matching: bind, at: address)
    let relays = try await RelayOptions.resolve(configuration.relays, matching: bind)
    // From here on there is a thread that somebody must end.
    let known = KnownIdentities(besideIdentity: path)
    do throws(EarshotError) {
      return try make(
        configuration, target, addresses: resolved, relays: relays, bind: bind, name: name,
        identity: identity, known: known)
    } catch {
      known.close()
      throw error
    }
  }

  private static func make(
    _ configuration: Configuration, _ target: RendezvousTarget, addresses: [SocketAddress],
    relays: [RelayServer], bind: SocketAddress, name: PeerName?, identity: consuming LocalIdentity,
    known: KnownIdentities
  ) throws(EarshotError) -> EndpointSetup {
    let socket = try openSocket(bind, dscp: configuration.dscp)
    let address = addresses[0]
    let now = SystemClock.now
    var settings = PeerConfiguration(
      rendezvous: address,
      wallClockAtZero: Int64(SystemClock.wallNanoseconds / 1_000_000)
        - Int64(now.nanoseconds / 1_000_000))
    settings.otherRendezvousAddresses = Array(addresses.dropFirst())
    settings.name = name
    settings.token = configuration.token.map { Array($0.utf8) }
    settings.hostCandidates = try hostAddresses(socket.localAddress, rendezvous: address)
    settings.relays = relays
    let pin = known.rendezvous(target.text)
    settings.rendezvousID = target.id ?? pin?.id
    if let pin, target.id == nil || target.id == pin.id { settings.rendezvousCard = pin.card }
    if let root = settings.rendezvousID { known.recall(root, in: &settings) }
    settings.policy.preparation = CallPolicy.Preparation(configuration.pathPolicy)
    settings.policy.mostCalls = configuration.maximumCalls
    settings.limits.unreadMessages = ReadMessages.mostUnread
    settings.presence = PresenceKind(configuration.presence)
    settings.asksForRelays = configuration.isExaminer
    settings.isForFamiliars = configuration.visibility == .contacts
    let id = identity.id
    let local = socket.localAddress
    var machine = PeerMachine(settings, identity: identity, random: .system, now: now)
    for peer in try familiars(known, areAudience: settings.isForFamiliars) {
      machine.setFamiliar(peer.id, true, card: peer.card)
    }
    // Last: nothing that may fail comes after it.
    let loop = try startLoop(wantsRealTime: configuration.usesRealTimeScheduling)
    return EndpointSetup(
      id: id, known: known, dialled: DialledRendezvous(target: target, bind: bind), loop: loop,
      localAddress: local, relayAuthorities: configuration.relayAuthorities,
      mapsPort: configuration.mapsPort, machine: machine, socket: socket)
  }

  private static func familiars(
    _ known: KnownIdentities, areAudience: Bool
  ) throws(EarshotError) -> [(id: PeerID, card: [UInt8])] {
    guard areAudience else { return known.takeFamiliarChanges().come }
    // Those without a name that nobody verified are left out first.
    let count = known.namedCount
    guard count <= Audience.limit else {
      throw .invalidArgument(
        "\(count) contacts are too many for a presence that only they see.",
        advice: "Keep \(Audience.limit) at the most, or let everybody see it.")
    }
    return known.takeFamiliarChanges(limit: Audience.limit).come
  }

  private static func openSocket(
    _ bind: SocketAddress, dscp: UInt8
  ) throws(EarshotError) -> UDPSocket {
    var options = UDPSocket.Options()
    options.slotCount = 8
    options.localAddresses = .whereSystemDiffers
    do throws(ReactorError) {
      let socket = try UDPSocket(binding: bind, options)
      socket.sendECNCapable(dscp: dscp)
      return socket
    } catch {
      if error.isAddressInUse { throw .addressInUse(bind) }
      if error.isAddressUnavailable { throw .addressUnavailable(bind) }
      throw .systemFailure("opening UDP \(bind)", detail: error.reason)
    }
  }

  private static func startLoop(wantsRealTime: Bool) throws(EarshotError) -> EventLoop {
    var options = EventLoop.Options()
    options.wantsRealTime = wantsRealTime
    do throws(ReactorError) {
      let loop = try EventLoop(options)
      try loop.start()
      return loop
    } catch {
      throw .systemFailure("starting the event loop", detail: error.reason)
    }
  }

  /// What peers may be told: all own addresses, or the one that the socket is bound to. A socket of
  /// IPv4 reaches nothing else; one that is bound to every address offers both.
  static func hostAddresses(
    _ local: SocketAddress, rendezvous: SocketAddress
  ) throws(EarshotError) -> [SocketAddress] {
    guard local.isUnspecified else { return [local] }
    do throws(ReactorError) {
      return try NetworkInterfaces.hostAddresses(
        port: local.port, includingLoopback: rendezvous.isLoopback
      ).filter { local.family == .v6 || $0.family == .v4 }
    } catch {
      throw .systemFailure("listing the network interfaces", detail: error.reason)
    }
  }
}

extension KnownIdentities {
  /// What was kept of a service.
  fileprivate func recall(_ service: PeerID, in settings: inout PeerConfiguration) {
    settings.rendezvousNodes = nodes(of: service)
    settings.nameReceipt = settings.name.map { receipt(for: $0, at: service) } ?? []
  }
}

extension Configuration {
  /// `HOST:PORT[#ID]` from `HOST[:PORT][#ID]`.
  package static func completedRendezvous(_ text: String, usual: UInt16 = 7400) -> String {
    let address = text.prefix { $0 != "#" }
    let isIPv6 = address.hasPrefix("[")
    let hasPort = isIPv6 ? !address.hasSuffix("]") : address.contains(":")
    return address.isEmpty || hasPort
      ? text : "\(address):\(usual)\(text.dropFirst(address.count))"
  }
}

/// `HOST:PORT`, or `HOST:PORT#ID`; without a port it is 7400.
struct RendezvousTarget: Sendable {
  /// Without the ID: what a pin is remembered under.
  let text: String
  let id: PeerID?

  init(_ text: String) throws(EarshotError) {
    let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, !first.isEmpty else { throw .invalidAddress(text) }
    self.text = Configuration.completedRendezvous(String(first))
    if parts.count == 2 {
      guard let id = PeerID(String(parts[1])) else {
        throw .invalidArgument(
          "'\(parts[1])' is not an ID.", advice: "An ID has 52 letters; copy the whole of it.")
      }
      self.id = id
    } else {
      id = nil
    }
  }

  /// The addresses that the local socket can send to, in the order in which they are tried: the
  /// system's first choice, then one of each family in turn (RFC 8305 §4).
  ///
  /// - Parameter address: The only one that is to be used; `nil` = as many as there are.
  func resolve(
    matching bind: SocketAddress, at address: SocketAddress? = nil
  ) async throws(EarshotError) -> [SocketAddress] {
    if let address { return [address] }
    let found = try await addresses(matching: bind)
    guard let first = Self.preferred(found) else { throw .invalidAddress(text) }
    return Self.inTurn(found, from: first)
  }

  /// At most as many as an attempt has packets.
  static func inTurn(_ addresses: [SocketAddress], from first: SocketAddress) -> [SocketAddress] {
    let others = addresses.filter { $0 != first }
    var alike = others.filter { $0.family == first.family }[...]
    var different = others.filter { $0.family != first.family }[...]
    var order = [first]
    while order.count < mostAddresses, let next = different.popFirst() ?? alike.popFirst() {
      order.append(next)
      if next.family != first.family, let same = alike.popFirst() { order.append(same) }
    }
    return Array(order.prefix(mostAddresses))
  }

  /// Of a rendezvous, tried by one attempt to register.
  private static let mostAddresses = 4

  /// Every address that the local socket can send to, in the system's order (RFC 6724).
  func addresses(matching bind: SocketAddress) async throws(EarshotError) -> [SocketAddress] {
    let addresses: [SocketAddress]
    do throws(ReactorError) {
      addresses = try await Resolver.resolve(text)
    } catch {
      throw error.action == "resolve"
        ? .hostNotFound(text, detail: error.reason, hasNetwork: NetworkState.hasAddress)
        : .invalidAddress(text)
    }
    let usable = addresses.filter {
      ($0.family == bind.family || bind.family == .v6 && bind.isUnspecified) && !$0.isUnsendable
    }
    guard !usable.isEmpty else {
      guard !addresses.isEmpty else { throw .hostNotFound(text, detail: "no address") }
      throw .invalidArgument(
        "A socket at \(bind) cannot send to \(text).",
        advice: "Both need addresses of one family, IPv4 or IPv6: choose another --bind.")
    }
    return usable
  }

  /// The same, of a local address as text.
  func addresses(matching bind: String) async throws(EarshotError) -> [SocketAddress] {
    guard let address = SocketAddress(bind) else { throw .invalidAddress(bind) }
    return try await addresses(matching: address)
  }

  /// The system's first choice (RFC 6724). Of a name for this host itself, `localhost`, the IPv4
  /// address: a rendezvous that listens on 127.0.0.1 alone is more usual than one on ::1 alone.
  private static func preferred(_ addresses: [SocketAddress]) -> SocketAddress? {
    let loopback = addresses.first { $0.isLoopback && $0.family == .v4 }
    return addresses.first?.isLoopback == true ? loopback ?? addresses.first : addresses.first
  }
}

/// The rendezvous as the user named it, and when its name was last looked up.
struct DialledRendezvous {
  let target: RendezvousTarget
  /// The local address that packets to it leave from.
  let bind: SocketAddress
  private var isAsking = false
  private var asked = SystemClock.now

  init(target: RendezvousTarget, bind: SocketAddress) {
    (self.target, self.bind) = (target, bind)
  }

  var text: String { target.text }
  /// The user gave the ID of the rendezvous, and so vouches for it.
  var isGiven: Bool { target.id != nil }

  /// Whether the name is to be looked up anew, as nothing answers where it led: each 10 s.
  mutating func mayAsk(now: Instant) -> Bool {
    guard SocketAddress(text) == nil, !isAsking, now - asked >= .seconds(10) else { return false }
    (isAsking, asked) = (true, now)
    return true
  }

  mutating func handleAnswer() { isAsking = false }

  /// Where the name leads; none where no name server says.
  func addresses() async -> [SocketAddress] {
    do throws(EarshotError) { return try await target.resolve(matching: bind) } catch { return [] }
  }
}

extension CallPolicy.Preparation {
  init(_ policy: Configuration.PathPolicy) {
    switch policy {
    case .prepareOnRinging: self = .onRinging
    case .prepareOnAccept: self = .onAccept
    case .prepareForFamiliars: self = .onRingingOfFamiliars
    }
  }
}
