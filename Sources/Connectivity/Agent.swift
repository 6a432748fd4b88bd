package import Primitives
package import Wire

/// Finds and keeps the path to one peer (docs/protocol/calling.md §4).
///
/// Candidates are challenged in turn; an address that answers is valid, and the best valid one is
/// selected. The owner seals what `pollCheck` and `pollResponse` give out, each in a packet of at
/// most `PathLimits.checkByteCount` bytes, and hands in only what opened under the peer's keys.
///
/// A selected address stays selected, silent or not, until another has answered. Before the first
/// answer only what the peer itself has sent from an address lets anything go there, and at most
/// three times as many bytes.
package struct Agent: Sendable {
  /// A PATH_CHALLENGE, or a PATH_RESPONSE, to be sent.
  package struct Probe: Hashable, Sendable {
    package var path: DatagramPath
    package var token: UInt64

    package init(address: SocketAddress, local: LocalAddressID = .unspecified, token: UInt64) {
      path = DatagramPath(address, local: local)
      self.token = token
    }

    package var address: SocketAddress { path.remote }
  }

  let policy: PathPolicy
  private var random: RandomSource
  /// Own addresses to send from when the routes' choice carries nothing.
  var alternates: [AlternateSource] = []
  var paths = PathTable()
  private var responses: [Probe] = []
  var lastNewCheck: Instant?
  /// When a challenge of ours was last answered.
  package private(set) var lastAnswer: Instant?
  /// When the peer was last heard, and how far apart its packets are.
  var hearing = Hearing()
  /// The same, from the selected address.
  private(set) var heardSelected: Instant?
  /// Of the selected path.
  var doubt = PathDoubt()
  /// Checks to addresses that have never answered, since one last did for the first time.
  var unprovenChecks = UnprovenChecks()
  /// Both sides let the other be away for minutes.
  package var mayPeerBeAway = false
  /// Where the peer was heard from last while no address is proven.
  var heardFrom: DatagramPath?

  /// Where media goes, and which own address it leaves from; `nil` before the first answer.
  package private(set) var selectedPath: DatagramPath?
  /// How often `selected` changed after it was first found, or our address as the peer sees it.
  package private(set) var changes = 0
  /// How the peer last saw us.
  package private(set) var seenAs: SocketAddress?
  package private(set) var counters = PathCounters()

  package init(policy: PathPolicy = .standard, random: RandomSource) {
    self.policy = policy
    self.random = random
  }

  // MARK: Inputs

  /// Learns candidates from INVITE, RINGING or ACCEPT; those known already stay as they are, but
  /// that a relay's address is known for one.
  ///
  /// - Parameters:
  ///   - byRelay: Whether there is a relay of our own. It is the way to the peer's relay where
  ///     nothing else gets out. To other candidates it is used once the peer comes by it.
  ///   - opening: How long the peer needs to learn our candidates, where it does not know them yet.
  ///     Until then only the way out to its translators is opened (`ChallengeRound.opening`).
  package mutating func addCandidates(
    _ candidates: [Candidate], byRelay: Bool = false, opening: Duration? = nil, now: Instant
  ) {
    let afterDirect = now + policy.relayHeadStart
    if byRelay { paths.addRelayPairs(candidates, checkAt: afterDirect) }
    for candidate in candidates.prefix(PathLimits.remoteCandidates) {
      let checkAt = candidate.kind == .relayed ? afterDirect : now
      paths.add(candidate, opening: opening, checkAt: checkAt)
    }
  }

  /// A PATH_CHALLENGE opened: it is answered where it came from, known address or not, and from
  /// the own address that it came to.
  ///
  /// - Parameter byteCount: Of the whole packet.
  package mutating func handleChallenge(
    token: UInt64, from source: SocketAddress, to local: LocalAddressID = .unspecified,
    byteCount: Int, now: Instant
  ) {
    let source = DatagramPath(source, local: local)
    guard let index = paths.learn(source, selected: selectedPath, now: now) else {
      return counters.ignored &+= 1
    }
    answerDoubt(paths[index].path, now: now)
    if !paths[index].isValid {
      triggerCheck(index, now: now)
      noteUnproven(index, byteCount: byteCount)
      guard paths[index].unproven.allowed >= PathLimits.checkByteCount else {
        return counters.responsesRefused &+= 1
      }
      paths[index].unproven.countAnswered(PathLimits.checkByteCount)
    }
    // Who sends can be reached: ours to it may have been too early (RFC 8445 §7.3.1.4).
    paths[index].trigger(at: now)
    guard responses.count < PathLimits.responses else { return counters.responsesRefused &+= 1 }
    responses.append(Probe(address: source.remote, local: local, token: token))
  }

  /// A PATH_RESPONSE opened.
  ///
  /// - Parameter seenAs: Our address as the peer sees it.
  package mutating func handleResponse(
    token: UInt64, from source: SocketAddress, to local: LocalAddressID = .unspecified,
    seenAs: SocketAddress, now: Instant
  ) -> PathChange? {
    let source = DatagramPath(source, local: local)
    guard let index = paths.index(source) else {
      counters.ignored &+= 1
      return nil
    }
    let wasProven = paths[index].proof.wasProven
    let knownAs = paths[index].proof.seenAs
    guard paths[index].handleAnswer(token, now: now) else {
      counters.ignored &+= 1
      return nil
    }
    if !wasProven { unprovenChecks = UnprovenChecks() }
    lastAnswer = now
    self.seenAs = seenAs
    paths[index].proof.seenAs = seenAs
    counters.answers &+= 1
    let change = conclude(answeredBy: source, now: now)
    guard change == nil, source == selectedPath, let knownAs, knownAs != seenAs else {
      return change
    }
    return ownMove()
  }

  /// A packet opened. The usual case, from the selected address, costs a comparison and a store.
  ///
  /// - Parameters:
  ///   - byteCount: Of the whole packet.
  ///   - isHighestYet: Whether its number is the highest of the session: only then can its source
  ///     be where the peer is now, and not where somebody sent a copy from.
  package mutating func handleAuthenticatedPacket(
    from source: SocketAddress, to local: LocalAddressID = .unspecified, byteCount: Int,
    isHighestYet: Bool, now: Instant
  ) {
    hearing.notePacket(now: now)
    let source = DatagramPath(source, local: local)
    if source == selectedPath {
      heardSelected = now
      doubt.handlePacket()
      return
    }
    guard isHighestYet else { return }
    guard selectedPath != nil else {
      // It reaches us from there: a challenge goes back at once (RFC 8445 §7.3.1.4).
      guard let index = paths.learn(source, selected: nil, now: now) else {
        return counters.ignored &+= 1
      }
      triggerCheck(index, now: now)
      paths[index].trigger(at: now)
      return noteUnproven(index, byteCount: byteCount)
    }
    if paths[source]?.isValid != true {
      race(source, byteCount: byteCount, now: now)
    } else if let heardSelected, now >= heardSelected + policy.longestSilence,
      doubt.maySearch(after: policy.suspicionPeriod, now: now)
    {
      // The peer sends from another address that is valid. It may choose so; but is it still at
      // the one that we send to?
      searchPaths(now: now)
    }
  }

  /// RFC 9000 §9.3: challenges the new address and the old one; the first to answer stays. One that
  /// the peer itself offered is no sign that it moved: hosts with several addresses send from
  /// whichever fits the way. Nor is another address of ours. Those take over only if the old path
  /// does not answer.
  private mutating func race(_ source: DatagramPath, byteCount: Int, now: Instant) {
    guard let index = paths.learn(source, selected: selectedPath, now: now) else {
      return counters.ignored &+= 1
    }
    noteUnproven(index, byteCount: byteCount)
    let isOver = paths[index].round.isOver
    guard doubt.rival != source || isOver else { return }
    doubt.rival = source
    if paths[index].origin != .peerReflexive || source.remote == selected
      || paths[index].isRelayed
    {
      doubt.begin(now: now)
    }
    paths[index].beginRoundIfOver(at: now)
    if let old = selectedPath.flatMap({ paths.index($0) }) {
      paths[old].beginRoundIfOver(at: now)
    }
  }

  /// Says whether the peer should be sending media now: whether silence is to be doubted soon. One
  /// that sends none still says PING each second.
  package mutating func setExpectsMedia(_ expects: Bool, now: Instant) {
    let expected: Hearing.Expectation = expects ? .media : .keepAlive
    if expected != hearing.expectation { hearing.begin(expected, now: now) }
    if !expects { doubt.endSilence() }
  }

  /// Does whatever is due besides sending.
  package mutating func handleTimeout(now: Instant) -> PathChange? {
    if let deadline = doubtDeadline, deadline <= now { searchPaths(now: now) }
    restartRounds(now: now)
    return replaceOverdue(now: now)
  }

  // MARK: Outputs

  /// The next PATH_CHALLENGE that may be sent now; `nil` when there is none.
  package mutating func pollCheck(now: Instant) -> Probe? {
    for index in paths.indices where mayCheck(paths[index]) {
      guard let due = checkTime(paths[index]), due <= now else { continue }
      var probe = Probe(
        address: paths[index].path.remote, local: paths[index].path.local, token: random.next())
      countUnprovenCheck(index)
      counters.checks &+= 1
      if paths[index].round.appendOpening(probe.token, now: now) {
        probe.path.hopLimit = policy.openingHopLimit
        return probe
      }
      if paths[index].round.attempts == 0 { lastNewCheck = now }
      paths[index].round.appendChallenge(
        probe.token, policy, isHeard: paths[index].hasChallenged && !paths[index].isValid, now: now)
      widenSearch(after: index, now: now)
      return probe
    }
    return nil
  }

  /// The next PATH_RESPONSE that is to be sent.
  package mutating func pollResponse() -> Probe? {
    responses.isEmpty ? nil : responses.removeFirst()
  }

  /// The peer sees us at another address than before.
  private mutating func ownMove() -> PathChange? {
    guard let selected, let kind else { return nil }
    changes += 1
    return PathChange(from: selected, to: selected, kind: kind, cause: .ownAddress)
  }

  // MARK: Getters

  /// The address of the peer that media goes to.
  package var selected: SocketAddress? { selectedPath?.remote }

  /// When `handleTimeout` or `pollCheck` next has something to do.
  package var nextDeadline: Instant? {
    var deadline = doubtDeadline
    for path in paths.paths where mayCheck(path) {
      deadline = earliest(deadline, checkTime(path) ?? restartTime(path))
    }
    return earliest(deadline, overdueDeadline)
  }

  // MARK: Selection

  private mutating func conclude(answeredBy source: DatagramPath, now: Instant) -> PathChange? {
    guard let selectedPath, let current = paths.index(selectedPath),
      let index = paths.index(source)
    else {
      return select(source, .found, now: now)
    }
    if source == selectedPath {
      // The old address is alive: it keeps its place.
      doubt.settle()
      hearing.noteAnswer(now: now)
      heardSelected = now
      return selectBetter(than: current, now: now)
    }
    let isWorse = paths[index].isRelayed && !paths[current].isRelayed
    if source == doubt.rival, source.remote != selected, paths[index].origin == .peerReflexive,
      !isWorse
    {
      return select(source, .moved, now: now)
    }
    if let renewedAt = doubt.renewedAt, paths[index].renewedAt == renewedAt,
      !paths[index].isAlternate
    {
      return select(source, .moved, now: now)
    }
    return selectBetter(than: current, now: now) ?? replaceOverdue(now: now)
  }

  /// Selects a path that is better than the current one. One that is only quicker waits until the
  /// current one has answered twice: one slow answer may be a busy host's.
  private mutating func selectBetter(than current: Int, now: Instant) -> PathChange? {
    guard let better = paths.better(than: paths[current], policy) else { return nil }
    guard !better.isForSpeed || paths[current].proof.answers > 1 else {
      paths[current].beginRoundIfOver(at: now)
      return nil
    }
    return select(better.path, .better, now: now)
  }

  /// The selected path is doubted, its challenge is overdue, and another has answered since: the
  /// best of those takes over.
  private mutating func replaceOverdue(now: Instant) -> PathChange? {
    guard let current = paths[selectedPath], current.isOverdue(now: now) else { return nil }
    return successor.flatMap { select($0, .failed, now: now) }
  }

  private mutating func select(
    _ path: DatagramPath, _ cause: PathChange.Cause, now: Instant
  ) -> PathChange? {
    guard let kind = paths[path]?.kind else { return nil }
    let change = PathChange(from: selected, to: path.remote, kind: kind, cause: cause)
    if selectedPath != nil { changes += 1 }
    selectedPath = path
    heardSelected = now
    doubt.settle()
    return change
  }
}
