import Primitives

/// TOKEN: a newer access token for the registration (docs/protocol/rendezvous.md §3):
///
///     length 2, token
package struct TokenRenewal: Hashable, Sendable {
  package var token: [UInt8]

  package init(token: [UInt8]) { self.token = token }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let length = Int(try reader.readUInt16("token length"))
    guard length <= InitPayload.maximumTokenByteCount else {
      throw WireError(.tooLong, "token", at: at)
    }
    token = try reader.readBytes(length, "token")
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(clamping: token.count))
    bytes.append(contentsOf: token)
  }
}

/// TOKEN_RESULT: what became of it (docs/protocol/rendezvous.md §3):
///
///     fault 1, life 4
package enum TokenResult: Hashable, Sendable {
  /// The registration lasts for so many ms more, as far as the token goes.
  case accepted(milliseconds: UInt32)
  case refused(TokenFault)
  /// Look-ups and tokens came too fast.
  case tooMany

  private static let tooManyCode: UInt8 = 255

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let code = try reader.readUInt8("token fault")
    let life = try reader.readUInt32("token life")
    guard code != 0 else {
      self = .accepted(milliseconds: life)
      return
    }
    guard life == 0 else { throw .invalid("token life", at: at + 1) }
    if code == Self.tooManyCode {
      self = .tooMany
    } else {
      guard let fault = TokenFault(rawValue: code) else { throw .invalid("token fault", at: at) }
      self = .refused(fault)
    }
  }

  func writeFields(to bytes: inout [UInt8]) {
    var life: UInt32 = 0
    switch self {
    case .accepted(let milliseconds):
      bytes.append(0)
      life = milliseconds
    case .refused(let fault): bytes.append(fault.rawValue)
    case .tooMany: bytes.append(Self.tooManyCode)
    }
    bytes.append(littleEndian: life)
  }
}

/// What a service of several nodes gives to the owner of a name, who keeps it and shows it again
/// (docs/protocol/cluster.md §10). Only the service knows what it says.
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
