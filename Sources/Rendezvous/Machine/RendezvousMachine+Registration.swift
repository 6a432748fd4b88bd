import Cryptography
import Primitives
import Wire

/// From answered handshake to registration (docs/protocol/rendezvous.md §2), and what is said to
/// those who have no session.
extension RendezvousMachine {
  /// What becomes of the wish for a name, before anything is written.
  func status(of name: PeerName?, for id: PeerID) throws(StoreFailure) -> RegistrationStatus {
    guard let name else { return .noNameAskedFor }
    if let owner = try store.owner(of: name) { return owner == id ? .nameGranted : .nameTaken }
    if let slot = pending.holder(of: name), registry[slot].id != id { return .nameTaken }
    return .nameGranted
  }

  /// The first packet under a new session: it is its program's only one from now on, and what it
  /// asked for is written down.
  mutating func confirm(_ slot: UInt32, now: Instant) {
    let id = registry[slot].id
    makeRoom(for: slot, now: now)
    registry.confirm(slot)
    counters.registrations &+= 1
    guard let entry = pending.remove(slot) else { return }
    let seconds = settings.unixMilliseconds(now) / 1000
    noteWrite(now: now)
    var status = entry.status
    do throws(StoreFailure) {
      try store.keep(entry.card, serial: entry.serial, of: id, seen: seconds)
      if let name = entry.name {
        switch try store.bind(name, to: id) {
        case .granted: counters.namesGranted &+= 1
        case .taken, .tooMany: status = .nameTaken
        }
      }
    } catch {
      noteStoreFailure(error)
    }
    if status == .nameTaken { counters.namesRefused &+= 1 }
    publish(
      .registered(
        id, name: status == .nameGranted ? entry.name : nil, status: status,
        from: registry[slot].address))
  }

  /// The first packet never came.
  mutating func forgetUnconfirmed(_ slot: UInt32) {
    counters.unconfirmedForgotten &+= 1
    remove(slot, .silent)
  }

  var confirmationSeconds: UInt16 { UInt16(clamping: limits.confirmation.milliseconds / 1000) }
  var silenceSeconds: UInt16 {
    UInt16(clamping: limits.period.milliseconds / 1000 * Int64(limits.silentPeriods))
  }
  var keyLifeSeconds: UInt16 { UInt16(clamping: limits.keyLife.milliseconds / 1000) }

  // MARK: - Outside sessions

  mutating func answerCardRequest(_ bytes: Span<UInt8>, from source: SocketAddress, now: Instant) {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let request = try CardRequestPacket(parsing: &reader)
      guard mayAnswer(source, now: now) else { return }
      var answer: [UInt8] = []
      CardPacket(nonce: request.nonce, card: settings.card).write(to: &answer)
      counters.cardsSent &+= 1
      queue(answer, to: source)
    } catch {
      counters.foreign &+= 1
    }
  }

  /// A packet of a former life of this server gets a RESET, so that its sender comes back at once
  /// (docs/protocol/session.md §8).
  mutating func answerUnknown(
    _ connection: ConnectionID, byteCount: Int, from source: SocketAddress, now: Instant
  ) {
    guard byteCount > ResetPacket.byteCount, let boot = formerBoot(of: connection) else { return }
    guard mayReset(source, now: now) else { return }
    var answer: [UInt8] = []
    ResetPacket(
      answered: connection, token: resetToken(boot: boot, connection),
      padding: Bytes16(random: &random)
    ).write(to: &answer)
    counters.resetsSent &+= 1
    queue(answer, to: source)
  }

  /// Whoever is refused because there are too many in all keeps the right to the next try: else it
  /// could miss its turn again and again.
  private mutating func mayReset(_ source: SocketAddress, now: Instant) -> Bool {
    let rate = limits.resetsPerSource
    guard sources.withRecord(of: source, now: now, { $0.resets.allows(rate, now: now) }),
      resetMeter.take(limits.resets, now: now)
    else { return false }
    return sources.withRecord(of: source, now: now) { $0.resets.take(rate, now: now) }
  }

  /// The latest boot before this one whose connection IDs begin as this one does.
  private func formerBoot(of connection: ConnectionID) -> UInt64? {
    let present = settings.bootCounter
    let distance = (present &- UInt64(connection.rawValue >> 28)) & 15
    guard distance != 0, distance < present else { return nil }
    return present - distance
  }

  func resetToken(boot: UInt64, _ connection: ConnectionID) -> Bytes16 {
    var message: [UInt8] = []
    message.append(littleEndian: boot)
    connection.write(to: &message)
    var hash = BLAKE2b(byteCount: 16, key: settings.resetKey.span)
    hash.update(message.span)
    return hash.finalize16()
  }

  /// Whether a COOKIE or CARD may go to `source` now (docs/protocol/session.md §9).
  mutating func mayAnswer(_ source: SocketAddress, now: Instant) -> Bool {
    let rate = limits.answersPerSource
    return sources.withRecord(of: source, now: now) { $0.answers.take(rate, now: now) }
      && answerMeter.take(limits.answers, now: now)
  }

  mutating func queue(_ bytes: [UInt8], to destination: SocketAddress) {
    if !answers.append(Answer(bytes: bytes, destination: destination)) {
      counters.answersDropped &+= 1
    }
  }
}
