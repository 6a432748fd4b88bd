import Primitives
import Wire

/// All that is counted by source and by identity: who may ask for what how often
/// (docs/protocol/session.md §9).
struct SourceMeters {
  var identities: IdentityRates
  var failures: FailureTable
  var turns: HandshakeTurns
  private var sources: SourceTable
  private var initiations: PrefixMeters
  private var lookUps: PrefixMeters
  private var forwards: PrefixMeters
  /// What FORWARDs do not count against a client's rate.
  var credits: ForwardCredits
  private var names: PrefixMeters
  private var newCards: PrefixMeters
  private var removals: PrefixMeters
  private var echoes: PrefixMeters
  /// Sessions by site and network; those by host are the registry's.
  private var sessions: SourceCounts
  private var resets = RateMeter()
  private var cookies = RateMeter()
  private var cards = RateMeter()
  private var refusals = RateMeter()
  private let limits: ServerLimits
  private let hash: KeyedHash

  init(_ limits: ServerLimits, hash: KeyedHash) {
    self.limits = limits
    self.hash = hash
    identities = IdentityRates(limit: limits.sources, hash: hash)
    failures = FailureTable(hash: hash)
    turns = HandshakeTurns(limit: limits.sources, hash: hash)
    sources = SourceTable(limit: limits.sources, hash: hash)
    initiations = PrefixMeters(limit: limits.sources, hash: hash)
    lookUps = PrefixMeters(limit: limits.sources, hash: hash)
    forwards = PrefixMeters(limit: limits.sources, hash: hash)
    credits = ForwardCredits(limit: limits.sources, hash: hash)
    names = PrefixMeters(limit: limits.sources, hash: hash)
    newCards = PrefixMeters(limit: limits.sources, hash: hash)
    removals = PrefixMeters(limit: limits.sources, hash: hash)
    echoes = PrefixMeters(limit: limits.sources, hash: hash)
    sessions = SourceCounts(hash: hash)
  }

  // MARK: Strangers

  /// An INIT with a right MAC1.
  mutating func takeInitiation(
    of source: SocketAddress, isProven: Bool, now: Instant
  ) -> Bool {
    if isProven { return initiations.admit(source, limits.provenInitiations, now: now) }
    return sources.withRecord(of: source, now: now) {
      $0.initiations.admit(limits.initiationsPerSource, now: now)
    }
  }

  mutating func takeCookie(to source: SocketAddress, now: Instant) -> Bool {
    sources.withRecord(of: source, now: now) {
      $0.cookies.admit(limits.cookiesPerSource, now: now)
    } && cookies.admit(limits.cookies, now: now)
  }

  /// CARD, or VERSION.
  mutating func takeCard(to source: SocketAddress, now: Instant) -> Bool {
    sources.withRecord(of: source, now: now) {
      $0.cards.admit(limits.cardsPerSource, now: now)
    } && cards.admit(limits.cards, now: now)
  }

  /// Whoever is refused because there are too many in all keeps the right to the next try: else it
  /// could miss its turn again and again.
  mutating func takeReset(to source: SocketAddress, now: Instant) -> Bool {
    let rate = limits.resetsPerSource
    guard sources.withRecord(of: source, now: now, { $0.resets.allows(rate, now: now) }),
      resets.admit(limits.resets, now: now)
    else { return false }
    return sources.withRecord(of: source, now: now) { $0.resets.admit(rate, now: now) }
  }

  // MARK: Clients

  mutating func takeLookUp(of source: SocketAddress, now: Instant) -> Bool {
    lookUps.admit(source, limits.lookUps, now: now)
  }

  mutating func takeEcho(of source: SocketAddress, now: Instant) -> Bool {
    echoes.admit(source, limits.echoes, now: now)
  }

  /// A FORWARD to `callee` that is no answer.
  mutating func takeForward(of source: SocketAddress, to callee: PeerID, now: Instant) -> Bool {
    forwards.admit(source, to: callee, limits.forwardsPerCallee, now: now)
  }

  /// Whether `source` may bind one more new name today; counts nothing.
  func allowsNewName(of source: SocketAddress, now: Instant) -> Bool {
    names.allows(source, limits.newNames, now: now)
  }

  mutating func takeNewName(of source: SocketAddress, now: Instant) -> Bool {
    names.admit(source, limits.newNames, now: now)
  }

  /// Whether the card of an identity that was never here is kept.
  mutating func takeNewCard(
    of source: SocketAddress, _ counters: inout ServerCounters, now: Instant
  ) -> Bool {
    if newCards.admit(source, limits.newCards, now: now) { return true }
    counters.cardsNotKept &+= 1
    return false
  }

  /// Whether `source` may have one more member removed today; counts nothing.
  func allowsRemoval(by source: SocketAddress, now: Instant) -> Bool {
    removals.allows(source, limits.removals, now: now)
  }

  mutating func noteRemoval(by source: SocketAddress, now: Instant) {
    _ = removals.admit(source, limits.removals, now: now)
  }

  /// Whether a refusal is worth an event.
  mutating func takeRefusalEvent(now: Instant) -> Bool {
    refusals.admit(limits.refusalEvents, now: now)
  }

  // MARK: Sessions

  mutating func addSession(of source: SocketAddress) {
    for key in wideKeys(of: source) { sessions.add(key) }
  }

  mutating func removeSession(of source: SocketAddress) {
    for key in wideKeys(of: source) { sessions.remove(key) }
  }

  /// Whether the host, the site and the network of `source` have room for `more` sessions.
  func hasRoom(
    for more: Int, of source: SocketAddress, _ registry: borrowing ClientRegistry
  ) -> Bool {
    if registry.sessionCount(of: source) + more > limits.sessionsPerSource { return false }
    if let site = source.key(.site, hash), sessions.count(of: site) + more > limits.sessionsPerSite
    {
      return false
    }
    guard let network = source.key(.network, hash) else { return true }
    return sessions.count(of: network) + more <= limits.sessionsPerNetwork
  }

  /// A key of the network of `source`; 0 where the family has none.
  func network(of source: SocketAddress) -> UInt64 { source.key(.network, hash) ?? 0 }

  private func wideKeys(of source: SocketAddress) -> [UInt64] {
    [source.key(.site, hash), source.key(.network, hash)].compactMap { $0 }
  }
}
