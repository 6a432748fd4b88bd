package import Primitives
import SecureSession
package import Wire

/// A program that has its session at another node (docs/protocol/cluster.md §3).
///
///     node 8 · serial 8 · kind 1 · kind of audience 1 (0 all, 1 these) · count × mark 8, ascending
///
/// Whose it is stands in the place where it is kept. It expires with its node.
package struct RemotePresence: Equatable, Sendable {
  package var record: PresenceRecord
  /// Who may learn of it; `nil` = everybody.
  package var audience: Audience?
  /// Its node was heard of in the last seconds.
  package var isSure = true

  package init(_ record: PresenceRecord, audience: Audience?) {
    self.record = record
    self.audience = audience
  }

  /// - Parameter program: The presence of `identity` under whose place the bytes were kept.
  package init(
    parsing bytes: Span<UInt8>, identity: PeerID, program: PresenceID
  ) throws(WireError) {
    var reader = ByteReader(bytes)
    let node = try reader.readUInt64("node")
    let serial = try reader.readUInt64("serial")
    guard let kind = PresenceKind(rawValue: try reader.readUInt8("kind")) else {
      throw .invalid("kind", at: reader.offset - 1)
    }
    record = PresenceRecord(
      identity: identity, presence: Presence(program, kind), node: node,
      expiryMilliseconds: .max, serial: serial)
    let at = reader.offset
    switch try reader.readUInt8("kind of audience") {
    case 0: audience = nil
    case 1:
      var marks: [AudienceMark] = []
      while !reader.isAtEnd {
        marks.append(AudienceMark(rawValue: try reader.readUInt64("mark")))
      }
      audience = Audience(marks)
      guard audience?.marks == marks else { throw .invalid("marks", at: at) }
    default: throw .invalid("kind of audience", at: at)
    }
    try reader.expectEnd("remote presence")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: record.node)
    bytes.append(littleEndian: record.serial)
    bytes.append(record.presence.kind.rawValue)
    bytes.append(audience == nil ? 0 : 1)
    for mark in audience?.marks ?? [] { bytes.append(littleEndian: mark.rawValue) }
    return bytes
  }

  /// Whether `asker` may learn of it.
  func isVisible(to asker: PeerID) -> Bool {
    audience?.contains(AudienceMark(of: asker, for: record.identity)) ?? true
      || asker == record.identity
  }
}

/// What a registration must know before RESP, and until its first packet.
struct RegistrationFacts {
  var card: [UInt8]?
  var serial: UInt64?
  var verdicts: [PeerName: NameVerdict] = [:]
  /// A name was asked about that is not given to anybody at the moment.
  var isUndecided = false
  /// What the name is given by, where one was asked for.
  var asked: AskedName?

  /// serial, or none · card, or none · verdict on the name asked for · on the name claimed
  /// · when the former was freed, sealed, or none · the clock of Redis in s
  init?(
    _ reply: SharedReply, of id: PeerID, asked: PeerName?, claimed: PeerName?,
    receipt: NameReceipt?, _ keys: borrowing ClusterKeys
  ) {
    guard let list = reply.list, list.count == 6, let clock = list[5].number else { return nil }
    if let bytes = list[0].bytes {
      guard bytes.count == 8 else { return nil }
      serial = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
    if let sealed = list[1].bytes {
      guard let plain = keys.open(sealed, at: keys.hash(.identity, id.bytes)) else { return nil }
      card = plain
    }
    for (name, verdict) in [(asked, list[2]), (claimed, list[3])] {
      guard let name else { continue }
      guard verdict.number != Self.frozen else {
        isUndecided = true
        continue
      }
      guard let verdict = NameVerdict(verdict) else { return nil }
      verdicts[name] = verdict
    }
    guard let asked else { return }
    let freed = list[4].bytes.flatMap { keys.timeOfFreeing(asked, $0) }
    let isVoid = receipt.map { $0.issued <= freed ?? 0 } ?? true
    self.asked = AskedName(
      name: asked, receipt: isVoid ? nil : receipt, freed: freed, clock: UInt64(clamping: clock))
  }

  /// Nobody's as far as Redis knows, which may have lost whose it was.
  private static let frozen: Int64 = 4
}

extension NameVerdict {
  fileprivate init?(_ reply: SharedReply) {
    switch reply.number {
    case 0: self = .owned
    case 1: self = .granted
    case 2: self = .taken
    case 3: self = .tooMany
    case 5: self = .regained
    default: return nil
    }
  }
}

/// What was found of one who was looked for.
struct FoundPrograms {
  /// What was looked for; `nil` where nothing is known.
  private(set) var target: LookUp.Target?
  private(set) var owner: PeerID?
  private(set) var card: [UInt8]?
  private(set) var programs: [RemotePresence] = []
  /// No node is silent that may have more of its programs, and nothing was lost.
  private(set) var isWhole = false

  var isKnown: Bool { target != nil }

  init() {}

  /// owner, or none · card, or none · programs: state (1 sure, 2 not, 3 its client is to register
  /// anew) · presence ID · record · 0 that is all, or more than 0
  ///
  /// - Parameter node: Knows its own programs by itself, but for those that it has sent away.
  init(
    _ reply: SharedReply, _ target: LookUp.Target, notAt node: UInt64,
    _ keys: borrowing ClusterKeys
  ) {
    guard let list = reply.list, list.count == 4 else { return }
    isWhole = list[3].number == 0
    switch target {
    case .id(let id): owner = id
    case .name(let name):
      guard let sealed = list[0].bytes else { break }
      let place = keys.hash(.name, name.bytes)
      guard let id = keys.open(sealed, at: place).flatMap({ PeerID($0) }) else { return }
      owner = id
    }
    self.target = target
    guard let owner else { return }
    let hash = keys.hash(.identity, owner.bytes)
    if let sealed = list[1].bytes { card = keys.open(sealed, at: hash) }
    for entry in list[2].list ?? [] {
      guard let parts = entry.list, parts.count == 3, let state = parts[0].number,
        let program = parts[1].bytes, let sealed = parts[2].bytes,
        let plain = keys.open(sealed, at: hash + program),
        let presence = RemotePresence(plain, of: owner, program, isSure: state == 1),
        presence.record.node != node || state == 3,
        programs.count < NodeMessage.programLimit
      else { continue }
      programs.append(presence)
    }
  }
}

extension RemotePresence {
  fileprivate init?(_ plain: [UInt8], of identity: PeerID, _ program: [UInt8], isSure: Bool) {
    guard program.count == 8 else { return nil }
    let id = PresenceID(rawValue: program.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    do throws(WireError) {
      try self.init(parsing: plain.span, identity: identity, program: id)
    } catch {
      return nil
    }
    self.isSure = isSure
  }
}
