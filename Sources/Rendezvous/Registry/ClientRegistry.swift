import Cryptography
import Primitives
import SecureSession
import Wire

/// The records, in chunks that are never moved, so that growing copies nothing.
struct ClientSlab {
  private static let chunkCount = 2048

  private var chunks: [[ClientRecord]] = []
  private var free: [UInt32] = []
  /// Slots that have ever been in use.
  private(set) var slotCount = 0

  subscript(slot: UInt32) -> ClientRecord {
    @inline(__always) _read {
      let index = Int(slot)
      yield chunks[index / Self.chunkCount][index % Self.chunkCount]
    }
    @inline(__always) _modify {
      let index = Int(slot)
      yield &chunks[index / Self.chunkCount][index % Self.chunkCount]
    }
  }

  mutating func insert(_ record: ClientRecord) -> UInt32 {
    if let slot = free.popLast() {
      self[slot] = record
      return slot
    }
    if slotCount == chunks.count * Self.chunkCount {
      var chunk: [ClientRecord] = []
      chunk.reserveCapacity(Self.chunkCount)
      chunks.append(chunk)
    }
    chunks[slotCount / Self.chunkCount].append(record)
    slotCount += 1
    return UInt32(slotCount - 1)
  }

  /// Wipes the keys and gives the slot back.
  mutating func remove(_ slot: UInt32) {
    self[slot].erase()
    free.append(slot)
  }
}

/// All clients, by slot number, by connection ID and, once confirmed, by identity.
///
/// An identity has a confirmed session for each of its programs, and any number of unconfirmed
/// ones, both within `ServerLimits`.
struct ClientRegistry {
  private var slab = ClientSlab()
  private var byConnection = SlotTable(.connection)
  private var byID: SlotTable
  private var sourceCounts: SourceCounts
  /// The names that sessions were granted; at most one a session.
  private var names: [UInt32: GrantedName] = [:]
  /// Whose those names are, while somebody asks.
  private var owners: [PeerName: PeerID]?
  /// Who may learn of a session, where not everybody may; nobody before AUDIENCE has come.
  private var audiences: [UInt32: Audience] = [:]
  /// All sessions, and those whose first DATA has come.
  private(set) var count = 0
  private(set) var confirmedCount = 0

  init(hash: KeyedHash) {
    byID = SlotTable(.id(hash))
    sourceCounts = SourceCounts(hash: hash)
  }

  /// Slots that have ever been in use: the range for sweeps.
  var slotLimit: Int { slab.slotCount }

  subscript(slot: UInt32) -> ClientRecord {
    @inline(__always) _read { yield slab[slot] }
    @inline(__always) _modify { yield &slab[slot] }
  }

  // MARK: Finding

  @inline(__always)
  func find(_ connection: ConnectionID) -> UInt32? { byConnection.find(connection, in: slab) }

  /// A confirmed session of an identity, if there is one.
  func find(_ id: PeerID) -> UInt32? { byID.find(id, in: slab) }

  /// The confirmed sessions of an identity, one a program, in the order of their slots.
  func all(of id: PeerID) -> [UInt32] { byID.findAll(id, in: slab).sorted() }

  /// The confirmed session of one program of an identity.
  func find(_ id: PeerID, _ presence: PresenceID) -> UInt32? {
    all(of: id).first { slab[$0].presence.id == presence }
  }

  /// Whether a session is at the host of `source`.
  func isAt(_ source: SocketAddress, _ slot: UInt32) -> Bool {
    slab[slot].address.limitPrefix == source.limitPrefix
  }

  /// The same, as far as `asker` may learn of them. What is computed does not depend on whether
  /// there are any.
  func all(of id: PeerID, for asker: PeerID) -> [UInt32] {
    let mark = AudienceMark(of: asker, for: id)
    return all(of: id).filter { audiences[$0]?.contains(mark) ?? true || asker == id }
  }

  /// Whether there is a program of the identity that an invitation of `asker` would reach.
  func isCallable(_ id: PeerID, by asker: PeerID) -> Bool {
    let mark = AudienceMark(of: asker, for: id)
    return byID.contains(id, in: slab) { slot in
      slab[slot].presence.kind.isInvited
        && (audiences[slot]?.contains(mark) ?? true || asker == id)
    }
  }

  /// Whether only its audience may learn of a session.
  func hasAudience(_ slot: UInt32) -> Bool { audiences[slot] != nil }

  /// Who may learn of a session; `nil` = everybody.
  func audience(of slot: UInt32) -> Audience? { audiences[slot] }

