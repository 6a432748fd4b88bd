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
  /// host has a public address.
  ///
  /// - Parameter bind: The own address; its port means nothing.
  static func examine(bind: String) async -> PortMappingFacts? {
    guard var local = SocketAddress(bind) else { return nil }
    local.port = examinedPort
    guard let place = RouterPlace.find(local, rendezvous: nil) else { return nil }
    var facts = PortMappingFacts(router: place.router)
    let wanted = place.firstOuterPort
    let result = await BlockingWork.run(named: "earshot-router") {
      RouterConversation.perform(.open(place, service: nil, wanted: wanted))
    }
    switch result {
    case .success(let port?):
      facts.opened = MappedPort(port, router: place.router)
      _ = await BlockingWork.run(named: "earshot-router") {
        RouterConversation.perform(.close(place, port))
      }
    case .failure(.refused(let code)): facts.refusal = "it refuses (\(code))"
    case .failure(.notUnderstood): facts.refusal = "what it says cannot be understood"
    case .success(nil), .failure(.silent), nil: break
    }
    return facts
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
    if let seenAs, !seenAs.isSameHost(as: opened.external) {
      return Finding(
        .portMapping, .weak,
        "Port mapping: \(place), external address \(external); others see \(seenAs.hostText), so "
          + "another translator is in between.",
        remedy: "The mapped port is not used. Ask your provider for a public IPv4 address.")
    }
    guard seenAs != nil || opened.external.isPublicV4 else {
      return Finding(
        .portMapping, .weak,
        "Port mapping: \(place), external address \(external), which is not a public one.",
        remedy: "Another translator is behind that router: ask your provider for a public IPv4 "
          + "address.")
    }
    return Finding(
      .portMapping, .good, "Port mapping: \(place), external address \(external).")
  }
}

extension NetworkDiagnosis {
  /// The line about the router, if there is one to ask.
  var portFindings: [Finding] {
    let seen = translators.first { $0.family == .v4 }?.seenAs
    return portMapping.map { [$0.finding(seenAs: seen)] } ?? []
  }
}
