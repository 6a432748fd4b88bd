internal import LastMile
public import Primitives

/// What an `earshot-relay` told.
public struct ChannelRelaySighting: Sendable, Equatable {
  /// As it was named, `HOST:PORT`, or the address that the rendezvous tells.
  public var name: String
  /// Whether the rendezvous tells members of it.
  public var isOffered: Bool
  /// The ID that it is to show; `nil` where none was given.
  public var id: PeerID?
  /// The address that was asked; `nil` when the name has none.
  public var address: SocketAddress?
  /// From the first question to the answer that shows its key, in ms, rounded up: two round trips,
  /// and one more while it is under load.
  public var tookMs: Double?
  /// Why members get nothing from it; `nil` = nothing is the matter.
  public var error: EarshotError?

  package init(name: String, isOffered: Bool = false, id: PeerID? = nil) {
    self.name = name
    self.isOffered = isOffered
    self.id = id
  }
}

extension ChannelRelaySighting {
  /// - Parameters:
  ///   - isElsewhere: Another relay is there.
  ///   - asked: Whether a rendezvous was asked for its relays, and answered.
  func finding(isElsewhere: Bool, asked: Bool) -> Finding {
    let place = address.map { "\($0)" } ?? name
    let whose = isOffered ? "\(place), of which the rendezvous tells," : place
    guard let error else { return goodFinding(whose, asked: asked) }
    return Finding(
      .relay, isElsewhere ? .weak : .bad,
      "earshot-relay at \(whose) cannot be used. \(error.message)",
      remedy: error.advice)
  }

  private func goodFinding(_ whose: String, asked: Bool) -> Finding {
    let took = tookMs.map { " within \(Figures.milliseconds($0))" } ?? ""
    let key = id == nil ? "which ID it has was not checked" : "it has the right ID"
    let text = "earshot-relay at \(whose) answers\(took), and \(key)."
    guard asked, !isOffered else { return Finding(.relay, .good, text) }
    return Finding(
      .relay, .weak, "\(text) The rendezvous does not tell members of it.",
      remedy: "Write what earshot-relay --print-id prints into the file of earshot-rendezvous "
        + "--relay-key, send that a SIGHUP, and check that the relay says \"registered\".")
  }
}

extension EarshotError {
  /// Nothing is heard of a relay.
  static func channelRelaySilent(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .relayUnavailable, "Nothing that can be understood answers at \(address).",
      advice: "Check that earshot-relay runs there, and that UDP to port \(address.port) gets "
        + "through; behind a router it needs --public.")
  }

  /// - Parameter address: Its host says that nothing listens there.
  static func noChannelRelay(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .relayUnavailable,
      "Nothing listens at \(address): its host says so (ICMP port unreachable).",
      advice: "Start earshot-relay there, or check the port.")
  }

  static func channelRelayChanged(
    _ address: SocketAddress, expected: PeerID?
  ) -> EarshotError {
    let wanted = expected.map { "\($0)" } ?? "the one that was pinned"
    return EarshotError(
      .identityChanged, "What answers at \(address) has another ID than \(wanted).",
      advice: "Compare it with what earshot-relay --print-id prints there.")
  }

  static func rendezvousAsRelay(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .relayUnavailable, "What answers at \(address) is a rendezvous, not a relay.",
      advice: "Give --relay the address at which earshot-relay listens.")
  }

  static func noSignOfRelay(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .relayUnavailable,
      "What answers at \(address) is a relay of an older version, or a rendezvous that wants "
        + "access tokens.",
      advice: "Check the address, and install the same release everywhere.")
  }
}
