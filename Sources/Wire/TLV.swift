package import Primitives

/// One element of a TLV list (docs/protocol/README.md §2).
package enum TLVType: UInt8, Sendable {
  case end = 0
  case card = 1
  case name = 2
  case token = 3
  case candidates = 4
  case userExtension = 5
  case media = 6
  case reasonText = 7
  case presence = 8
  case abilities = 9
  case rejoin = 10
  case receipt = 11
  case loudest = 12
}

/// A list of TLVs, read once: at most one value of each type that we know; others are skipped.
package struct TLVList: Sendable {
  private var values: [(type: TLVType, bytes: [UInt8])] = []

  package init() {}

  /// Reads until the end marker or the end of the bytes; what follows the marker must be zero.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    while !reader.isAtEnd {
      let start = reader.offset
      let code = try reader.readUInt8("TLV type")
      if code == TLVType.end.rawValue {
        while !reader.isAtEnd {
          let at = reader.offset
          guard try reader.readUInt8("TLV padding") == 0 else {
            throw .invalid("TLV padding", at: at)
          }
        }
        return
      }
      let length = Int(try reader.readUInt16("TLV length"))
      guard let type = TLVType(rawValue: code) else {
        _ = try reader.readRange(length, "unknown TLV")
        continue
      }
      guard self[type] == nil else { throw .invalid("TLV that appears twice", at: start) }
      values.append((type, try reader.readBytes(length, "TLV value")))
    }
  }

  package subscript(type: TLVType) -> [UInt8]? { values.first { $0.type == type }?.bytes }

  package mutating func append(_ type: TLVType, _ bytes: [UInt8]) { values.append((type, bytes)) }

  package func write(to bytes: inout [UInt8]) {
    for value in values {
      bytes.append(value.type.rawValue)
      bytes.append(littleEndian: UInt16(clamping: value.bytes.count))
      bytes.append(contentsOf: value.bytes)
    }
  }
}
