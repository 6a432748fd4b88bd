internal import Peer
internal import Primitives
internal import Reactor

/// The host's own addresses at one moment, and the one that it would send from.
struct HostAddresses: Equatable {
  var candidates: [SocketAddress] = []
  /// What packets to the rendezvous leave from: it changes with the routes.
  var source: SocketAddress?
  /// What it could send from if that led nowhere.
  var alternates: [AlternateSource] = []
}

/// The host moves: its program tells the rendezvous and the peers of its calls.
extension Endpoint {
  /// Begins to look for changes. A socket that is bound to one address has no other.
  func watchAddresses() {
    guard localAddress.isUnspecified, !isClosed else { return }
    hostAddresses = presentAddresses() ?? hostAddresses
    let alternates = hostAddresses.alternates
    driver.withMachine { machine, _ in machine.setAlternates(alternates) }
    do throws(ReactorError) {
      addressWatch = try AddressWatch(on: loop) { self.updateAddresses() }
    } catch {
      addressWatch = nil  // Not told of changes: silence on the path begins the search as well.
    }
  }

  private func updateAddresses() {
    watchRouter()
    guard !isClosed, let present = presentAddresses(), present != hostAddresses else { return }
    if present.source != hostAddresses.source {
      publish(.networkChanged(NetworkState(source: present.source)))
    }
    hostAddresses = present
    driver.withMachine { machine, now in
      machine.changeHostCandidates(
        present.candidates, alternates: present.alternates, now: now)
    }
  }

  /// Nothing answers where the name of the rendezvous led: it may lead elsewhere by now.
  func lookUpRendezvous() {
    guard !isClosed, dialled.mayAsk(now: SystemClock.now) else { return }
    let dialled = dialled
    Task { redial(await dialled.addresses()) }
  }

  private func redial(_ addresses: [SocketAddress]) {
    dialled.handleAnswer()
    guard !isClosed else { return }
    driver.withMachine { NodeMove.redial(addresses, on: &$0, now: $1) }
  }

  /// The own address that packets to `remote` come from: of a socket bound to every address the one
  /// that the system chooses. Asked anew only for another `remote`, or when `isFresh`.
  ///
  /// - Parameter local: The own address that the call's path names, if it names one.
  func localAddress(
    toward remote: SocketAddress, local: LocalAddressID = .unspecified, isFresh: Bool = false
  ) -> SocketAddress {
    if local.isRelay, let relayed = driver.readMachine({ $0.relayedAddress }) { return relayed }
    guard localAddress.isUnspecified else { return localAddress }
    if let named = driver.address(local) { return named }
    let known = sourceAddress.flatMap { $0.remote == remote ? $0.local : nil }
    if let known, !isFresh { return known }
    let found = NetworkInterfaces.address(toward: remote, port: localAddress.port)
    let local = found ?? known ?? localAddress
    sourceAddress = (remote, local)
    return local
  }

  private func presentAddresses() -> HostAddresses? {
    let (rendezvous, others) = driver.readMachine { machine in
      (machine.configuration.rendezvous, machine.configuration.otherRendezvousAddresses)
    }
    var source: SocketAddress?
    for address in [rendezvous] + others where source == nil {
      source = NetworkInterfaces.address(toward: address, port: localAddress.port)
    }
    do throws(EarshotError) {
      return HostAddresses(
        candidates: try EndpointSetup.hostAddresses(localAddress, rendezvous: rendezvous),
        source: source, alternates: alternates(to: source))
    } catch {
      return nil  // The kernel does not list them now; the next change is another chance.
    }
  }

  private func alternates(to source: SocketAddress?) -> [AlternateSource] {
    do throws(ReactorError) {
      return try NetworkInterfaces.alternates(to: source)
        .filter { localAddress.family == .v6 || $0.address.family == .v4 }
        .map { AlternateSource(driver.number(of: $0), $0.address.family) }
        .filter { !$0.local.isUnspecified }
    } catch {
      return []
    }
  }
}
