internal import PortMapping
public import Primitives
internal import Reactor
internal import Routers

/// Whether the host's router opens ports when it is asked.
public struct PortMappingFacts: Sendable, Equatable {
  /// The router that was asked; its port means nothing.
  public var router: SocketAddress
  /// What it has opened for a moment; `nil` = nothing.
  public var opened: MappedPort?
  /// Why it has opened nothing, in a few words; `nil` = it did not answer.
  public var refusal: String?

  package init(router: SocketAddress, opened: MappedPort? = nil, refusal: String? = nil) {
    self.router = router
    self.opened = opened
    self.refusal = refusal
  }

  /// Has a port opened and closed again; `nil` where there is no router to ask, or no need to: this
  /// host has a public address. Where the task is cancelled no port is asked for any more; one that
  /// has been is still closed.
  ///
  /// - Parameter bind: The own address; its port means nothing.
  static func examine(bind: String) async -> PortMappingFacts? {
    guard var local = SocketAddress(bind) else { return nil }
    local.port = examinedPort
    guard let place = RouterPlace.find(local, rendezvous: nil) else { return nil }
    var facts = PortMappingFacts(router: place.router)
    let wanted = place.firstOuterPort
    let errand = RouterErrand()
    let result = await withTaskCancellationHandler {
      await BlockingWork.run(named: "earshot-router") {
        RouterConversation.carryOut(.open(place, service: nil, wanted: wanted), errand)
      }
    } onCancel: {
      _ = errand.callOff()
    }
    switch result {
    case .success(let port?):
      facts.opened = MappedPort(port, router: place.router)
      _ = await BlockingWork.run(named: "earshot-router") {
        RouterConversation.carryOut(.close(place, port))
      }
    case .failure(let fault): facts.refusal = words(for: fault)
    case .success(nil), nil: break
    }
    return facts
  }

  /// Why it has opened nothing; `nil` = it did not answer at all.
  static func words(for fault: RouterFault) -> String? {
    switch fault {
    case .refused(let code): "it refuses (\(code))"
    case .fellSilent: "it answers the search, and then no more"
    case .notUnderstood: "what it says cannot be understood"
    case .silent, .calledOff: nil
    }
  }

  /// For a moment; of the range that nobody has registered (RFC 6335 §6).
  private static let examinedPort: UInt16 = 49_009

  /// What that means for calls.
  ///
  /// - Parameter seenAs: How a rendezvous sees this host by IPv4, if one was asked.
  func finding(seenAs: SocketAddress?) -> Finding {
    guard let opened else {
      let silence = "it answers neither UPnP-IGD nor NAT-PMP"
      return Finding(
        .portMapping, .weak,
        "The router \(router.hostText) opens no port: \(refusal ?? silence).",
        remedy: "Calls to strict translators need a relay then. Many routers have a switch for "
          + "UPnP or NAT-PMP.")
    }
    let place = "\(opened.service.rawValue) at \(router.hostText)"
    let external = opened.external.hostText
    let seen = seenAs?.isPublicV4 == true ? seenAs : nil
    if let seen, !seen.isSameHost(as: opened.external) {
      return Finding(
        .portMapping, .weak,
        "Port mapping: \(place), external address \(external); others see \(seen.hostText), so "
          + "another translator is in between.",
        remedy: "The mapped port is not used. Ask your provider for a public IPv4 address.")
    }
    guard seen != nil || opened.external.isPublicV4 else {
      return Finding(
        .portMapping, .weak,
        "Port mapping: \(place), external address \(external), which is not a public one.",
        remedy: "Another translator is behind that router: ask your provider for a public IPv4 "
          + "address.")
    }
    // A rendezvous in the same network, or by a VPN, does not see what others see.
    let doubt = seen == nil ? "; whether others see it is not known" : ""
    return Finding(
      .portMapping, .good, "Port mapping: \(place), external address \(external)\(doubt).")
  }
}

extension NetworkDiagnosis {
  /// The line about the router, if there is one to ask.
  var portFindings: [Finding] {
    portMapping.map { [$0.finding(seenAs: seenByV4)] } ?? []
  }

  /// Whether the router lets everybody in at an address of this family by which others see us.
  func opensPort(_ family: SocketAddress.Family) -> Bool {
    guard family == .v4, let external = portMapping?.opened?.external else { return false }
    return seenByV4?.isSameHost(as: external) == true
  }

  private var seenByV4: SocketAddress? { translators.first { $0.family == .v4 }?.seenAs }
}
