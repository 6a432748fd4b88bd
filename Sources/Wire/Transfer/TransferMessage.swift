package import Primitives

/// What the two sides of a transfer say to each other (docs/protocol/transfer.md).
package enum TransferMessage: Equatable, Sendable {
  case offer(TransferOffer)
  /// The sender is to begin there.
  case go(offset: UInt64)
  /// The next bytes of the content; never empty.
  case data([UInt8])
  case result(TransferResult)

  /// Content in one DATA: a message of 59 fragments of full length.
  package static let contentByteCount = 64_899

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    switch try reader.readUInt8("transfer type") {
    case TypeCode.offer: self = .offer(try TransferOffer(parsing: &reader))
    case TypeCode.go: self = .go(offset: try reader.readUInt64("offset"))
    case TypeCode.data:
      let content = reader.readRest()
      guard !content.isEmpty, content.count < 65_536 else { throw .invalid("content", at: 1) }
      self = .data(content)
    case TypeCode.result:
      guard let result = TransferResult(rawValue: try reader.readUInt8("result")) else {
        throw .invalid("result", at: 1)
      }
      self = .result(result)
    default: throw .invalid("transfer type", at: 0)
    }
    try reader.expectEnd("transfer")
  }

  package var bytes: [UInt8] {
    switch self {
    case .offer(let offer): return [TypeCode.offer] + offer.bytes
    case .go(let offset):
      var bytes = [TypeCode.go]
      bytes.append(littleEndian: offset)
      return bytes
    case .data(let content): return [TypeCode.data] + content
    case .result(let result): return [TypeCode.result, result.rawValue]
    }
  }

  private enum TypeCode {
    static let offer: UInt8 = 1
    static let go: UInt8 = 2
    static let data: UInt8 = 3
    static let result: UInt8 = 4
  }
}

/// What a sender has to give.
package struct TransferOffer: Equatable, Sendable {
  package enum Kind: UInt8, Sendable {
    case file = 0
    case text = 1
  }

  package var kind: Kind
  /// Of the content.
  package var byteCount: UInt64
  /// BLAKE2b-256 of the content.
  package var hash: [UInt8]
  /// As the sender says it; nobody may use it unfiltered.
  package var name: String

  package static let hashByteCount = 32
  /// In UTF-8.
  package static let longestName = 1024

  /// - Parameters:
  ///   - hash: 32 bytes.
  ///   - name: Cut to 1024 bytes, at a letter.
  package init(_ kind: Kind, byteCount: UInt64, hash: [UInt8], name: String) {
    precondition(hash.count == Self.hashByteCount)
    self.kind = kind
    self.byteCount = byteCount
    self.hash = hash
    var name = name
    while name.utf8.count > Self.longestName { name.removeLast() }
    self.name = name
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    guard try reader.readUInt8("version") == Self.version else { throw .invalid("version", at: 1) }
    guard let kind = Kind(rawValue: try reader.readUInt8("kind")) else {
      throw .invalid("kind", at: start)
    }
    self.kind = kind
    byteCount = try reader.readUInt64("length")
    hash = try reader.readBytes(Self.hashByteCount, "hash")
    let length = Int(try reader.readUInt16("length of the name"))
    guard length <= Self.longestName else { throw .invalid("length of the name", at: start) }
    name = try reader.readText(length, "name")
  }

  fileprivate var bytes: [UInt8] {
    var bytes = [Self.version, kind.rawValue]
    bytes.append(littleEndian: byteCount)
    bytes += hash
    bytes.append(littleEndian: UInt16(clamping: name.utf8.count))
    return bytes + Array(name.utf8)
  }

  private static let version: UInt8 = 1
}

/// What became of a transfer.
package enum TransferResult: UInt8, CaseIterable, Sendable {
  case stored = 0
  case unwanted = 1
  case tooLong = 2
  case nameTaken = 3
  case notWritable = 4
  case damaged = 5
  case alreadyComing = 6
  case outOfOrder = 7
}
