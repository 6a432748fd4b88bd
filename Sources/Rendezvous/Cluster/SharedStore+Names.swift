package import Primitives
package import Wire

/// Names, cards and bans in the shared memory: reads of what was wished for, and writes that are
/// under way when they return.
extension SharedStore {
  package func owner(of name: PeerName, now: UInt64) throws(StoreFailure) -> PeerID? {
    guard found.target == .name(name) else { throw Self.unknown }
    return found.owner
  }

  package func card(of id: PeerID) throws(StoreFailure) -> [UInt8]? {
    if found.owner == id { return found.card }
    guard let facts = registrations[id] else { throw Self.unknown }
    return facts.card
  }

  package func serial(of id: PeerID) throws(StoreFailure) -> UInt64? {
    guard let facts = registrations[id] else { throw Self.unknown }
    return facts.serial
  }

  package func verdict(
    on name: PeerName, for id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    guard let verdict = registrations[id]?.verdicts[name] else {
      guard registrations[id]?.isUndecided ?? false else { throw Self.unknown }
      postpone(id)
      throw Self.frozen
    }
    return verdict
  }

  package func bind(
    _ name: PeerName, to id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    let verdict = try verdict(on: name, for: id, now: now)
    switch verdict {
    case .owned, .granted, .regained: break
    case .taken, .tooMany: return verdict
    }
    let hash = keys.hash(.name, name.bytes)
    let asked = registrations[id]?.asked.flatMap { $0.name == name ? $0 : nil }
    let rank = asked?.rank(now: now) ?? NameRank(grantedAt: now)
    let owner = keys.seal(id.bytes, at: hash, mark: .rank(rank), random: &random)
    let arguments =
      [keys.hash(.identity, id.bytes), hash, owner] + terms(now) + NameReceipt.words(asked?.receipt)
      + [seal(.nameMoved(NameMoved(name: name, owner: id)))]
    guard queue(.bind, arguments, .bound(id, name)) != nil else { throw Self.full }
    registrations[id]?.verdicts[name] = .owned
    return verdict
  }

  package func keep(
    _ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64
  ) throws(StoreFailure) {
    let hash = keys.hash(.identity, id.bytes)
    let sealed = keys.seal(card, at: hash, random: &random)
    let arguments = [
      hash, Self.bigEndian(serial), sealed, Self.digits(seen), Self.digits(UInt64(limits.cards)),
    ]
    guard queue(.keep, arguments, .promise(id)) != nil else { throw Self.full }
    keepAtHome(card, serial: serial, of: id, seen: seen)
    guard let known = registrations[id] else { return }
    if serial >= known.serial ?? 0 { registrations[id]?.card = card }
    registrations[id]?.serial = max(serial, known.serial ?? 0)
  }

  package func keep(_ ban: StoredBan, now: UInt64) throws(StoreFailure) {
    let place = keys.hash(.ban, ban.channel.bytes + ban.id.bytes)
    var plain = ban.channel.bytes + ban.id.bytes
    plain.append(littleEndian: ban.until)
    let sealed = keys.seal(plain, at: place, random: &random)
    let arguments = [
      place, sealed, Self.digits(ban.until), Self.digits(now),
      Self.digits(UInt64(limits.bans)), keys.hash(.ban, ban.channel.bytes),
    ]
    let word = MemberBanned(channel: ban.channel, id: ban.id, until: ban.until)
    guard queue(.ban, arguments) != nil, tellAll(.banned(word)) else { throw Self.full }
    keptBans?.removeAll {
      $0.until <= now || ($0.channel == ban.channel && $0.id == ban.id)
    }
    keptBans?.append(ban)
  }

  /// Those of the moment at which the program asked for them (`fetchBans`).
  package func bans(now: UInt64) throws(StoreFailure) -> [StoredBan] {
    guard let keptBans else { throw Self.unknown }
    return keptBans.filter { $0.until > now }
  }

  /// The wish of a program that starts, before the first packet, and after each new connection.
  package func fetchBans() { _ = queue(.bans, [], .bans) }

