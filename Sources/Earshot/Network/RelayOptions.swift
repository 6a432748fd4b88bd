internal import Peer
public import Primitives
internal import Reactor
internal import Relay
internal import Wire

/// A TURN server, and how it knows this user (`Configuration.relays`).
public struct RelayOptions: Sendable, Hashable {
  /// `turn:HOST` or `turn:HOST:PORT`, and perhaps `?transport=udp` or `?transport=tcp`; or
  /// `turns:HOST` for TLS (RFC 7065). Port 3478, or 5349 of TLS, unless given.
  public var uri: String
  /// The user's name at the server.
  public var user: String
  /// The user's password there.
  public var password: String

  /// A server with a user of long-term credentials (RFC 8489 §9.2).
  public init(uri: String, user: String, password: String) {
    self.uri = uri
    self.user = user
    self.password = password
  }

  /// `HOST:PORT` of the URI; `nil` where it is none.
  public var server: String? { RelayURI(uri)?.place }

  /// Finds the server's address, and one of the other family where it has one: a server that is
  /// silent at the first is asked there.
  func resolve(matching bind: SocketAddress) async throws(EarshotError) -> [RelayServer] {
    guard let place = RelayURI(uri) else {
      throw .invalidArgument("'\(uri)' is not a TURN server.", advice: "Write turn:HOST:PORT.")
    }
    let server = place.place
    let addresses: [SocketAddress]
    do throws(ReactorError) {
      addresses = try await Resolver.resolve(server)
    } catch {
      throw .hostNotFound(server, detail: error.reason)
    }
    let usable = addresses.filter {
      !$0.isUnsendable
        && (place.transport != .udp || $0.family == bind.family
          || bind.family == .v6 && bind.isUnspecified)
    }
    guard let first = usable.first else {
      throw .hostNotFound(server, detail: "no address of this socket's family")
    }
    let chosen = [first] + usable.filter { $0.family != first.family }.prefix(1)
    return chosen.map {
      RelayServer(
        server: $0, transport: place.transport, host: place.host,
        credentials: RelayCredentials(user: user, password: password))
    }
  }

  /// Finds the addresses of several servers; one that cannot be found is left out while another
  /// can.
  static func resolve(
    _ relays: [RelayOptions], matching bind: SocketAddress
  ) async throws(EarshotError) -> [RelayServer] {
    var found: [RelayServer] = []
    var others: [RelayServer] = []
    var failure: EarshotError?
    for relay in relays {
      do throws(EarshotError) {
        let servers = try await relay.resolve(matching: bind)
        found += servers.prefix(1)
        others += servers.dropFirst()
      } catch {
        failure = failure ?? error
      }
    }
    if let failure, found.isEmpty { throw failure }
    return Array((found + others).prefix(RelayRoster.serverLimit))
  }
}

extension Endpoint {
  /// The rendezvous names TURN servers: their addresses are asked for beside the loop, those of one
  /// offer at a time.
  func keepOffer(_ offer: RelayOffer) {
    guard relayStreams.keep(offer), !isExaminer else { return }
    Task(executorPreference: loop) { await self.resolveOffers() }
  }

  private func resolveOffers() async {
    while let offer = relayStreams.takeOffer() {
      let options = offer.servers.map {
        RelayOptions(uri: $0.uri, user: $0.user, password: $0.password)
      }
      do throws(EarshotError) {
        useOffered(try await RelayOptions.resolve(options, matching: localAddress))
      } catch {
        useOffered([])
        reportUnavailable(error)
      }
    }
  }

  private func useOffered(_ servers: [RelayServer]) {
    guard !isClosed else { return }
    driver.withMachine { machine, now in machine.setOfferedRelays(servers, now: now) }
  }

  private func reportUnavailable(_ error: EarshotError) {
    guard relay == nil, !isClosed else { return }
    relay = .unavailable(error)
    publish(.relayChanged(.unavailable(error)))
  }
}

/// Whether there is a relay.
public enum RelayState: Sendable, Equatable {
  /// Peers reach this endpoint at the address, by the TURN server.
  case available(SocketAddress)
  /// There is none; calls go on without. Where it could help, it is asked for again.
  case unavailable(EarshotError)

  init(_ event: RelayEvent) {
    switch event {
    case .allocated(let address): self = .available(address)
    case .failed(let error): self = .unavailable(EarshotError(error))
    }
  }
}

extension EarshotError {
  init(_ error: RelayError) {
    let text = "\(error)"
    // The description is what happened, then what to do.
    let end = text.firstRange(of: ". ")?.lowerBound ?? text.endIndex
    let advice = text[end...].dropFirst(2)
    self.init(.relayUnavailable, "\(text[..<end]).", advice: String(advice))
  }
}
