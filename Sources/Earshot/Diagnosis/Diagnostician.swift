internal import LastMile
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

extension NetworkDiagnosis {
  /// Examines this host and, if the plan names any, asks each address of each rendezvous in turn:
  /// from one socket's port all of them, and the first that answers from further sockets too, which
  /// tell what gets in to them. Then it asks each TURN server for a relay: those of the plan, or
  /// those that the rendezvous names. It looks whether each `earshot-relay` is there. It registers
  /// as a guest: nobody can call this program, and one that waits for calls stays.
  ///
  /// Takes about 4 s for each address that answers, and the plan's patience for any other; with
  /// `measuresLifetime` two minutes more for each family.
  ///
  /// - Throws: When the plan, the identity file or the host cannot be used, and `closed` soon after
  ///   its task is cancelled: what was opened is closed then. That a rendezvous does not answer is
  ///   not thrown but part of the result.
  public static func examine(
    _ plan: DiagnosisPlan
  ) async throws(EarshotError) -> NetworkDiagnosis {
    guard plan.rendezvous.count <= DiagnosisPlan.mostRendezvous else {
      throw .invalidArgument(
        "\(plan.rendezvous.count) rendezvous are too many.",
        advice: "Name at most \(DiagnosisPlan.mostRendezvous).")
    }
    if let path = plan.relayAuthorities { try RelayStreams.check(authorities: path) }
    let host = try HostFacts.examine()
    var diagnostician = Diagnostician(plan)
    let places = try await diagnostician.findPlaces()
    let asksRouter = plan.mapsPort && !places.areOnThisHost
    let portMapping = asksRouter ? await PortMappingFacts.examine(bind: plan.bind) : nil
    let sightings = try await diagnostician.ask(places)
    let relays = await diagnostician.askRelays()
    let channelRelays = try await diagnostician.askChannelRelays()
    if Task.isCancelled { throw .closed }
    var diagnosis = NetworkDiagnosis(host: host, sightings: sightings, relays: relays)
    diagnosis.channelRelays = channelRelays
    diagnosis.portMapping = portMapping
    return diagnosis
  }
}

/// Asks one rendezvous after the other.
struct Diagnostician {
  let plan: DiagnosisPlan
  /// Where the first socket was bound: the others of the family share its port, and so its
  /// mapping.
  private var bind: String
  private var askedSecond: Set<SocketAddress.Family> = []
  private var offered: [RelayOptions] = []
  /// The relay for channels that a rendezvous told of.
  private(set) var offeredRelay: OfferedRelay?

  /// An address of a rendezvous.
  struct Place: Sendable {
    /// As it was named.
    let text: String
    let name: String
    let address: SocketAddress
  }

  /// What the plan names.
  struct Places: Sendable {
    /// Every address to be asked.
    var found: [Place] = []
    /// The names that have none.
    var unknown: [RendezvousSighting] = []

    /// Whether nobody is to come from outside.
    var areOnThisHost: Bool {
      !found.isEmpty && unknown.isEmpty && found.allSatisfy(\.address.isLoopback)
    }
  }

  init(_ plan: DiagnosisPlan) {
    self.plan = plan
    bind = plan.bind
  }

  mutating func ask(_ places: Places) async throws(EarshotError) -> [RendezvousSighting] {
    var sightings: [RendezvousSighting] = []
    for place in places.found {
      if Task.isCancelled { throw .closed }
      sightings.append(try await ask(place, of: places.found))
    }
    return sightings + places.unknown
  }

  /// Resolves the names.
  func findPlaces() async throws(EarshotError) -> Places {
    var places = Places()
    for text in plan.rendezvous {
      let target = try RendezvousTarget(text)
      do throws(EarshotError) {
        for address in try await target.addresses(matching: plan.bind)
        where places.found.count < DiagnosisPlan.mostAddresses
          && !places.found.contains(where: { $0.address == address })
        {
          places.found.append(Place(text: text, name: target.text, address: address))
        }
      } catch {
        guard error.code == .hostNotFound else { throw error }
        var sighting = RendezvousSighting(name: target.text)
        sighting.error = error
        places.unknown.append(sighting)
      }
    }
    return places
  }

  private mutating func ask(
    _ place: Place, of places: [Place]
  ) async throws(EarshotError) -> RendezvousSighting {
    var sighting = try await look(at: place)
    let family = place.address.family
    guard let local = sighting.local, let seen = sighting.seenAs, !askedSecond.contains(family)
    else { return sighting }
    askedSecond.insert(family)
    try await askAgain(place, of: places, &sighting)
    if let second = sighting.second, !seen.isSameHost(as: local) {
      sighting.trials?.hairpins = await HairpinExaminer.examine(
        SocketPair(local: local, seenAs: seen), second, bind: plan.bind)
    }
    // A rendezvous that sends no echoes takes them for mistakes, and 16 of those end a session.
    if plan.measuresLifetime, let trials = sighting.trials, trials.lifetimeUntested == nil {
      let lifetime = try await measureLifetime(at: place)
      sighting.trials?.lifetime = lifetime
      if lifetime == nil { sighting.trials?.lifetimeUntested = EchoOutcome.noWord }
    }
    return sighting
  }

