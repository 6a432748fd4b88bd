internal import Peer
internal import PortMapping
internal import Primitives
internal import Reactor
internal import Routers

/// What an endpoint has of its router, on the event loop's thread.
final class RouterPorts {
  /// `Configuration.mapsPort`.
  let isWanted: Bool
  var mapper = PortMapper()
  var timer: EventLoop.Token?
  /// The job that is under way.
  var errand: RouterErrand?
  /// What was last told of it.
  var told = PortMappingState.closed

  init(isWanted: Bool) { self.isWanted = isWanted }
}

extension RouterPlace {
  /// The router of this host, for a socket that is bound to `local`.
  ///
  /// - Parameter rendezvous: With one on this very host nobody is to come from outside.
  static func find(_ local: SocketAddress, rendezvous: SocketAddress?) -> RouterPlace? {
    guard rendezvous?.isLoopback != true, !local.isLoopback,
      let router = DefaultRouter.address()
    else { return nil }
    return choose(local, router) { remote in
      NetworkInterfaces.address(toward: remote, port: local.port)
    }
  }

  /// The choice, apart from the kernel.
  ///
  /// A host whose packets to the internet leave from another address than those to the router has
  /// a way around it (a VPN, policy routing): nobody asks for the router's address then, and peers
  /// are not to learn it.
  ///
  /// - Parameter source: The own address that packets to another one leave from.
  static func choose(
    _ local: SocketAddress, _ router: SocketAddress, source: (SocketAddress) -> SocketAddress?
  ) -> RouterPlace? {
    guard let own = local.isUnspecified ? source(router) : local,
      let usual = source(HostFacts.internet), usual.isSameHost(as: own)
    else { return nil }
    return RouterPlace(router: router, own: own)
  }
}

/// The router is asked to open a port, beside the loop (`BlockingWork`).
extension Endpoint {
  /// Begins, or begins anew where the host has moved.
  func watchRouter() {
    guard routerPorts.isWanted, !isClosed else { return }
    if routerPorts.timer == nil {
      do throws(ReactorError) {
        routerPorts.timer = try loop.addTimer { _ in self.driveRouter() }
      } catch {
        return  // Calls go on without.
      }
    }
    let rendezvous = driver.readMachine { $0.configuration.rendezvous }
    let place = RouterPlace.find(localAddress, rendezvous: rendezvous)
    routerPorts.mapper.setPlace(place, now: SystemClock.now)
    driveRouter()
  }

  /// The rendezvous sees this host at another address than the router has told: the router may have
  /// a new one.
  func compareRouter(seenAs seen: SocketAddress) {
    routerPorts.mapper.handleSeenAddress(seen, now: SystemClock.now)
    driveRouter()
  }

  /// Gives back what is open, and waits for the router's answer, but not for long: for longer where
  /// a port has been asked for, which may be open by then.
  func closeRouter() async {
    let isOff = routerPorts.errand?.callOff() ?? true
    routerPorts.mapper.close()
    driveRouter()
    let patience = isOff ? Self.farewellPatience : Self.openingPatience
    let deadline = SystemClock.now + patience
    while SystemClock.now < deadline,
      isOff ? routerPorts.mapper.owesPorts : !routerPorts.mapper.isClosed
    {
      await pause(.milliseconds(10))
    }
    if let timer = routerPorts.timer { loop.removeTimer(timer) }
    routerPorts.timer = nil
  }

  private func driveRouter() {
    let now = SystemClock.now
    routerPorts.mapper.handleTimeout(now: now)
    tellRouter()
    if let job = routerPorts.mapper.pollJob(now: now) {
      Task(executorPreference: loop) { await self.runJob(job) }
    }
    if let timer = routerPorts.timer { loop.setDeadline(timer, routerPorts.mapper.nextDeadline) }
  }

  private func runJob(_ job: RouterJob) async {
    let errand = RouterErrand()
    routerPorts.errand = errand
    let result = await BlockingWork.run(named: "earshot-router") {
      RouterConversation.carryOut(job, errand)
    }
    routerPorts.errand = nil
    routerPorts.mapper.handleResult(result ?? .failure(.silent), now: SystemClock.now)
    driveRouter()
  }

  private func tellRouter() {
    guard !isClosed else { return }
    var state = PortMappingState.closed
    if let port = routerPorts.mapper.opened, let router = routerPorts.mapper.router {
      state = .open(MappedPort(port, router: router))
    }
    guard state != routerPorts.told else { return }
    routerPorts.told = state
    let external = routerPorts.mapper.opened?.external
    driver.withMachine { machine, now in machine.setMappedAddress(external, now: now) }
    publish(.portMappingChanged(state))
  }

  /// A port that is not given back lapses by itself.
  private static let farewellPatience = Duration.milliseconds(500)
  /// For the rest of an exchange, and then giving the port back.
  private static let openingPatience = Duration.milliseconds(1200)
}
