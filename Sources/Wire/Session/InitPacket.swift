package import Primitives

/// INIT, 0xC1 (docs/protocol/session.md §2):
///
///     0 type, version, suite, purpose   8 Noise message 1 (1160)   1184 MAC2 (16)
///     4 initiator's connection ID     1168 MAC1 (16)
package struct InitPacket: Equatable, Sendable {
  package static let byteCount = 1200
  package static let noiseRange = 8..<1168
  package static let mac1Range = 1168..<1184
  package static let mac2Range = 1184..<1200
  /// What MAC1 covers, and MAC2.
  package static let mac1Coverage = 0..<1168
  package static let mac2Coverage = 0..<1184

  package var version: UInt8
  package var suite: UInt8
  /// Not yet checked against `HandshakePurpose`: another version may have others.
  package var purpose: UInt8
  package var connectionID: ConnectionID
  package var mac1: Bytes16
  package var mac2: Bytes16

  /// Everything but the Noise message, which stays where it is, at `noiseRange`.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(
      parsing: &reader, type: .initiation, byteCount: Self.byteCount)
    version = preamble.version
    suite = preamble.suite
    purpose = preamble.purpose
    connectionID = try ConnectionID(parsing: &reader, "initiator's connection ID")
    guard connectionID != .none else { throw .invalid("initiator's connection ID", at: 4) }
    _ = try reader.readRange(Self.noiseRange.count, "Noise message 1")
    mac1 = try Bytes16(parsing: &reader, "MAC1")
    mac2 = try Bytes16(parsing: &reader, "MAC2")
  }

  /// Everything before MAC1; the caller appends MAC1 and MAC2.
  package static func unauthenticated(
    purpose: HandshakePurpose, connectionID: ConnectionID, noiseMessage: [UInt8]
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    PacketPreamble(purpose: purpose.rawValue).write(to: &bytes, type: .initiation)
    connectionID.write(to: &bytes)
    bytes.append(contentsOf: noiseMessage)
    return bytes
  }

  /// Version, MAC1 and the place of the connection ID are the same in all versions (§4).
  package var isOurVersion: Bool {
    version == SessionWire.version && suite == SessionWire.suite
  }
}

/// What an INIT says under seal (docs/protocol/session.md §2), always 1064 bytes.
package struct InitPayload: Sendable {
  package static let byteCount = 1064
  package static let maximumTokenByteCount = 512

  package var time: TAI64N
  package var card: ContactCard
  /// The name that the initiator wants to be found under.
  package var name: PeerName?
  package var token: [UInt8]?
  /// Which program of the identity it is.
  package var presence: Presence
  /// What it understands beyond what every client does.
  package var abilities: ClientAbilities
  /// What it was given for the name by a service of several nodes.
  package var receipt: OpaqueReceipt?
  /// Of more hosts who speak at once it wants as many of the loudest, 1...64, as a member of a
  /// channel; 0 = as many as the relay thinks good.
  package var loudest: UInt8

  package init(
    time: TAI64N, card: ContactCard, name: PeerName? = nil, token: [UInt8]? = nil,
    presence: Presence = .unnamed, abilities: ClientAbilities = [],
    receipt: OpaqueReceipt? = nil, loudest: UInt8 = 0
  ) {
    self.time = time
    self.card = card
    self.name = name
    self.token = token
    self.presence = presence
    self.abilities = abilities
    self.receipt = receipt
    self.loudest = loudest
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    guard reader.remaining == Self.byteCount else { throw .invalid("payload length", at: 0) }
    time = try TAI64N(parsing: &reader)
    let start = reader.offset
    let list = try TLVList(parsing: &reader)
    guard let cardBytes = list[.card] else { throw .invalid("card", at: start) }
    card = try ContactCard(parsing: cardBytes)
    if let bytes = list[.name] {
      guard let name = PeerName(bytes: bytes) else { throw .invalid("name", at: start) }
      self.name = name
    }
    token = list[.token]
    guard (token?.count ?? 0) <= Self.maximumTokenByteCount else {
      throw WireError(.tooLong, "token", at: start)
    }
    presence = .unnamed
    if let bytes = list[.presence] { presence = try Presence(bytes) }
    abilities = []
    if let bytes = list[.abilities] {
      guard bytes.count == 1 else { throw .invalid("abilities", at: start) }
      abilities = ClientAbilities(rawValue: bytes[0])
    }
    receipt = nil
    if let bytes = list[.receipt] {
      guard let receipt = OpaqueReceipt(bytes) else { throw .invalid("receipt", at: start) }
      self.receipt = receipt
    }
    loudest = 0
    if let bytes = list[.loudest] {
      guard bytes.count == 1, (1...ChannelAudioFrame.highestSource).contains(bytes[0]) else {
        throw .invalid("loudest", at: start)
      }
      loudest = bytes[0]
    }
  }

  /// Padded with zeros to `byteCount`, which the limits of the fields never exceed.
  package func write(to bytes: inout [UInt8]) {
    let start = bytes.count
    time.write(to: &bytes)
    var list = TLVList()
    list.append(.card, card.bytes)
    if let name { list.append(.name, name.bytes) }
    if let token { list.append(.token, token) }
    if presence != .unnamed { list.append(.presence, presence.bytes) }
    if !abilities.isEmpty { list.append(.abilities, [abilities.rawValue]) }
    if let receipt { list.append(.receipt, receipt.bytes) }
    if loudest > 0 { list.append(.loudest, [loudest]) }
    list.write(to: &bytes)
    bytes.append(zeros: max(0, start + Self.byteCount - bytes.count))
  }
}

