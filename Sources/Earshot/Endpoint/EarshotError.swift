/// What went wrong, and what to do about it.
///
/// `code` is stable and listed in docs/errors.md; `message` names the thing with its number or
/// text;
/// `advice` says what to do.
public struct EarshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of failure, one for each thing a caller could do about it.
  public enum Code: String, Sendable, CaseIterable {
    /// The local UDP port is taken.
    case addressInUse
    /// An address is not of the form `host:port`.
    case invalidAddress
    /// A name has a letter that names cannot have, or is too long.
    case invalidName
    /// Text is no contact card, or its signature is wrong.
    case invalidCard
    /// A host name has no address.
    case hostNotFound
    /// The rendezvous does not answer.
    case rendezvousUnreachable
    /// What answers is not a rendezvous, or its answers do not verify.
    case rendezvousNotUnderstood
    /// The rendezvous or the peer speaks another version of the protocol.
    case versionMismatch
    /// The rendezvous does not admit this identity.
    case notAllowed
    /// The rendezvous admits only holders of an access token, and there is none.
    case tokenNeeded
    /// The rendezvous does not accept the access token.
    case tokenRefused
    /// The access token's time is over.
    case tokenExpired
    /// As many programs of this identity are registered as the rendezvous allows.
    case tooManyPrograms
    /// A copy of this very program registered in its place.
    case replacedElsewhere
    /// The rendezvous knows a newer card of this identity.
    case identitySuperseded
    /// The rendezvous, or this address there, has as many sessions as it may.
    case rendezvousFull
    /// The clocks of this host and of the rendezvous differ too much.
    case clockWrong
    /// The TURN server gives no relay.
    case relayUnavailable
    /// Another identity has the name that was asked for.
    case nameTaken
    /// The rendezvous gives this identity or this address no more names.
    case noMoreNames
    /// An identity is not the one seen before, or not the one pinned.
    case identityChanged
    /// Nobody is pinned under that name, ID or address.
    case contactUnknown
    /// The identity file is readable by others.
    case identityFileMode
    /// The identity file is damaged or of another kind.
    case identityFileDamaged
    /// A file cannot be read or written.
    case fileUnusable
    /// A call cannot do this now.
    case callState
    /// A channel cannot do this now.
    case channelState
    /// A value is out of its range.
    case invalidArgument
    /// No picture came within a second.
    case noPicture
    /// The endpoint is closed.
    case closed
    /// The kernel or a codec refused; the cause is in the message.
    case systemFailure
  }

  /// The kind.
  public let code: Code
  /// One sentence that names the thing.
  public let message: String
  /// One imperative sentence; may be empty where nothing can be done.
  public let advice: String

  package init(_ code: Code, _ message: String, advice: String) {
    self.code = code
    self.message = message
    self.advice = advice
  }

  /// The message and the advice.
  public var description: String { advice.isEmpty ? message : "\(message) \(advice)" }
}

// MARK: - One function a message, so that none is put together at a call site