  /// From the socket that asks all places. When this returns, nothing holds it any more.
  private mutating func look(at place: Place) async throws(EarshotError) -> RendezvousSighting {
    var sighting = RendezvousSighting(name: place.name, address: place.address)
    let endpoint = try await open(place, bind: bind)
    if let own = SocketAddress(plan.bind) {
      var bound = own
      bound.port = endpoint.localAddress.port
      bind = bound.description
    }
    await endpoint.look(&sighting, place.address, within: plan.patience, probes: true)
    if offered.isEmpty { offered = await endpoint.offeredRelays }
    if offeredRelay == nil, sighting.seenAs != nil {
      offeredRelay = await Self.channelRelay(offeredTo: endpoint, within: .seconds(2))
    }
    await endpoint.close()
    return sighting
  }

  /// From a second socket, that nobody else has heard of: what gets in to it can be told.
  private func askAgain(
    _ place: Place, of places: [Place], _ sighting: inout RendezvousSighting
  ) async throws(EarshotError) {
    var second = RendezvousSighting(name: place.name, address: place.address)
    let other = try await open(place, bind: anyPort)
    await other.look(&second, place.address, within: plan.patience, probes: false)
    if let local = second.local, let seen = second.seenAs {
      sighting.second = SocketPair(local: local, seenAs: seen)
      let wait = Duration.milliseconds(250 + Int64(2 * (sighting.roundTripMs ?? 0)))
      sighting.trials = try await examine(other, at: place, of: places, wait: wait)
    }
    await other.close()
  }

  /// The TURN servers of the plan, or else those that the rendezvous named.
  mutating func askRelays() async -> [RelaySighting] {
    var sightings: [RelaySighting] = []
    for options in plan.relays.isEmpty ? offered : plan.relays where !Task.isCancelled {
      sightings.append(
        await RelayExaminer.examine(
          options, isOffered: plan.relays.isEmpty, authorities: plan.relayAuthorities,
          bind: plan.bind))
    }
    return sightings
  }

  /// The plan's address with a port that the system chooses.
  var anyPort: String {
    guard var address = SocketAddress(plan.bind) else { return plan.bind }
    address.port = 0
    return address.description
  }

  func open(_ place: Place, bind: String) async throws(EarshotError) -> Endpoint {
    try await open(place, bind: bind, token: plan.token)
  }

  func open(
    _ place: Place, bind: String, token: String?
  ) async throws(EarshotError) -> Endpoint {
    var configuration = Configuration(rendezvous: place.text)
    configuration.identityFile = plan.identityFile
    configuration.token = token
    configuration.bind = bind
    configuration.presence = .guest
    configuration.mapsPort = false  // The translator is seen as it is.
    configuration.isExaminer = true
    return try await Endpoint.open(configuration, at: place.address)
  }
}

extension Endpoint {
  /// The TURN servers that the rendezvous has named.
  fileprivate var offeredRelays: [RelayOptions] {
    relayStreams.lastOffer?.servers.map {
      RelayOptions(uri: $0.uri, user: $0.user, password: $0.password)
    } ?? []
  }

  /// Fills in what the rendezvous at `address` tells within the time.
  fileprivate func look(
    _ sighting: inout RendezvousSighting, _ address: SocketAddress, within patience: Duration,
    probes: Bool
  ) async {
    _ = await isRegistered(by: SystemClock.now + patience)
    switch registration {
    case .registered(let seenAs, _):
      sighting.isAnswered = true
      sighting.seenAs = seenAs
      sighting.local = localAddress(toward: address)
      if probes { await measure(&sighting) }
    case .failed(let error), .reconnecting(.some(let error)):
      sighting.error = error
      sighting.isAnswered = error.code != .rendezvousUnreachable
    case .connecting, .reconnecting(nil):
      // What an attempt says that has come to its end.
      let error = presentTrouble ?? .rendezvousUnreachable(address)
      sighting.error = error
      sighting.isAnswered = error.code != .rendezvousUnreachable
    }
  }

  /// The round trip, the ECN field both ways, and the clock.
  private func measure(_ sighting: inout RendezvousSighting) async {
    var plan = ProbePlan()
    plan.measuresBandwidth = false
    plan.duration = ProbePlan.durations.lowerBound
    do throws(EarshotError) {
      let report = try await probe(.rendezvous, plan: plan).result()
      sighting.roundTripMs = report?.idleRoundTrip?.delay.p50Ms
      sighting.uplinkECN = report?.uplink?.ecn
      sighting.downlinkECN = report?.downlink?.ecn
    } catch {
      sighting.error = error
    }
    guard let clocks = driver.readMachine({ $0.rendezvousReading }).map(ClockReading.init)
    else { return }
    sighting.clockOffsetMs = clocks.offsetMs
    sighting.clockUncertaintyMs = clocks.uncertaintyMs
  }
}
