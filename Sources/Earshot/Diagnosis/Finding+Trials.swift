import LastMile
import Primitives

extension RendezvousSighting {
  /// What its echoes showed; empty where nothing was tried.
  ///
  /// - Parameter opensPort: Whether the router lets everybody in when it is asked.
  func trialFindings(opensPort: Bool) -> [Finding] {
    guard let trials, let address else { return [] }
    let family = address.family == .v4 ? "IPv4" : "IPv6"
    let isTranslated = local.flatMap { own in seenAs.map { !$0.isSameHost(as: own) } } ?? false
    let box = isTranslated ? "translator" : "way here"
    return [
      trials.filteringFinding(family, box, opensPort: opensPort), trials.hairpinFinding(family),
      trials.lifetimeFinding(family), trials.packetSizeFinding(address),
    ].compactMap { $0 }
  }
}

extension LineTrials {
  fileprivate func filteringFinding(
    _ family: String, _ box: String, opensPort: Bool
  ) -> Finding {
    guard let filtering else {
      return Finding(
        .filtering, .unknown,
        "\(family): from whom the \(box) lets packets in was not tested: "
          + "\(filteringUntested ?? "nobody was asked").",
        remedy: "\(Self.otherRendezvous); earshot probe NAME shows whether a certain peer can be "
          + "reached.")
    }
    let open = "\(family): the \(box) lets packets in"
    switch filtering {
    case .endpointIndependent:
      return Finding(
        .filtering, .good, "\(open) from everybody (\(filtering.rawValue)).")
    case .addressDependent:
      return Finding(
        .filtering, .good,
        "\(open) from every port of a host that was written to (\(filtering.rawValue)).")
    case .notByPort:
      return Finding(
        .filtering, .good,
        "\(open) from another port of a host that was written to; whether from other hosts was not "
          + "tested: \(filteringUntested ?? "nobody was asked").")
    case .addressAndPortDependent where opensPort:
      return Finding(
        .filtering, .good,
        "\(open) only from the address and port that was written to (\(filtering.rawValue)), but "
          + "the router opens a port, at which it lets everybody in.")
    case .addressAndPortDependent:
      return Finding(
        .filtering, .weak,
        "\(open) only from the address and port that was written to (\(filtering.rawValue)). Peers "
          + "whose translator takes a new port for each destination are not reached directly.",
        remedy: "Forward a UDP port of the router to this host and pass --bind with that port, or "
          + "use a relay (--turn) or IPv6.")
    }
  }

  fileprivate func hairpinFinding(_ family: String) -> Finding? {
    switch hairpins {
    case true?:
      Finding(
        .hairpin, .good,
        "\(family): sockets behind the translator reach each other by its outer address.")
    case false?:
      Finding(
        .hairpin, .weak,
        "\(family): sockets behind the translator do not reach each other by its outer address. "
          + "Hosts of one network call each other by their own addresses.",
        remedy: "Only where translators stand behind one another: switch on hairpinning (NAT "
          + "loopback) at the outer one.")
    case nil: nil
    }
  }

  fileprivate func lifetimeFinding(_ family: String) -> Finding? {
    guard let lifetime else {
      return lifetimeUntested.map {
        Finding(
          .lifetime, .unknown, "\(family): how long silence may last was not tested: \($0).",
          remedy: "\(Self.otherRendezvous).")
      }
    }
    let least = Self.seconds(lifetime.atLeastSeconds)
    guard let dead = lifetime.lessThanSeconds else {
      return Finding(
        .lifetime, .good,
        "\(family): \(least) of silence close nothing, the longest that was tried.")
    }
    let text =
      "\(family): what was open is closed after \(least) to \(Self.seconds(dead)) of silence"
    guard lifetime.atLeastSeconds < Self.neededSeconds else {
      return Finding(.lifetime, .good, "\(text). Programs speak at least each 20 s.")
    }
    return Finding(
      .lifetime, .bad,
      "\(text). Programs that wait for calls speak each 20 s: an invitation may not arrive.",
      remedy: "Raise the timeout for UDP at the router to two minutes or more (RFC 4787, section "
        + "4.3); on Linux nf_conntrack_udp_timeout and nf_conntrack_udp_timeout_stream.")
  }

  fileprivate func packetSizeFinding(_ address: SocketAddress) -> Finding? {
    let family = address.family == .v4 ? "IPv4" : "IPv6"
    guard let up = largestUplinkPacket, let down = largestDownlinkPacket else {
      return packetSizeUntested.map {
        Finding(
          .packetSize, .unknown, "\(family): how long packets may be was not tested: \($0).",
          remedy: "\(Self.otherRendezvous).")
      }
    }
    let whole = Datagram.maximumByteCount + address.headerByteCount
    // An echo is no longer than what asks for it.
    let more = down == up ? " or more" : ""
    guard min(up, down) < whole else {
      return Finding(
        .packetSize, .good,
        "\(family): packets of \(whole) bytes pass both ways; calls use none that are longer.")
    }
    return Finding(
      .packetSize, .weak,
      "\(family): of packets of up to \(whole) bytes those of \(up) get out and those of \(down)"
        + "\(more) in. Calls find it out and use shorter ones.",
      remedy: "Let tunnels and routers on the way pass packets of 1280 bytes (RFC 8200, section "
        + "5): raise their MTU, or let ICMP \"too big\" through.")
  }

  private static func seconds(_ seconds: Double) -> String {
    seconds == seconds.rounded() || seconds >= 10
      ? "\(Int(seconds.rounded())) s" : "\((seconds * 10).rounded() / 10) s"
  }

  private static let otherRendezvous = "Use a rendezvous of this version, or try again later"
  /// A rendezvous lets its clients be silent for 20 s (docs/protocol/session.md §2).
  private static let neededSeconds = 20.0
}

extension NetworkDiagnosis {
  /// What became of each TURN server, and of each relay for channels.
  var relayFindings: [Finding] {
    guard !relays.isEmpty || !channelRelays.isEmpty else {
      // One that has not let this host in has named nothing to it.
      let isTold = sightings.contains { $0.seenAs != nil }
      let reason = "none was named" + (isTold ? ", and the rendezvous names none" : "")
      return [
        Finding(
          .relay, .unknown, "No relay was tested: \(reason).",
          remedy: "Where calls end without a path, or channels are large, run earshot-relay and "
            + "name it to the rendezvous (--relay-key). A TURN server is for calls alone: pass "
            + "--turn, or name it to the rendezvous (earshot-rendezvous --turn).")
      ]
    }
    let hasRelay = relays.contains { $0.relayed != nil }
    let hasChannelRelay = channelRelays.contains { $0.error == nil }
    let isTold = sightings.contains { $0.seenAs != nil }
    return channelRelays.map { $0.finding(isElsewhere: hasChannelRelay, asked: isTold) }
      + relays.map { $0.finding(isElsewhere: hasRelay) }
  }
}

extension RelaySighting {
  /// - Parameter hasOther: Whether another server gave a relay.
  fileprivate func finding(isElsewhere hasOther: Bool) -> Finding {
    let name = isOffered ? "\(uri), named by the rendezvous," : uri
    if let relayed {
      let trip = roundTripMs.map { "; round trip \(Figures.delay($0))" } ?? ""
      let family = relayed.family == .v4 ? "IPv4" : "IPv6"
      return Finding(
        .relay, .good, "\(name) takes the credentials and gives a relay by \(family)\(trip).")
    }
    let error = error ?? .closed
    return Finding(
      .relay, hasOther ? .weak : .bad, "\(name) gives no relay. \(error.message)",
      remedy: error.advice)
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
