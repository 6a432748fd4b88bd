internal import CPortMapping
package import PortMapping
internal import Primitives

/// Speaks to one router. Blocks: for `RouterLimits.searchMilliseconds` where nobody answers, for a
/// few exchanges where one does. Belongs on a thread of its own, never on the event loop.
///
/// Only the host's own default router is listened to, and only what it says of itself is followed.
package enum RouterConversation {
  /// Carries a job out; `nil` = the port was given back, as far as the router can be heard.
  ///
  /// - Parameter errand: By it the opening of a port can be called off.
  package static func carryOut(
    _ job: RouterJob, _ errand: RouterErrand = RouterErrand()
  ) -> Result<OpenedPort?, RouterFault> {
    do throws(RouterFault) {
      switch job {
      case .open(let place, let service, let wanted):
        return .success(try open(place, service, wanted: wanted, errand))
      case .close(let place, let port):
        try close(place, port)
        return .success(nil)
      }
    } catch {
      return .failure(error)
    }
  }

  private static func open(
    _ place: RouterPlace, _ known: RouterService?, wanted: UInt16, _ errand: RouterErrand
  ) throws(RouterFault) -> OpenedPort {
    if case .upnp(let service) = known {
      return try openByUPnP(place, service, wanted: wanted, errand)
    }
    // By NAT-PMP the search is also the question for the external address.
    switch search(place) {
    case .natPMP(let external):
      guard errand.mayAsk() else { throw .calledOff }
      return try openByNATPMP(place, external: external, wanted: wanted)
    case .upnp(let answer):
      return try openByUPnP(place, try describe(answer, place), wanted: wanted, errand)
    case .nothing(let refusal?): throw Self.refused(refusal)
    case .nothing(nil): throw .silent
    }
  }

  private static func close(_ place: RouterPlace, _ port: OpenedPort) throws(RouterFault) {
    switch port.service {
    case .natPMP:
      _ = try askNATPMP(place, wanted: 0, seconds: 0)
    case .upnp(let service):
      _ = try exchange(
        RouterMessages.delete(service, outer: port.external.port), with: service.control, place,
        limit: RouterLimits.replyByteCount)
    }
  }

  // MARK: The search

  /// What the router speaks.
  private enum Finding {
    /// NAT-PMP; its external address.
    case natPMP(UInt32)
    /// UPnP; its answer to the search.
    case upnp([UInt8])
    /// It has not answered, or refused NAT-PMP with a code.
    case nothing(refusal: Int32?)
  }

  /// What it answers first.
  private static func search(_ place: RouterPlace) -> Finding {
    let search = RouterMessages.search
    var answer = [UInt8](repeating: 0, count: RouterLimits.answerByteCount)
    var count = 0
    var external: UInt32 = 0
    var refusal: Int32 = 0
    let limit = answer.count
    let kind = unsafe earshot_router_search(
      place.own.word, place.router.word, search, search.count,
      Int32(RouterLimits.searchMilliseconds), Int32(RouterLimits.searchAgainMilliseconds),
      &external, &refusal, &answer, limit, &count)
    switch Int(kind) {
    case earshot_router_natpmp: return .natPMP(external)
    case earshot_router_upnp: return .upnp(Array(answer.prefix(max(0, count))))
    default: return .nothing(refusal: refusal == 0 ? nil : refusal)
    }
  }

  /// The service of the router that has answered, by its description.
  private static func describe(
    _ answer: [UInt8], _ place: RouterPlace
  ) throws(RouterFault) -> UPnPService {
    guard let reply = RouterReply(answer), reply.status == 200,
      let url = reply.field("location").flatMap({ RouterURL($0) }),
      url.host.isSameHost(as: place.router)
    else { throw .notUnderstood }
    let description = try exchange(
      RouterMessages.get(url), with: url, place, limit: RouterLimits.descriptionByteCount)
    guard description.status == 200, let found = RouterXML.service(in: description.body),
      let control = url.resolve(found.url),
      let service = UPnPService(control: control, type: found.type)
    else { throw .notUnderstood }
    return service
  }

  // MARK: NAT-PMP

  private static func openByNATPMP(
    _ place: RouterPlace, external: UInt32, wanted: UInt16
  ) throws(RouterFault) -> OpenedPort {
    let (port, seconds) = try askNATPMP(
      place, wanted: wanted, seconds: RouterLimits.lifetimeSeconds)
    guard port != 0, seconds != 0 else { throw .notUnderstood }
    var external = SocketAddress(word: external)
    external.port = port
    return OpenedPort(service: .natPMP, external: external, lifetime: .seconds(Int64(seconds)))
  }

  private static func askNATPMP(
    _ place: RouterPlace, wanted: UInt16, seconds: UInt32
  ) throws(RouterFault) -> (port: UInt16, seconds: UInt32) {
    var port: UInt16 = 0
    var granted: UInt32 = 0
    let result = unsafe earshot_natpmp_map(
      place.own.word, place.router.word, place.own.port, wanted, seconds,
      Int32(RouterLimits.exchangeMilliseconds), &port, &granted)
    guard result >= 0 else { throw .fellSilent }
    guard result == 0 else { throw refused(result) }
    return (port, granted)
  }

  /// With a code of RFC 6886 §3.5.
  private static func refused(_ code: Int32) -> RouterFault { .refused("NAT-PMP \(code)") }

  // MARK: UPnP

  private static func openByUPnP(
    _ place: RouterPlace, _ service: UPnPService, wanted: UInt16, _ errand: RouterErrand
  ) throws(RouterFault) -> OpenedPort {
    let reply = try exchange(
      RouterMessages.externalAddress(service), with: service.control, place,
      limit: RouterLimits.replyByteCount)
    guard reply.status == 200,
      let text = RouterXML.value("NewExternalIPAddress", in: reply.body),
      var external = SocketAddress(text + ":0"), external.family == .v4
    else { throw .notUnderstood }
    guard errand.mayAsk() else { throw .calledOff }
    external.port = try addMapping(place, service, wanted: wanted)
    return OpenedPort(
      service: .upnp(service), external: external,
      lifetime: .seconds(Int64(RouterLimits.lifetimeSeconds)))
  }

  /// - Returns: The outer port. A router that knows only mappings without end is let be: a program
  ///   that is killed would leave its port open.
  private static func addMapping(
    _ place: RouterPlace, _ service: UPnPService, wanted: UInt16
  ) throws(RouterFault) -> UInt16 {
    var outer = wanted
    for _ in 0..<RouterLimits.portTries {
      let reply = try exchange(
        RouterMessages.add(
          service, outer: outer, own: place.own, seconds: RouterLimits.lifetimeSeconds),
        with: service.control, place, limit: RouterLimits.replyByteCount)
      if reply.status == 200 { return outer }
      let code = RouterXML.value("errorCode", in: reply.body) ?? "HTTP \(reply.status)"
      switch code {
      case Self.conflict: outer = UInt16.random(in: 20_000...60_000)
      case Self.samePorts where outer != place.own.port: outer = place.own.port
      default: throw .refused(String(code.prefix(16)))
      }
    }
    throw .refused(Self.conflict)
  }

  /// ConflictInMappingEntry: another host has the port.
  private static let conflict = "718"
  /// SamePortValuesRequired.
  private static let samePorts = "724"

  /// One request over TCP, to the router alone.
  private static func exchange(
    _ request: [UInt8], with url: RouterURL, _ place: RouterPlace, limit: Int
  ) throws(RouterFault) -> RouterReply {
    guard url.host.isSameHost(as: place.router) else { throw .notUnderstood }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = unsafe earshot_tcp_exchange(
      place.own.word, place.router.word, url.host.port, request, request.count, &bytes, limit,
      Int32(RouterLimits.exchangeMilliseconds))
    guard count > 0 else { throw .fellSilent }
    guard let reply = RouterReply(Array(bytes.prefix(count))) else { throw .notUnderstood }
    return reply
  }
}

extension SocketAddress {
  /// The four bytes of an IPv4 address, the first one highest.
  fileprivate var word: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

  fileprivate init(word: UInt32) {
    self.init(family: .v4, high: UInt64(word) << 32, low: 0, port: 0)
  }
}
