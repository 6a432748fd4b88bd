internal import Connectivity
internal import Peer
public import Primitives
internal import Wire

/// What was tried to find a path between the two sides of a call that ended without one, and why
/// that came to nothing.
public struct PathAttempt: Sendable, Equatable {
  /// How an address is known (RFC 8445 §5.1.1).
  public enum Kind: String, Sendable, CaseIterable {
    /// An interface has it.
    case host
    /// A rendezvous sees the host there.
    case serverReflexive
    /// A packet of the other side came from there.
    case peerReflexive
    /// A relay has it.
    case relayed
  }

  /// An address that one side may be reached at.
  public struct Candidate: Sendable, Equatable {
    /// How it is known.
    public var kind: Kind
    /// The address.
    public var address: SocketAddress

    package init(_ kind: Kind, _ address: SocketAddress) {
      self.kind = kind
      self.address = address
    }
  }

  /// An address of the other side, and what became of the questions there.
  public struct Check: Sendable, Equatable {
    /// The address.
    public var candidate: Candidate
    /// How often it was asked; 0 where this host has no address of its family.
    public var asked: Int
    /// Whether it answered.
    public var isAnswered: Bool
    /// Whether the other side asked this one from there.
    public var hasAsked: Bool

    package init(
      _ candidate: Candidate, asked: Int, isAnswered: Bool = false, hasAsked: Bool = false
    ) {
      self.candidate = candidate
      self.asked = asked
      self.isAnswered = isAnswered
      self.hasAsked = hasAsked
    }
  }

  /// Why there was no path, as far as one side can tell.
  public enum Cause: String, Sendable, CaseIterable {
    /// The other side offered no address.
    case nothingOffered
    /// One side has only IPv4, the other only IPv6.
    case noCommonFamily
    /// An address answered, and the path failed all the same.
    case lostAgain
    /// Packets come in, and no answer to ours does.
    case oneWay
    /// Both sides are behind one translator, on networks that do not reach each other.
    case sameTranslator
    /// Both sides are behind translators.
    case translators
    /// A firewall, or the one translator, drops what comes in.
    case filtered
  }

  /// What an end is behind, as far as its addresses show (RFC 4787 §4.1, §4.2).
  public enum Translator: String, Sendable, CaseIterable {
    /// The addresses do not show it.
    case unknown
    /// Others see it at its own address.
    case none
    /// Others see it at another address, at the same port.
    case keepsPort
    /// Others see it at another address and port.
    case changesPort
    /// It was heard from another port than the one where the rendezvous sees it.
    case mapsEachDestination
  }

  /// Where this side may be reached, as it told the other.
  public var own: [Candidate]
  /// Where the other side may be reached, and what became of each.
  public var checks: [Check]
  /// Why there was no path.
  public var cause: Cause
  /// What this side is behind.
  public var ownTranslator: Translator
  /// What the other side is behind.
  public var peerTranslator: Translator
  /// What became of this side's relay; `nil` where it has no TURN server.
  public var relay: RelayState?

  package init(own: [Candidate], checks: [Check], relay: RelayState? = nil) {
    self.own = own
    self.checks = checks
    self.relay = relay
    ownTranslator = Translator(own)
    peerTranslator = Translator(checks.map(\.candidate))
    cause = Cause(own, checks)
  }
}

extension PathAttempt.Cause {
  fileprivate init(_ own: [PathAttempt.Candidate], _ checks: [PathAttempt.Check]) {
    let mapped = own.filter { $0.kind == .serverReflexive }
    let theirs = checks.map(\.candidate).filter { $0.kind == .serverReflexive }
    if checks.isEmpty {
      self = .nothingOffered
    } else if checks.contains(where: \.isAnswered) {
      self = .lostAgain
    } else if checks.contains(where: \.hasAsked) {
      self = .oneWay
    } else if checks.allSatisfy({ $0.asked == 0 }) {
      self = .noCommonFamily
    } else if mapped.contains(where: { mine in
      theirs.contains { $0.address.isSameHost(as: mine.address) }
    }) {
      self = .sameTranslator
    } else {
      self = mapped.isEmpty || theirs.isEmpty ? .filtered : .translators
    }
  }
}

extension PathAttempt.Translator {
  fileprivate init(_ candidates: [PathAttempt.Candidate]) {
    let hosts = candidates.filter { $0.kind == .host }.map(\.address)
    let heard = candidates.filter { $0.kind == .peerReflexive }.map(\.address)
    guard let seen = candidates.first(where: { $0.kind == .serverReflexive })?.address else {
      self = hosts.contains(where: \.isPublicV4) ? .none : .unknown
      return
    }
    if hosts.contains(where: { $0.isSameHost(as: seen) }) {
      self = .none
    } else if heard.contains(where: { $0.isSameHost(as: seen) && $0.port != seen.port }) {
      self = .mapsEachDestination
    } else {
      self = hosts.contains { $0.port == seen.port } ? .keepsPort : .changesPort
    }
  }
}

extension PathAttempt {
  /// Why there was no path, in one sentence.
  public var sentence: String {
    switch cause {
    case .nothingOffered: "The other side offered no address."
    case .noCommonFamily: "One side has only IPv4 addresses, the other only IPv6."
    case .lostAgain: "An address of the other side answered, and then packets were lost again."
    case .oneWay:
      "Packets of the other side arrive here, and no answer to ours does: one way is blocked."
    case .sameTranslator:
      "Both sides are behind the same translator, and their own networks do not reach each other."
    case .translators:
      "Both sides are behind translators, and neither lets the other's packets in: one of them "
        + "probably maps each destination anew."
    case .filtered: "A firewall or translator between the two drops the packets."
    }
  }

  /// What to do about it, in one sentence.
  public var remedy: String {
    switch cause {
    case .nothingOffered:
      "Have the other side run earshot doctor: it probably has no network."
    case .noCommonFamily: "Give one of the two hosts an address of the other's family."
    case .lostAgain: "Call again; earshot probe NAME shows how much the line loses."
    case .oneWay: "Let UDP both in and out in the firewalls of both hosts."
    case .sameTranslator:
      "Join the two hosts to one network, or let their router send packets between them."
    case .translators:
      "Run earshot doctor with two --rendezvous on both sides; where the mapping is bad, forward a "
        + "UDP port of the router and pass --bind with that port, use IPv6 on both sides, or "
        + Self.relays
    case .filtered:
      "Let UDP in and out on both hosts; a fixed port (--bind) makes that one rule. Or "
        + Self.relays
    }
  }

  /// The ways around a line that lets nothing through.
  private static let relays =
    "have earshot-relay run for the rendezvous, or give one side a TURN server (--turn)."

  init(_ trial: PathTrial, relay: RelayState?) {
    self.init(
      own: trial.own.map { Candidate(Kind(PathOrigin($0.kind)), $0.address) },
      checks: trial.fates.map { fate in
        Check(
          Candidate(Kind(fate.origin), fate.address), asked: fate.checks,
          isAnswered: fate.isAnswered, hasAsked: fate.hasChallenged)
      }, relay: relay)
  }
}

extension PathAttempt.Kind {
  fileprivate init(_ origin: PathOrigin) {
    switch origin {
    case .host: self = .host
    case .serverReflexive: self = .serverReflexive
    case .peerReflexive: self = .peerReflexive
    case .relayed: self = .relayed
    }
  }
}
