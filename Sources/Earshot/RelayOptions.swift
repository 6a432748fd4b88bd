internal import Peer
public import Primitives
internal import Reactor
internal import Relay

/// A TURN server, and how it knows this user (`Configuration.relay`).
public struct RelayOptions: Sendable, Hashable {
  /// `turn:HOST` or `turn:HOST:PORT`, and perhaps `?transport=udp` (RFC 7065); port 3478 unless
  /// given.
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

  /// `HOST:PORT` of the URI; `nil` where it is none, or asks for a transport other than UDP.
  public var server: String? {
    guard uri.lowercased().hasPrefix("turn:") else { return nil }
    let parts = uri.dropFirst(5).split(separator: "?", omittingEmptySubsequences: false)
    guard let place = parts.first, !place.isEmpty, parts.count <= 2 else { return nil }
    if parts.count == 2, parts[1].lowercased() != "transport=udp" { return nil }
    let isBare = place.last == "]" || !place.contains(":")
    let text = isBare ? "\(place):\(Self.port)" : String(place)
    guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
      let port = UInt16(text[text.index(after: colon)...]), port > 0
    else { return nil }
    return text
  }

  /// RFC 8656 §6.
  private static let port = 3478

  /// Finds the server's address.
  func resolve(matching bind: SocketAddress) async throws(EarshotError) -> RelayServer {
    guard let server else {
      throw .invalidArgument(
        "'\(uri)' is not a TURN server over UDP.", advice: "Write turn:HOST:PORT.")
    }
    let addresses: [SocketAddress]
    do throws(ReactorError) {
      addresses = try await Resolver.resolve(server)
    } catch {
      throw .hostNotFound(server, detail: error.reason)
    }
    let usable = addresses.first {
      $0.family == bind.family || bind.family == .v6 && bind.isUnspecified
    }
    guard let usable, !usable.isUnsendable else {
      throw .hostNotFound(server, detail: "no address of this socket's family")
    }
    return RelayServer(
      server: usable, credentials: RelayCredentials(user: user, password: password))
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
