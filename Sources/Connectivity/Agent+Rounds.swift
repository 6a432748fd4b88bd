package import Primitives

/// Rounds of checks: which path is challenged when (docs/protocol/calling.md §4).
extension Agent {
  /// Until one is answered there is a limit; the last part of it is for addresses from which a
  /// challenge of the peer has come, so that a late peer is still answered by checks. Later there
  /// is one for what the peer says of itself: false candidates must not make a weapon of us.
  func mayCheck(_ path: RemotePath) -> Bool {
    if lastAnswer != nil {
      return unprovenChecks.count < policy.unansweredLimit || !isOnWord(path)
    }
    let reserve = path.hasChallenged ? 0 : policy.reservedForChallengers
    return counters.checks < policy.unansweredLimit - reserve
  }

  /// A check goes out; those on the peer's mere word are counted until a new address answers.
  mutating func countUnprovenCheck(_ index: Int) {
    if lastAnswer != nil, isOnWord(paths[index]) { unprovenChecks.count += 1 }
  }

  /// Whether nothing but the peer's word says that it is there.
  private func isOnWord(_ path: RemotePath) -> Bool {
    guard path.isAlternate || path.origin != .peerReflexive else { return false }
    return !paths.isProven(path.path.remote)
  }

  /// The peer can reach us from there: so perhaps we can reach it now (RFC 8445 §7.3.1.4).
  mutating func triggerCheck(_ index: Int, now: Instant) {
    paths[index].hasChallenged = true
    guard paths[index].round.isOver,
      paths[index].round.lastUnanswered.map({ $0 + policy.lastRepetition <= now }) ?? true
    else { return }
    paths[index].round.begin(at: now)
  }

  /// First challenges keep the pace; repetitions, and those of a race, do not wait.
  func checkTime(_ path: RemotePath) -> Instant? {
    guard let due = path.round.nextAt else { return nil }
    guard path.round.attempts == 0, path.round.opening == nil, path.path != doubt.rival,
      path.path != selectedPath, let lastNewCheck
    else { return due }
    let isUrgent = path.renewedAt != nil || path.isAlternate
    return max(due, lastNewCheck + (isUrgent ? policy.renewedPace : policy.pace))
  }

  /// When a path whose round is over is checked again: a valid one to keep it, others as long as
  /// none is valid.
  func restartTime(_ path: RemotePath) -> Instant? {
    guard path.round.isOver else { return nil }
    if let last = path.round.lastUnanswered {
      // Wait as long as the last repetition did.
      let again = last + policy.lastRepetition
      let isDue = path.isValid || lastAnswer == nil || path.path == selectedPath
      return isDue ? again : directRetryTime(path) ?? routedRetryTime(path)
    }
    guard !path.isAlternate || path.path == selectedPath else { return nil }
    return path.proof.answeredAt.map { $0 + policy.revalidation }
  }

  mutating func restartRounds(now: Instant) {
    for index in paths.indices {
      guard let again = restartTime(paths[index]), again <= now else { continue }
      let isUnanswered = paths[index].round.lastUnanswered != nil
      if isUnanswered, paths[index].path == selectedPath { return searchPaths(now: now) }
      if isUnanswered { paths[index].proof.expire() }
      paths[index].round.begin(at: now)
    }
  }

  /// Whether a new round may find anything: another uplink was silent perhaps because the peer was.
  private func isWorthAsking(_ path: RemotePath) -> Bool {
    path.isWorthAsking || path.isAlternate && paths.isProven(path.path.remote)
  }

  /// The selected path is silent, or did not answer a whole round: all paths are checked that have
  /// ever answered, and the others three times.
  mutating func searchPaths(now: Instant) {
    doubt.search(now: now)
    for index in paths.indices where isWorthAsking(paths[index]) {
      paths[index].round.begin(at: now)
    }
    checkAlternates(now: now)
  }

  /// When silence next begins, or keeps on, to be suspicious.
  var doubtDeadline: Instant? {
    guard let silentAt else { return nil }
    guard let lastSearch = doubt.lastSearch else { return silentAt }
    let isNew = hearing.last.map { $0 > lastSearch } ?? false
    return max(silentAt, lastSearch + (isNew ? policy.newSuspicion : policy.suspicionPeriod))
  }

  /// When the peer will have been silent for longer than it should; `nil` = it may be.
  package var silentAt: Instant? { selectedPath == nil ? nil : hearing.silentAt(policy) }

  /// When a successor that has answered already takes over.
  var overdueDeadline: Instant? {
    guard successor != nil else { return nil }
    return paths[selectedPath]?.overdueAt
  }

  /// The best path besides the selected one that has answered since that is doubted.
  var successor: DatagramPath? {
    doubt.since.flatMap { paths.successor(of: selectedPath, since: $0) }
  }
}