  /// What the last `fetchBans` has brought, once.
  func pollBans() -> [StoredBan]? {
    defer { hasNewBans = false }
    return hasNewBans ? keptBans : nil
  }

  /// The reply to it: place, value and so on; what does not open is left out.
  func handleBans(_ reply: SharedReply) {
    guard let list = reply.list else { return }
    var kept: [StoredBan] = []
    for index in stride(from: 0, to: list.count - 1, by: 2) {
      guard let place = list[index].bytes, let value = list[index + 1].bytes, value.count > 36,
        let plain = keys.open(Array(value.dropFirst(36)), at: place), plain.count == 72,
        let channel = PeerID(Array(plain.prefix(32))), let id = PeerID(Array(plain[32..<64])),
        kept.count < limits.bans
      else { continue }
      let until = plain[64..<72].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      kept.append(StoredBan(channel: Bytes32(channel), id: id, until: until))
    }
    keptBans = kept
    hasNewBans = true
  }

  package var isBatchOpen: Bool { home?.isBatchOpen ?? false }

  package func commit() throws(StoreFailure) { try home?.commit() }

  /// The card of a client of this node, without Redis; `nil` where it was never kept.
  func cardAtHome(of id: PeerID) throws(StoreFailure) -> [UInt8]? { try home?.card(of: id) }

  /// A disk that is full is in the way of no registration.
  private func keepAtHome(_ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64) {
    do throws(StoreFailure) {
      try home?.keep(card, serial: serial, of: id, seen: seen)
    } catch {
      counters.cardsLost &+= 1
    }
  }

  // MARK: - Parts

  /// The command that a wish becomes.
  func command(
    for wish: StoreWish, now: UInt64
  ) -> (SharedScript, [[UInt8]], Pending) {
    switch wish {
    case .registration(let id, let asked, let claimed, let receipt, let keepsName):
      let names = [asked, claimed].map { name in name.map { keys.hash(.name, $0.bytes) } ?? [] }
      let receipt = NameReceipt.check(receipt, for: asked, of: id, in: self, now: now)
      return (
        .register,
        [keys.hash(.identity, id.bytes)] + names + terms(now, keepsName: keepsName)
          + NameReceipt.words(receipt),
        .registration(id, asked: asked, claimed: claimed, receipt)
      )
    case .find(let target): return (.find, arguments(target, now), .found(target))
    }
  }

  private func arguments(_ target: LookUp.Target, _ now: UInt64) -> [[UInt8]] {
    let place =
      switch target {
      case .name(let name): [keys.hash(.name, name.bytes), []]
      case .id(let id): [[], keys.hash(.identity, id.bytes)]
      }
    return place + [
      Self.digits(now), Self.digits(limits.nameLife), Self.digits(StoreLimits.usePace),
    ]
  }

  /// What every script that judges names is told.
  private func terms(_ now: UInt64, keepsName: Bool = true) -> [[UInt8]] {
    [
      now, limits.nameLife, UInt64(limits.namesPerIdentity), UInt64(limits.names),
      keepsName ? Self.reservation : 0,
    ].map { Self.digits($0) }
  }

  /// As text of 20 digits: texts of one length sort as their numbers do.
  static func digits(_ number: UInt64) -> [UInt8] {
    let text = Array(String(number).utf8)
    return Array(repeating: 0x30, count: 20 - text.count) + text
  }

  /// As 8 bytes, the highest first: they sort as their numbers do.
  static func bigEndian(_ number: UInt64) -> [UInt8] { bytes(of: number).reversed() }

  /// How long a name that RESP promised is kept from others, in ms: longer than a session waits for
  /// its first packet.
  private static let reservation: UInt64 = 30_000
  private static var unknown: StoreFailure {
    StoreFailure("Redis has not told of it; see the log for whether it is reached")
  }
  private static var frozen: StoreFailure {
    StoreFailure("Redis has started anew: for some seconds no name is given that nobody has")
  }
  private static var full: StoreFailure {
    StoreFailure("Redis is not reached, or too much waits for it")
  }
}
