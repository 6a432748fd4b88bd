import Primitives

/// What a service of several nodes gives to the owner of a name, who keeps it and shows it again
/// (docs/protocol/cluster.md §9). Only the service knows what it says.
package struct OpaqueReceipt: Hashable, Sendable {
  package let bytes: [UInt8]

  /// `nil` unless there are 1..64 bytes.
  package init?(_ bytes: [UInt8]) {
    guard (1...Self.maximumByteCount).contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  package static let maximumByteCount = 64
}

/// NAME_RECEIPT: that a name is the client's (docs/protocol/rendezvous.md §3):
///
///     length 1 + name, length 1 + receipt
package struct NameReceiptMessage: Hashable, Sendable {
  package var name: PeerName
  package var receipt: OpaqueReceipt

  package init(name: PeerName, receipt: OpaqueReceipt) {
    self.name = name
    self.receipt = receipt
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let nameLength = Int(try reader.readUInt8("name length"))
    guard let name = PeerName(bytes: try reader.readBytes(nameLength, "name")) else {
      throw .invalid("name", at: at)
    }
    self.name = name
    let length = Int(try reader.readUInt8("receipt length"))
    guard let receipt = OpaqueReceipt(try reader.readBytes(length, "receipt")) else {
      throw .invalid("receipt", at: at)
    }
    self.receipt = receipt
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(UInt8(clamping: name.bytes.count))
    bytes.append(contentsOf: name.bytes)
    bytes.append(UInt8(clamping: receipt.bytes.count))
    bytes.append(contentsOf: receipt.bytes)
  }
}
