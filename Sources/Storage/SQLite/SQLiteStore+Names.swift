package import Primitives
package import Rendezvous
package import Wire

/// Who has which name, and until when (docs/protocol/rendezvous.md §2).
extension SQLiteStore {
  package func owner(of name: PeerName, now: UInt64) throws(StoreFailure) -> PeerID? {
    do throws(StorageError) {
      try beginReading()
      guard let holder = try holder(of: name), !hasLapsed(holder, now) else { return nil }
      if now > holder.used, now - holder.used >= StoreLimits.usePace { try noteUse(name, now) }
      return holder.id
    } catch { throw abandonBatch(error) }
  }

  package func verdict(
    on name: PeerName, for id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    do throws(StorageError) {
      if let holder = try holder(of: name), !hasLapsed(holder, now) {
        return holder.id == id ? .owned : .taken
      }
      guard try nameCount(of: id) < limits.namesPerIdentity else { return .tooMany }
      if nameCount < limits.names { return .granted }
      return try lapsedCount(now) > 0 ? .granted : .tooMany
    } catch { throw StoreFailure(error.message) }
  }

  package func bind(
    _ name: PeerName, to id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    let verdict = try verdict(on: name, for: id, now: now)
    do throws(StorageError) {
      switch verdict {
      case .owned: try noteUse(name, now)
      case .granted, .regained: try insert(name, id, now)
      case .taken, .tooMany: break
      }
      return verdict
    } catch { throw abandonBatch(error) }
  }

  // MARK: - Parts

  private struct Holder {
    var id: PeerID
    /// Seconds since 1970.
    var used: UInt64
  }

  private func hasLapsed(_ holder: Holder, _ now: UInt64) -> Bool {
    now > holder.used && now - holder.used >= limits.nameLife
  }

  private func holder(of name: PeerName) throws(StorageError) -> Holder? {
    queries.owner.reset()
    queries.owner.bind(1, text: name.description)
    defer { queries.owner.reset() }
    guard try queries.owner.step(), let id = PeerID(queries.owner.blob(0)) else { return nil }
    return Holder(id: id, used: UInt64(clamping: queries.owner.integer(1)))
  }

  private func nameCount(of id: PeerID) throws(StorageError) -> Int {
    queries.countNames.reset()
    queries.countNames.bind(1, id.bytes)
    defer { queries.countNames.reset() }
    return try queries.countNames.step() ? Int(queries.countNames.integer(0)) : 0
  }

  private func noteUse(_ name: PeerName, _ now: UInt64) throws(StorageError) {
    try beginBatch()
    queries.noteUse.reset()
    queries.noteUse.bind(1, text: name.description)
    queries.noteUse.bind(2, Int64(clamping: now))
    _ = try queries.noteUse.step()
    queries.noteUse.reset()
  }

  private func insert(_ name: PeerName, _ id: PeerID, _ now: UInt64) throws(StorageError) {
    try beginBatch()
    if nameCount >= limits.names { try forgetLapsed(now) }
    if let former = try holder(of: name) { try forget(name, of: former.id) }
    queries.bindName.reset()
    queries.bindName.bind(1, text: name.description)
    queries.bindName.bind(2, id.bytes)
    queries.bindName.bind(3, Int64(clamping: now))
    _ = try queries.bindName.step()
    queries.bindName.reset()
    nameCount += 1
    try markNamed(id)
  }

  private func forget(_ name: PeerName, of id: PeerID) throws(StorageError) {
    queries.forgetName.reset()
    queries.forgetName.bind(1, text: name.description)
    _ = try queries.forgetName.step()
    queries.forgetName.reset()
    nameCount -= 1
    try markNamed(id)
  }

  private func markNamed(_ id: PeerID) throws(StorageError) {
    queries.markNamed.reset()
    queries.markNamed.bind(1, id.bytes)
    _ = try queries.markNamed.step()
    queries.markNamed.reset()
  }

  private func lapsedCount(_ now: UInt64) throws(StorageError) -> Int64 {
    try database.number(
      "SELECT count(*) FROM (SELECT 1 FROM names WHERE used <= \(lastLapsed(now)) LIMIT 1)")
  }

  /// Makes room in one go, so that a full store does not search at every registration. Cards whose
  /// last name went may be forgotten from now on.
  private func forgetLapsed(_ now: UInt64) throws(StorageError) {
    let oldest = """
      SELECT name FROM names WHERE used <= \(lastLapsed(now)) ORDER BY used, name \
      LIMIT \(max(1, limits.names / 1000))
      """
    try database.run(
      """
      UPDATE cards SET is_named = 0
        WHERE id IN (SELECT id FROM names WHERE name IN (\(oldest))) AND NOT EXISTS
          (SELECT 1 FROM names WHERE id = cards.id AND used > \(lastLapsed(now)))
      """)
    try database.run("DELETE FROM names WHERE name IN (\(oldest))")
    nameCount -= database.changeCount
  }

  /// Names used at that second or before are free.
  private func lastLapsed(_ now: UInt64) -> Int64 {
    Int64(clamping: now) - Int64(clamping: limits.nameLife)
  }
}
