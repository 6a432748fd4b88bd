package import Cryptography
package import Primitives
package import Wire

/// An established, sealed association with one other party (docs/protocol/session.md §5-§7).
///
///     previous ◀─── current ◀─── next
///     opens 5 s     seals         waits for the first packet under it
///
/// Numbers on the wire are 32 bits and per epoch; *transport numbers*, epoch × 2^32 + packet
/// number, never repeat in the life of a session.
///
/// Stations 8 and 14 of the house tour; next are `PacketStream` and `CallLink+Inbound.swift`.
package struct Session: ~Copyable {
  private let place = InPlace()
  var current: Epoch
  var previous: Epoch?
  var next: Epoch?
  /// Of our unanswered REKEY_1.
  var pendingHandshake: HandshakeState?
  /// The connection ID in it; `.none` when there is none.
  var pendingConnectionID = ConnectionID.none
  /// The REKEY_1 that was tried last.
  var triedRequest: TriedRequest?
  let parties: Parties
  private(set) var limits: SessionLimits
  var deadlines = Deadlines<Timer>()
  var nextConnectionID = ConnectionID.none
  var previousConnectionID = ConnectionID.none
  private var highestReceived: UInt64?
  /// Packets that did not open.
  package private(set) var failureCount: UInt64 = 0
  /// Packets that had come before, or are too old to know.
  package private(set) var replayCount: UInt64 = 0
  package private(set) var isClosed = false

  /// Of two that are due at once the first named comes first: a rekey waits for the erasure.
  enum Timer: CaseIterable { case erasePrevious, rekey, hardStop }

  /// Who the two are. Both static keys are those of the first handshake: a rekey proves them again.
  package struct Parties: ~Copyable {
    let localID: PeerID
    let remoteID: PeerID
    let localStatic: X25519.KeyPair
    let remoteStatic: Bytes32
    /// The role in the first handshake, which decides who renews the keys.
    let role: HandshakeState.Role

    package init(
      localID: PeerID, remoteID: PeerID, localStatic: consuming X25519.KeyPair,
      remoteStatic: Bytes32, role: HandshakeState.Role
    ) {
      self.localID = localID
      self.remoteID = remoteID
      self.localStatic = localStatic
      self.remoteStatic = remoteStatic
      self.role = role
    }
  }

  package init(
    _ keys: consuming SessionKeys, local: ConnectionID, remote: ConnectionID,
    parties: consuming Parties, limits: SessionLimits = .peer, now: Instant,
    random: inout RandomSource
  ) {
    current = Epoch(
      keys, local: local, remote: remote, number: 0, endsAt: now + limits.hardStop)
    self.parties = parties
    self.limits = limits
    scheduleRekey(now: now, random: &random)
    deadlines.set(.hardStop, at: current.endsAt)
  }

  /// The keys of a session whose other side may be away for so long hold that much longer: without
  /// it nobody can renew them. Said once, at the beginning.
  package mutating func allowAbsence(_ absence: Duration) {
    limits.hardStop += absence
    current.endsAt = current.endsAt + absence
    deadlines.set(.hardStop, at: current.endsAt)
  }

  // MARK: - Packets

  /// Seals `packet`, which `beginPacket` has begun and frames have been appended to, and returns
  /// its transport number. The number is used up also when the datagram is never sent.
  @_lifetime(packet: copy packet)
  package mutating func seal(
    _ packet: inout OutputSpan<UInt8>, now: Instant
  ) throws(SessionError) -> UInt64 {
    guard !isClosed, !current.isSpent(now: now) else { throw .closed }
    let number = try current.stream.seal(&packet, through: limits.lastNumber)
    if number == limits.rekeyNumber, limits.rekeys { deadlines.set(.rekey, at: now) }
    return current.transportNumber(number)
  }

  /// Room for the header, which `seal` fills in.
  @_lifetime(packet: copy packet)
  package static func beginPacket(_ packet: inout OutputSpan<UInt8>) {
    packet.append(repeating: 0, count: SealedPacket.headerByteCount)
  }

  /// Opens a DATA packet in place. A packet that fails changes nothing but the counts of such.
  @_lifetime(bytes: copy bytes)
  package mutating func open(
    _ bytes: inout MutableSpan<UInt8>, now: Instant
  ) throws(SessionError) -> OpenedPacket {
    guard !isClosed else { throw .closed }
    let id = SealedPacket.connectionID(of: bytes.span)
    if id == current.stream.local {
      guard !current.isSpent(now: now) else { throw .closed }
      return try openCurrent(&bytes)
    }
    if id == nextConnectionID { return try openNext(&bytes, now: now) }
    guard id == previousConnectionID, let eraseAt = deadlines[.erasePrevious], now < eraseAt else {
      throw .unknownConnection
    }
    return try openPrevious(&bytes)
  }

  @_lifetime(bytes: copy bytes)
  private mutating func openCurrent(
    _ bytes: inout MutableSpan<UInt8>
  ) throws(SessionError) -> OpenedPacket {
    do throws(SessionError) {
      let opened = try current.stream.open(&bytes)
      return record(current.transportNumber(opened.number), frames: opened.frames)
    } catch {
      throw count(error)
    }
  }

  @_lifetime(bytes: copy bytes)
  private mutating func openPrevious(
    _ bytes: inout MutableSpan<UInt8>
  ) throws(SessionError) -> OpenedPacket {
    do throws(SessionError) {
      guard let opened = try previous?.stream.open(&bytes) else { throw .unknownConnection }
      return record(current.transportNumber(opened.number) - 1 << 32, frames: opened.frames)
    } catch {
      throw count(error)
    }
  }

  /// The first packet under *next* makes it *current* (docs/protocol/session.md §7).
  @_lifetime(bytes: copy bytes)
  private mutating func openNext(
    _ bytes: inout MutableSpan<UInt8>, now: Instant
  ) throws(SessionError) -> OpenedPacket {
    do throws(SessionError) {
      guard let opened = try next?.stream.open(&bytes) else { throw .unknownConnection }
      promoteNext(now: now)
      return record(
        current.transportNumber(opened.number), frames: opened.frames, switchedEpoch: true)
    } catch {
      throw count(error)
    }
  }

  private mutating func record(
    _ number: UInt64, frames: Range<Int>, switchedEpoch: Bool = false
  ) -> OpenedPacket {
    let isHighestYet = highestReceived.map { number > $0 } ?? true
    if isHighestYet { highestReceived = number }
    return OpenedPacket(
      number: number, frames: frames, isHighestYet: isHighestYet, switchedEpoch: switchedEpoch)
  }

  /// Counts a packet that did not open; after 2^36 the session closes (docs/protocol/session.md
  /// §6).
  private mutating func count(_ error: SessionError) -> SessionError {
    if error == .replayed { replayCount += 1 }
    guard error == .notAuthentic else { return error }
    failureCount += 1
    if failureCount >= limits.maximumFailures { close() }
    return error
  }

  /// Erases every key. Nothing opens or is sealed any more.
  package mutating func close() {
    isClosed = true
    previous = nil
    previousConnectionID = .none
    next = nil
    nextConnectionID = .none
    pendingHandshake = nil
    pendingConnectionID = .none
    current.stream.erase()
    current.exporter.erase()
    deadlines.cancelAll()
  }

  // MARK: - What the owner asks

  /// The connection IDs that packets for this session carry: 1 to 3 of them, the current first.
  package var localConnectionIDs: [ConnectionID] {
    [current.stream.local, nextConnectionID, previousConnectionID].filter { $0 != .none }
  }

  /// Whether packets for this session may carry `id`; allocates nothing.
  package func owns(_ id: ConnectionID) -> Bool {
    id != .none
      && (id == current.stream.local || id == nextConnectionID || id == previousConnectionID)
  }

  /// Counts the rekeys, from 0.
  package var epoch: UInt32 { current.number }

  package var remoteConnectionID: ConnectionID { current.stream.remote }

  /// The one that comes after it once the peer uses the next keys; `.none` = there are none.
  package var nextRemoteConnectionID: ConnectionID {
    switch next {
    case .some(let epoch): epoch.stream.remote
    case .none: .none
    }
  }

  package var remoteID: PeerID { parties.remoteID }

  package var nextDeadline: Instant? { deadlines.next }

  /// A key for another use; the same at both ends while they are in the same epoch.
  package borrowing func export(_ label: ExporterLabel) -> SecretKey {
    current.exporter.export(label)
  }
}

/// One set of keys of a session (docs/protocol/session.md §7).
struct Epoch: ~Copyable {
  let number: UInt32
  var exporter: SessionKeys.Exporter
  var stream: PacketStream
  /// No key is used from here on. Kept, because adding a `Duration` costs 10 ns.
  fileprivate(set) var endsAt: Instant

  init(
    _ keys: consuming SessionKeys, local: ConnectionID, remote: ConnectionID, number: UInt32,
    endsAt: Instant
  ) {
    self.number = number
    exporter = keys.exporter
    stream = PacketStream(
      send: keys.send, receive: keys.receive, local: local, remote: remote)
    self.endsAt = endsAt
  }

  /// Whether the keys must not be used any more.
  func isSpent(now: Instant) -> Bool { now >= endsAt }

  func transportNumber(_ packetNumber: UInt64) -> UInt64 { UInt64(number) << 32 | packetNumber }
}