extension EarshotError {
  package static func addressInUse(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .addressInUse, "UDP port \(address.port) is taken by another program.",
      advice:
        "Pass port 0 to let the system choose, or find the holder: ss -lunp sport = :\(address.port)"
    )
  }

  /// The address belongs to another host.
  static func addressUnavailable(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .invalidArgument, "This host has no address \(address.hostText).",
      advice: "Name one that it has (ip address), or leave the address out: [::]:\(address.port).")
  }

  package static func invalidAddress(_ text: String) -> EarshotError {
    EarshotError(
      .invalidAddress, "'\(text)' is not an address.",
      advice: "Write HOST:PORT, for example 192.0.2.1:7400 or [2001:db8::1]:7400.")
  }

  package static func invalidName(_ text: String) -> EarshotError {
    EarshotError(
      .invalidName, "'\(text)' is not a name.",
      advice: "Use 1 to 63 of A-Z a-z 0-9 . _ - that do not read as an ID.")
  }

  package static func invalidCard(_ reason: String) -> EarshotError {
    EarshotError(
      .invalidCard, "The contact card cannot be used. \(reason)",
      advice: "Copy the whole of it, from earshot: to the last letter; earshot card prints it.")
  }

  package static func hostNotFound(_ host: String, detail: String) -> EarshotError {
    EarshotError(
      .hostNotFound, "No address was found for '\(host)' (\(detail)).",
      advice: "Check the spelling, or write the address in numbers.")
  }

  /// The same; a host without any address but its own has nobody to ask.
  package static func hostNotFound(
    _ host: String, detail: String, hasNetwork: Bool
  ) -> EarshotError {
    guard !hasNetwork else { return .hostNotFound(host, detail: detail) }
    return EarshotError(
      .hostNotFound, "This host has no network: nobody says where '\(host)' is (\(detail)).",
      advice: noNetworkAdvice)
  }

  package static func rendezvousUnreachable(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousUnreachable, "Nothing that can be understood answers at \(address).",
      advice: "Check that earshot-rendezvous runs there, and that UDP gets through.")
  }

  /// Nothing answers there; where this host has no way there, that is why.
  package static func unanswered(_ address: SocketAddress, _ state: NetworkState) -> EarshotError {
    guard state.kind == .disconnected else { return .rendezvousUnreachable(address) }
    return EarshotError(
      .rendezvousUnreachable, "This host has no network: no route leads to \(address).",
      advice: noNetworkAdvice)
  }

  private static let noNetworkAdvice =
    "Connect it; ip address shows its addresses, ip route where packets can go."

  /// An INIT with its headers has 1228 bytes by IPv4.
  package static func longPacketsLost(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousUnreachable,
      "\(address) answers short packets, but none of \(1200 + address.headerByteCount) bytes.",
      advice:
        "Something on the way (a tunnel, a VPN) drops long packets without saying so: let its "
        + "ICMP messages through, or raise its MTU to 1280.")
  }

  package static func nothingListens(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousUnreachable,
      "Nothing listens at \(address): its host says so (ICMP port unreachable).",
      advice: "Start earshot-rendezvous there, or check the port.")
  }

  package static func rendezvousNotUnderstood(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousNotUnderstood, "What answers at \(address) is not an Earshot rendezvous.",
      advice: "Check the address and the port.")
  }

  package static func relayAsRendezvous(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousNotUnderstood,
      "What answers at \(address) is a relay (earshot-relay), not a rendezvous.",
      advice: "Give --rendezvous the address and ID that earshot-rendezvous prints when it starts; "
        + "it tells of its relays by itself.")
  }

  package static func versionMismatch(_ who: String, lowest: UInt8, highest: UInt8) -> EarshotError
  {
    EarshotError(
      .versionMismatch,
      "\(who) speaks protocol versions \(lowest) to \(highest); this program speaks version 1.",
      advice: "Update the older of the two.")
  }

  package static func presenceTold(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .versionMismatch,
      "The rendezvous at \(address) would tell everybody that this program is online.",
      advice: "Ask its operator for a newer version, or let everybody know (--presence everybody).")
  }

  package static func notAllowed(_ id: PeerID) -> EarshotError {
    EarshotError(
      .notAllowed, "The rendezvous does not admit the identity \(id).",
      advice: "Ask its operator to add that ID to the file given with --allow.")
  }

  package static func replacedElsewhere(_ id: PeerID) -> EarshotError {
    EarshotError(
      .replacedElsewhere,
      "A copy of this running program, or a newer device key, registered with the identity \(id).",
      advice: "Start the program anew.")
  }

  package static func tooManyPrograms(_ id: PeerID) -> EarshotError {
    EarshotError(
      .tooManyPrograms, "Too many programs are registered with the identity \(id).",
      advice: "End one of them, or give this one an identity of its own with --identity FILE.")
  }

  package static func nameTaken(_ name: String) -> EarshotError {
    EarshotError(
      .nameTaken, "The name '\(name)' belongs to another identity at this rendezvous.",
      advice: "Choose another --name, or use the identity file that first had it.")
  }

  package static func noMoreNames(_ name: String) -> EarshotError {
    EarshotError(
      .noMoreNames, "The rendezvous gave no name: '\(name)' would be one too many.",
      advice: "An identity has at most 8 names, an address at most 256 new ones a day: use a name "
        + "that the identity has, try tomorrow, or ask the operator.")
  }

  package static func identitySuperseded(_ id: PeerID) -> EarshotError {
    EarshotError(
      .identitySuperseded, "The rendezvous knows a newer card of the identity \(id).",
      advice:
        "Use the newest copy of the identity's file, start the program anew, check the clock.")
  }

  package static func rendezvousFull(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .rendezvousFull, "The rendezvous at \(address) takes no more sessions from this address.",
      advice: "Close programs that are registered from it, or try again later.")
  }

  package static func clockWrong(_ address: SocketAddress) -> EarshotError {
    EarshotError(
      .clockWrong, "The clocks of this host and of the rendezvous at \(address) differ too much.",
      advice: "Set this host's clock (timedatectl), or tell the operator of the rendezvous.")
  }

  /// - Parameter isOver: It held once; else it holds later.
  package static func nodesNotValid(_ address: SocketAddress, isOver: Bool) -> EarshotError {
    let fault = isOver ? "is over" : "holds later"
    return EarshotError(
      .clockWrong,
      "The signed list of nodes of the rendezvous at \(address) \(fault) by this host's clock.",
      advice: "Set this host's clock (timedatectl); if it is right, tell the operator of the "
        + "rendezvous to sign the list anew.")
  }

  package static func callState(_ text: String) -> EarshotError {
    EarshotError(.callState, text, advice: "")
  }

  package static func noPicture() -> EarshotError {
    EarshotError(
      .noPicture, "No picture was shown within a second.",
      advice: "Ask again while the other side sends video (StreamKind.remoteVideo is decoding).")
  }

  package static func invalidArgument(_ text: String, advice: String) -> EarshotError {
    EarshotError(.invalidArgument, text, advice: advice)
  }

  package static var closed: EarshotError {
    EarshotError(.closed, "The endpoint is closed.", advice: "Open a new one.")
  }

  package static func systemFailure(_ what: String, detail: String) -> EarshotError {
    EarshotError(.systemFailure, "\(what) failed: \(detail).", advice: "")
  }
}
