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

  private let policy: PathPolicy
  private var random: RandomSource
  /// At most 8 + 4 + 8; candidates in the peer's order, then learnt ones as they appeared.
  var paths: [RemotePath] = []
  private var responses: [Probe] = []
  private var lastNewCheck: Instant?
  private var hasAnswer = false
  private var lastHeard: Instant?
  /// The same, from the selected address.
  private var heardSelected: Instant?
  /// Since when the selected path is doubted; `nil` = it is not.
  private var suspectedAt: Instant?
  /// When silence last made us check all paths.
  private var doubtedAt: Instant?
  /// The address a packet with the highest number came from first, while it races with the
  /// selected one.
  private var rival: DatagramPath?
  /// Where the peer was heard from last while no address is proven.
  var heardFrom: DatagramPath?

  /// Where media goes, and which own address it leaves from; `nil` before the first answer.
  package private(set) var selectedPath: DatagramPath?
  /// How often `selected` changed after it was first found.
  package private(set) var changes = 0
  /// How the peer last saw us.
  package private(set) var seenAs: SocketAddress?
  package private(set) var counters = PathCounters()
  /// Whether silence means something: the peer is sending media.
  package private(set) var expectsMedia = false

  package init(policy: PathPolicy = .standard, random: RandomSource) {
    self.policy = policy
    self.random = random
  }

  // MARK: Inputs

  /// Learns candidates from INVITE, RINGING or ACCEPT; those known already stay as they are.
  package mutating func addCandidates(_ candidates: [Candidate], now: Instant) {
    for candidate in candidates.prefix(PathLimits.remoteCandidates) {
      let known = paths.count { $0.origin != .peerReflexive && $0.path.local.isUnspecified }
      guard known < PathLimits.remoteCandidates, !candidate.address.isUnsendable,
        path(DatagramPath(candidate.address)) == nil
      else { continue }
      paths.insert(
        RemotePath(DatagramPath(candidate.address), PathOrigin(candidate.kind), checkAt: now),
        at: known)
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
    guard let index = learn(DatagramPath(source, local: local), now: now) else {
      return counters.ignored &+= 1
    }
    if !paths[index].isValid {
      triggerCheck(index, now: now)
      noteUnproven(index, byteCount: byteCount)
      guard paths[index].allowedByteCount >= PathLimits.checkByteCount else {
        return counters.responsesRefused &+= 1
      }
      paths[index].answeredByteCount += PathLimits.checkByteCount
    }
    // Who sends can be reached: ours to it may have been too early (RFC 8445 §7.3.1.4).
    paths[index].trigger(at: now)
    guard responses.count < PathLimits.responses else { return counters.responsesRefused &+= 1 }
    responses.append(Probe(address: source, local: local, token: token))
  }

  /// A PATH_RESPONSE opened.
  ///
  /// - Parameter seenAs: Our address as the peer sees it.
  package mutating func handleResponse(
    token: UInt64, from source: SocketAddress, to local: LocalAddressID = .unspecified,
    seenAs: SocketAddress, now: Instant
  ) -> PathChange? {
    let source = DatagramPath(source, local: local)
    guard let index = path(source), paths[index].takeAnswer(token, now: now) else {
      counters.ignored &+= 1
      return nil
    }
    hasAnswer = true
    self.seenAs = seenAs
    counters.answers &+= 1
    return conclude(answeredBy: source, now: now)
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
    lastHeard = now
    let source = DatagramPath(source, local: local)
    if source == selectedPath {
      heardSelected = now
      suspectedAt = nil
      return
    }
    guard isHighestYet else { return }
    guard selectedPath != nil else {
      // It reaches us from there: a challenge goes back at once (RFC 8445 §7.3.1.4).
      guard let index = learn(source, now: now) else { return counters.ignored &+= 1 }
      triggerCheck(index, now: now)
      paths[index].trigger(at: now)
      return noteUnproven(index, byteCount: byteCount)
    }
    if path(source).map({ paths[$0].isValid }) != true {
      race(source, now: now)
    } else if let heardSelected, now >= heardSelected + policy.silence,
      doubtedAt.map({ now >= $0 + policy.suspicionPeriod }) ?? true
    {
      // The peer sends from another address that is valid. It may choose so; but is it still at
      // the one that we send to?
      doubt(now: now)
    }
  }

  /// RFC 9000 §9.3: challenges the new address and the old one; the first to answer stays. One that
  /// the peer itself offered is no sign that it moved: hosts with several addresses send from
  /// whichever fits the way. Nor is another address of ours. Those take over only if the old path
  /// does not answer.
  private mutating func race(_ source: DatagramPath, now: Instant) {
    guard let index = learn(source, now: now) else { return counters.ignored &+= 1 }
    let isOver = paths[index].nextCheckAt == nil
    guard rival != source || isOver else { return }
    rival = source
    if paths[index].origin != .peerReflexive || source.remote == selected {
      suspectedAt = suspectedAt ?? now
    }
    if isOver { paths[index].beginRound(at: now) }
    if let old = selectedPath.flatMap({ path($0) }), paths[old].nextCheckAt == nil {
      paths[old].beginRound(at: now)
    }
  }

  /// Says whether the peer should be sending media now: whether silence is to be doubted.
  package mutating func setExpectsMedia(_ expects: Bool, now: Instant) {
    if expects, !expectsMedia { lastHeard = max(lastHeard ?? now, now) }
    expectsMedia = expects
    if !expects { suspectedAt = nil }
  }

  /// Does whatever is due besides sending.
  package mutating func handleTimeout(now: Instant) -> PathChange? {
    if let deadline = doubtDeadline, deadline <= now { doubt(now: now) }
    restartRounds(now: now)
    return replaceOverdue(now: now)
  }

  // MARK: Outputs

  /// The next PATH_CHALLENGE that may be sent now; `nil` when there is none.
  package mutating func pollCheck(now: Instant) -> Probe? {
    for index in paths.indices where mayCheck(paths[index]) {
      guard let due = checkTime(paths[index]), due <= now else { continue }
      if paths[index].attempts == 0 { lastNewCheck = now }
      let token = random.next()
      paths[index].noteChallenge(token, policy, now: now)
      counters.checks &+= 1
      let path = paths[index].path
      return Probe(address: path.remote, local: path.local, token: token)
    }
    return nil
  }

  /// The next PATH_RESPONSE that is to be sent.
  package mutating func pollResponse() -> Probe? {
    responses.isEmpty ? nil : responses.removeFirst()
  }

  // MARK: Getters

  /// The address of the peer that media goes to.
  package var selected: SocketAddress? { selectedPath?.remote }

  /// When `handleTimeout` or `pollCheck` next has something to do.
  package var nextDeadline: Instant? {
    var deadline = doubtDeadline
    for path in paths where mayCheck(path) {
      deadline = earliest(deadline, checkTime(path) ?? restartTime(path))
    }
    return earliest(deadline, overdueDeadline)
  }

  // MARK: Selection

  private mutating func conclude(answeredBy source: DatagramPath, now: Instant) -> PathChange? {
    guard let selectedPath, let current = path(selectedPath), let index = path(source) else {
      return select(source, .found, now: now)
    }
    if source == selectedPath {
      // The old address is alive: it keeps its place.
      rival = nil
      suspectedAt = nil
      lastHeard = now
      heardSelected = now
      return takeBetter(than: current, now: now)
    }
    if source == rival, source.remote != selected, paths[index].origin == .peerReflexive {
      return select(source, .moved, now: now)
    }
    return takeBetter(than: current, now: now) ?? replaceOverdue(now: now)
  }

  /// The quickest other path that owes no answer, if the selected one is so much slower by its
  /// average and by its last answer, and has answered twice: one slow answer may be a busy host's.
  private mutating func takeBetter(than current: Int, now: Instant) -> PathChange? {
    let old = min(paths[current].roundTrip, paths[current].latestRoundTrip)
    let others = paths.filter {
      $0.isValid && $0.outstanding.isEmpty && $0.path != paths[current].path
    }
    guard let best = others.min(by: { $0.roundTrip < $1.roundTrip }),
      old - best.roundTrip >= policy.switchMargin.nanoseconds,
      best.roundTrip * 100 <= old * policy.switchPercent
    else { return nil }
    guard paths[current].answers > 1 else {
      if paths[current].nextCheckAt == nil { paths[current].beginRound(at: now) }
      return nil
    }
    return select(best.path, .better, now: now)
  }

  /// The selected path is doubted, its challenge is overdue, and another has answered since: the
  /// best of those takes over.
  private mutating func replaceOverdue(now: Instant) -> PathChange? {
    guard let selectedPath, let current = path(selectedPath), paths[current].isOverdue(now: now)
    else { return nil }
    return successor.flatMap { select($0, .failed, now: now) }
  }

  /// The best path besides the selected one that has answered since that is doubted.
  private var successor: DatagramPath? {
    guard let suspectedAt else { return nil }
    var best: RemotePath?
    for path in paths where path.isValid && path.path != selectedPath {
      guard let answeredAt = path.answeredAt, answeredAt >= suspectedAt else { continue }
      if let found = best, found.roundTrip <= path.roundTrip { continue }
      best = path
    }
    return best?.path
  }

  private mutating func select(
    _ path: DatagramPath, _ cause: PathChange.Cause, now: Instant
  ) -> PathChange? {
    guard let index = self.path(path) else { return nil }
    let change = PathChange(
      from: selected, to: path.remote, kind: PathKind(paths[index].origin), cause: cause)
    if selectedPath != nil { changes += 1 }
    selectedPath = path
    heardSelected = now
    rival = nil
    suspectedAt = nil
    return change
  }

  // MARK: Rounds of checks

  func path(_ path: DatagramPath) -> Int? { paths.firstIndex { $0.path == path } }

  /// Until one is answered there is a limit; the last part of it is for addresses from which a
  /// challenge of the peer has come, so that a late peer is still answered by checks.
  private func mayCheck(_ path: RemotePath) -> Bool {
    let reserve = path.hasChallenged ? 0 : policy.reservedForChallengers
    return hasAnswer || counters.checks < policy.unansweredLimit - reserve
  }

  /// The peer can reach us from there: so perhaps we can reach it now (RFC 8445 §7.3.1.4).
  private mutating func triggerCheck(_ index: Int, now: Instant) {
    paths[index].hasChallenged = true
    guard paths[index].nextCheckAt == nil,
      paths[index].outstanding.last.map({ $0.sentAt + policy.lastRepetition <= now }) ?? true
    else { return }
    paths[index].beginRound(at: now)
  }

  /// First challenges keep the pace; repetitions, and those of a race, do not wait.
  private func checkTime(_ path: RemotePath) -> Instant? {
    guard let due = path.nextCheckAt else { return nil }
    guard path.attempts == 0, path.path != rival, path.path != selectedPath, let lastNewCheck
    else { return due }
    return max(due, lastNewCheck + policy.pace)
  }

  /// When a path whose round is over is checked again: a valid one to keep it, others as long as
  /// none is valid.
  private func restartTime(_ path: RemotePath) -> Instant? {
    guard path.nextCheckAt == nil else { return nil }
    if let last = path.outstanding.last {
      // Unanswered: wait as long as the last repetition did.
      let again = last.sentAt + policy.lastRepetition
      return path.isValid || !hasAnswer || path.path == selectedPath ? again : nil
    }
    return path.answeredAt.map { $0 + policy.revalidation }
  }

  private mutating func restartRounds(now: Instant) {
    for index in paths.indices {
      guard let again = restartTime(paths[index]), again <= now else { continue }
      let isUnanswered = !paths[index].outstanding.isEmpty
      if isUnanswered, paths[index].path == selectedPath { return doubt(now: now) }
      if isUnanswered { paths[index].isValid = false }
      paths[index].beginRound(at: now)
    }
  }

  /// The selected path is silent, or did not answer a whole round: all paths are checked.
  private mutating func doubt(now: Instant) {
    suspectedAt = suspectedAt ?? now
    doubtedAt = now
    for index in paths.indices { paths[index].beginRound(at: now) }
  }

  /// When silence next begins, or keeps on, to be suspicious.
  private var doubtDeadline: Instant? {
    guard expectsMedia, selectedPath != nil, let lastHeard else { return nil }
    let silent = lastHeard + policy.silence
    guard let doubtedAt else { return silent }
    return max(silent, doubtedAt + policy.suspicionPeriod)
  }

  /// When a successor that has answered already takes over.
  private var overdueDeadline: Instant? {
    guard successor != nil, let selectedPath, let index = path(selectedPath) else { return nil }
    return paths[index].overdueAt
  }

  /// The path of `source`, a new one if it is unknown; `nil` when there is no room. An address that
  /// the peer offered keeps its origin at every own address that it reaches.
  private mutating func learn(_ source: DatagramPath, now: Instant) -> Int? {
    if let known = path(source) { return known }
    guard !source.remote.isUnsendable else { return nil }
    let origin = paths.first { $0.path.remote == source.remote }?.origin ?? .peerReflexive
    let isReflexive = origin == .peerReflexive
    let isAlike = { (path: RemotePath) in
      isReflexive
        ? path.origin == .peerReflexive
        : path.origin != .peerReflexive && !path.path.local.isUnspecified
    }
    if paths.count(where: isAlike)
      >= (isReflexive ? PathLimits.peerReflexive : PathLimits.otherLocalAddresses)
    {
      guard
        let stale = paths.firstIndex(where: {
          isAlike($0) && !$0.isValid && $0.path != selectedPath && $0.nextCheckAt == nil
        })
      else { return nil }
      paths.remove(at: stale)
    }
    paths.append(RemotePath(source, origin, checkAt: now))
    return paths.count - 1
  }
}
