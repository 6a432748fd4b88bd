internal import LastMile
internal import Peer
internal import Primitives
internal import Reactor

extension NetworkDiagnosis {
  /// Examines this host and, if the plan names any, asks each address of each rendezvous in turn:
  /// from one socket's port all of them, and the first that answers from a second socket too. It
  /// registers as a guest: nobody can call this program, and one that waits for calls stays.
  ///
  /// Takes about 2 s for each address that answers, and the plan's patience for any other.
  ///
  /// - Throws: When the plan, the identity file or the host cannot be used. That a rendezvous does
  ///   not answer is not thrown but part of the result.
  public static func examine(
    _ plan: DiagnosisPlan
  ) async throws(EarshotError) -> NetworkDiagnosis {
    guard plan.rendezvous.count <= DiagnosisPlan.mostRendezvous else {
      throw .invalidArgument(
        "\(plan.rendezvous.count) rendezvous are too many.",
        advice: "Name at most \(DiagnosisPlan.mostRendezvous).")
    }
    let host = try HostFacts.examine()
    var diagnostician = Diagnostician(plan)
    let portMapping = plan.mapsPort ? await PortMappingFacts.examine(bind: plan.bind) : nil
    var diagnosis = NetworkDiagnosis(host: host, sightings: try await diagnostician.ask())
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

  init(_ plan: DiagnosisPlan) {
    self.plan = plan
    bind = plan.bind
  }

  mutating func ask() async throws(EarshotError) -> [RendezvousSighting] {
    var sightings: [RendezvousSighting] = []
    for text in plan.rendezvous {
      let target = try RendezvousTarget(text)
      do throws(EarshotError) {
        for address in try await target.addresses(matching: plan.bind)
        where sightings.count < DiagnosisPlan.mostAddresses
          && !sightings.contains(where: { $0.address == address })
        {
          sightings.append(try await ask(text, target, at: address))
        }
      } catch {
        guard error.code == .hostNotFound else { throw error }
        var sighting = RendezvousSighting(name: target.text)
        sighting.error = error
        sightings.append(sighting)
      }
    }
    return sightings
  }

  private mutating func ask(
    _ text: String, _ target: RendezvousTarget, at address: SocketAddress
  ) async throws(EarshotError) -> RendezvousSighting {
    var sighting = RendezvousSighting(name: target.text, address: address)
    let endpoint = try await open(text, at: address, bind: bind)
    if let own = SocketAddress(plan.bind) {
      var bound = own
      bound.port = endpoint.localAddress.port
      bind = bound.description
    }
    await endpoint.look(&sighting, address, within: plan.patience, probes: true)
    await endpoint.close()
    guard sighting.seenAs != nil, !askedSecond.contains(address.family) else { return sighting }
    askedSecond.insert(address.family)
    var second = RendezvousSighting(name: target.text, address: address)
    let other = try await open(text, at: address, bind: anyPort)
    await other.look(&second, address, within: plan.patience, probes: false)
    await other.close()
    if let local = second.local, let seen = second.seenAs {
      sighting.second = SocketPair(local: local, seenAs: seen)
    }
    return sighting
  }

  /// The plan's address with a port that the system chooses.
  private var anyPort: String {
    guard var address = SocketAddress(plan.bind) else { return plan.bind }
    address.port = 0
    return address.description
  }

  private func open(
    _ text: String, at address: SocketAddress, bind: String
  ) async throws(EarshotError) -> Endpoint {
    var configuration = Configuration(rendezvous: text)
    configuration.identityFile = plan.identityFile
    configuration.token = plan.token
    configuration.bind = bind
    configuration.presence = .guest
    configuration.mapsPort = false  // The translator is seen as it is.
    return try await Endpoint.open(configuration, at: address)
  }
}

extension Endpoint {
  /// Fills in what the rendezvous at `address` tells within the time.
  fileprivate func look(
    _ sighting: inout RendezvousSighting, _ address: SocketAddress, within patience: Duration,
    probes: Bool
  ) async {
    let deadline = SystemClock.now + patience
    while registration == .connecting, SystemClock.now < deadline { await pause(Self.lookEvery) }
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
      sighting.error = .rendezvousUnreachable(address)
    }
  }

  /// The round trip, the ECN field both ways, and the clock.
  private func measure(_ sighting: inout RendezvousSighting) async {
    var plan = ProbePlan()
    plan.measuresBandwidth = false
    plan.seconds = ProbePlan.durations.lowerBound
    do throws(EarshotError) {
      let report = try await probe(.rendezvous, plan: plan).result()
      sighting.roundTripMs = report?.idleRoundTrip?.delay.p50Ms
      sighting.uplinkECN = report?.uplink?.ecn
      sighting.downlinkECN = report?.downlink?.ecn
    } catch {
      sighting.error = error
    }
    guard let offset = driver.readMachine({ $0.rendezvousClockOffset }) else { return }
    let oneWay = (sighting.roundTripMs ?? 0) / 2
    // What it said was true one way ago.
    sighting.clockOffsetMs = Double(offset) + oneWay
    sighting.clockUncertaintyMs = oneWay + 1
  }

  private static var lookEvery: Duration { .milliseconds(10) }
}