  /// The name that a session asked for and was granted.
  func name(of slot: UInt32) -> PeerName? { names[slot]?.name }

  /// Since when it is its owner's, where that is known.
  func rank(of slot: UInt32) -> NameRank? { names[slot]?.rank }

  /// All sessions that were granted a name, in the order of their slots: looks at all sessions.
  func slots(named name: PeerName) -> [UInt32] {
    names.filter { $0.value.name == name }.keys.sorted()
  }

  /// Who has a session here that was granted a name. The first call after `forgetOwners` looks at
  /// all sessions.
  mutating func owner(of name: PeerName) -> PeerID? {
    let known = owners ?? ownersOfNames
    owners = known
    guard let id = known[name], all(of: id).contains(where: { self.name(of: $0) == name }) else {
      return nil
    }
    return id
  }

  /// What `owner` has looked up is of no more use: memory that a node without Redis needs alone.
  mutating func forgetOwners() { owners = nil }

  private var ownersOfNames: [PeerName: PeerID] {
    var all: [PeerName: PeerID] = [:]
    for slot in names.keys.sorted() {
      if let name = name(of: slot) { all[name] = slab[slot].id }
    }
    return all
  }

  func isUsed(_ slot: UInt32) -> Bool { slab[slot].flags.contains(.isUsed) }

  func sessionCount(of source: SocketAddress) -> Int { sourceCounts.count(of: source.limitPrefix) }

  // MARK: Changing

  /// Takes a new, unconfirmed session in; its connection ID must not be in use.
  mutating func insert(_ record: ClientRecord) -> UInt32 {
    let slot = slab.insert(record)
    byConnection.insert(slot, in: slab)
    sourceCounts.add(record.address.limitPrefix)
    count += 1
    return slot
  }

  /// Makes the session the one of its program; there must be no other confirmed one.
  mutating func confirm(_ slot: UInt32) {
    slab[slot].flags.insert(.isConfirmed)
    confirmedCount += 1
    byID.insert(slot, in: slab)
  }

  mutating func setAudience(_ audience: Audience, of slot: UInt32) { audiences[slot] = audience }

  /// - Throws: Where everybody may learn of the session.
  mutating func replaceAudience(_ audience: Audience, of slot: UInt32) throws(WireError) {
    guard hasAudience(slot) else { throw .invalid("audience of what all may see", at: 0) }
    audiences[slot] = audience
  }

  mutating func setName(_ name: PeerName, of slot: UInt32, awaitsReceipt: Bool = false) {
    names[slot] = GrantedName(name: name, awaitsReceipt: awaitsReceipt)
    owners?[name] = slab[slot].id
  }

  /// The store has not written down that a session has its name.
  mutating func removeName(of slot: UInt32) { names[slot] = nil }

  /// The store has told since when a name is its owner's.
  ///
  /// - Returns: Whether the client is to be given a receipt; says so once.
  mutating func setRank(_ rank: NameRank?, of slot: UInt32) -> Bool {
    defer { names[slot]?.awaitsReceipt = false }
    names[slot]?.rank = rank
    return names[slot]?.awaitsReceipt ?? false
  }

  mutating func remove(_ slot: UInt32) {
    names[slot] = nil
    audiences[slot] = nil
    byConnection.remove(slot, in: slab)
    if slab[slot].isConfirmed {
      byID.remove(slot, in: slab)
      confirmedCount -= 1
    }
    sourceCounts.remove(slab[slot].address.limitPrefix)
    slab.remove(slot)
    count -= 1
  }

  /// The client has proven another address.
  mutating func move(_ slot: UInt32, to path: DatagramPath) {
    sourceCounts.remove(slab[slot].address.limitPrefix)
    sourceCounts.add(path.remote.limitPrefix)
    slab[slot].path = path
    slab[slot].flags.insert(.isHeard)
  }

  /// Seals a packet and gives its number, which is used up whatever happens to the packet.
  @_lifetime(packet: copy packet)
  mutating func seal(_ packet: inout OutputSpan<UInt8>, for slot: UInt32) -> UInt32? {
    let number = slab[slot].sendNumber
    slab[slot].sendNumber = number &+ 1
    do throws(CryptographyError) {
      try slab[slot].sendKeys.seal(
        &packet, connectionID: slab[slot].remote.rawValue, number: number)
      return number
    } catch {
      packet.removeAll()
      return nil
    }
  }
}

/// A name that a session was granted.
private struct GrantedName {
  let name: PeerName
  var rank: NameRank?
  /// The client understands NAME_RECEIPT, and this session has not had it.
  var awaitsReceipt: Bool
}
