package import Primitives

/// A signed statement that a device static key belongs to an identity
/// (docs/protocol/README.md §4).
///
/// A value of this type is well formed. Whether to believe it is another question, which
/// `SecureSession` answers: the signature, the dates and the key are not checked here.
package struct ContactCard: Hashable, Sendable {
  package static let minimumByteCount = 126 + 1 + 2 + 1 + signatureByteCount
  package static let maximumByteCount =
    minimumByteCount + maximumHostByteCount
    + PeerName.maximumByteCount
  package static let maximumHostByteCount = 64
  package static let signatureByteCount = 64
  /// The longest time from "not before" to "not after", in seconds.
  package static let maximumLife: UInt64 = 60 * 86_400

  /// What a card says, before it is signed.
  package struct Content: Hashable, Sendable {
    package var id: PeerID
    /// X25519 public key S.
    package var staticKey: Bytes32
    /// Seconds since 1970 UTC.
    package var notBefore: UInt64
    /// Seconds since 1970 UTC.
    package var notAfter: UInt64
    /// A higher one replaces a lower one.
    package var serial: UInt64
    package var home: Home?
    package var name: PeerName?

    package init(
      id: PeerID, staticKey: Bytes32, notBefore: UInt64, notAfter: UInt64, serial: UInt64,
      home: Home? = nil, name: PeerName? = nil
    ) {
      self.id = id
      self.staticKey = staticKey
      self.notBefore = notBefore
      self.notAfter = notAfter
      self.serial = serial
      self.home = home
      self.name = name
    }
  }

  /// The rendezvous where the owner of a card is found.
  package struct Home: Hashable, Sendable {
    package var id: PeerID
    /// A host name or address of 1..64 bytes; longer ones are cut off by nobody: they make the
    /// card invalid.
    package var host: String
    package var port: UInt16

    package init(id: PeerID, host: String, port: UInt16) {
      self.id = id
      self.host = host
      self.port = port
    }
  }

  package let content: Content
  /// The whole card, signature included.
  package let bytes: [UInt8]

  package var id: PeerID { content.id }
  package var staticKey: Bytes32 { content.staticKey }

  /// How many bytes at the beginning are signed.
  package var signedByteCount: Int { bytes.count - Self.signatureByteCount }

  /// A card from its content and the signature over it.
  package init(content: Content, signature: [UInt8]) throws(WireError) {
    try self.init(parsing: content.encoded + signature)
  }

  package init(parsing bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw WireError(.tooLong, "card", at: Self.maximumByteCount)
    }
    var reader = ByteReader(bytes.span)
    content = try Content(parsing: &reader)
    _ = try reader.readRange(Self.signatureByteCount, "signature")
    try reader.expectEnd("card")
    self.bytes = bytes
  }
}

extension ContactCard.Content {
  private static let magic: UInt32 = 0x3143_4345  // "ECC1"
  private static let version: UInt8 = 1

  @_lifetime(reader: copy reader)
  fileprivate init(parsing reader: inout ByteReader) throws(WireError) {
    guard try reader.readUInt32("card magic") == Self.magic else { throw .invalid("magic", at: 0) }
    guard try reader.readUInt8("card version") == Self.version else {
      throw .invalid("card version", at: 4)
    }
    guard try reader.readUInt8("card flags") == 0 else { throw .invalid("card flags", at: 5) }
    id = try PeerID(parsing: &reader)
    staticKey = try Bytes32(parsing: &reader, "device static key")
    notBefore = try reader.readUInt64("not before")
    notAfter = try reader.readUInt64("not after")
    guard notAfter >= notBefore, notAfter - notBefore <= ContactCard.maximumLife else {
      throw .invalid("not after", at: 78)
    }
    serial = try reader.readUInt64("serial")
    home = try ContactCard.Home(parsing: &reader)
    let at = reader.offset
    let nameCount = Int(try reader.readUInt8("name length"))
    if nameCount > 0 {
      guard let name = PeerName(bytes: try reader.readBytes(nameCount, "name")) else {
        throw .invalid("name", at: at)
      }
      self.name = name
    }
  }

  /// The bytes of the card before its signature.
  package var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(ContactCard.maximumByteCount)
    bytes.append(littleEndian: Self.magic)
    bytes.append(Self.version)
    bytes.append(0)
    id.write(to: &bytes)
    bytes.append(staticKey)
    bytes.append(littleEndian: notBefore)
    bytes.append(littleEndian: notAfter)
    bytes.append(littleEndian: serial)
    if let home {
      home.id.write(to: &bytes)
      bytes.append(UInt8(clamping: home.host.utf8.count))
      bytes.append(contentsOf: home.host.utf8)
      bytes.append(littleEndian: home.port)
    } else {
      bytes.append(zeros: PeerID.byteCount + 3)
    }
    let name = name?.bytes ?? []
    bytes.append(UInt8(clamping: name.count))
    bytes.append(contentsOf: name)
    return bytes
  }
}

extension ContactCard.Home {
  /// `nil` when the three fields are all absent; one without the others is invalid, because a card
  /// has one encoding for one content.
  @_lifetime(reader: copy reader)
  fileprivate init?(parsing reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let id = try PeerID(parsing: &reader, "rendezvous ID")
    let hostCount = Int(try reader.readUInt8("host length"))
    guard hostCount <= ContactCard.maximumHostByteCount else {
      throw WireError(.tooLong, "host", at: at)
    }
    let host = try reader.readText(hostCount, "host")
    let port = try reader.readUInt16("port")
    if id == .zero && host.isEmpty && port == 0 { return nil }
    guard id != .zero, !host.isEmpty, port != 0 else { throw .invalid("rendezvous", at: at) }
    self.init(id: id, host: host, port: port)
  }
}