/// TLV abilities of INIT: what a client understands that others may not. Unknown bits are ignored.
package struct ClientAbilities: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// FORWARDED may have the sender's name (docs/protocol/rendezvous.md §3).
  package static let senderNames = ClientAbilities(rawValue: 1)
  /// RELAYS may come (docs/protocol/rendezvous.md §3).
  package static let relays = ClientAbilities(rawValue: 2)
  /// Nobody but its AUDIENCE may learn that it is online (docs/protocol/rendezvous.md §6).
  package static let audience = ClientAbilities(rawValue: 4)
  /// RESP may say that there are relays for pairs (docs/protocol/relay.md §6).
  package static let pairs = ClientAbilities(rawValue: 8)
  /// CHANNEL_DATA may come, of a relay (docs/protocol/relay.md §3).
  package static let channelData = ClientAbilities(rawValue: 16)
  /// NAME_RECEIPT may come (docs/protocol/rendezvous.md §3).
  package static let receipts = ClientAbilities(rawValue: 32)
  /// CHANNEL_UNSENT may come, of a relay (docs/protocol/relay.md §4).
  package static let unsentCounts = ClientAbilities(rawValue: 64)
}

/// A moment as a label that sorts by time: TAI64N, big-endian
/// (<https://cr.yp.to/libtai/tai64.html>). As WireGuard does, the 10 s of 1970 are added and later
/// leap seconds ignored: only the order counts.
package struct TAI64N: Comparable, Hashable, Sendable, BitwiseCopyable {
  package static let zero = TAI64N(seconds: 0, nanoseconds: 0)
  private static let epoch: UInt64 = 0x4000_0000_0000_000A

  private var seconds: UInt64
  private var nanoseconds: UInt32

  private init(seconds: UInt64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package init(unixMilliseconds: UInt64) {
    seconds = Self.epoch &+ unixMilliseconds / 1000
    nanoseconds = UInt32(unixMilliseconds % 1000) * 1_000_000
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    seconds = try reader.readUInt64("TAI64N").byteSwapped
    let at = reader.offset
    nanoseconds = try reader.readUInt32("TAI64N nanoseconds").byteSwapped
    guard nanoseconds < 1_000_000_000 else { throw .invalid("TAI64N nanoseconds", at: at) }
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: seconds.byteSwapped)
    bytes.append(littleEndian: nanoseconds.byteSwapped)
  }

  /// The next label after this one.
  package var successor: TAI64N {
    nanoseconds < 999_999_999
      ? TAI64N(seconds: seconds, nanoseconds: nanoseconds + 1)
      : TAI64N(seconds: seconds &+ 1, nanoseconds: 0)
  }

  package static func < (left: TAI64N, right: TAI64N) -> Bool {
    left.seconds == right.seconds
      ? left.nanoseconds < right.nanoseconds : left.seconds < right.seconds
  }
}
