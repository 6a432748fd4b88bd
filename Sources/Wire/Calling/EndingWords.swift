package import Primitives

/// What the user of one side gives the other with the end of a call: a TLV list with the extension
/// (docs/protocol/calling.md §2).
package enum EndingWords {
  /// Reads to the end; nothing is left where no words were added.
  @_lifetime(reader: copy reader)
  package static func userExtension(
    in reader: inout ByteReader
  ) throws(WireError) -> String? {
    guard !reader.isAtEnd else { return nil }
    guard let text = try CallOffer(parsing: &reader).userExtension else {
      throw .invalid("extension", at: reader.offset)
    }
    return text
  }

  /// The same of bytes that were sealed; `nil` for what cannot be read.
  package static func userExtension(in bytes: Span<UInt8>) -> String? {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      return try userExtension(in: &reader)
    } catch {
      return nil
    }
  }

  /// None for `nil`.
  package static func bytes(_ userExtension: String?) -> [UInt8] {
    guard let userExtension else { return [] }
    var list = TLVList()
    list.append(.userExtension, Array(userExtension.utf8))
    var bytes: [UInt8] = []
    list.write(to: &bytes)
    return bytes
  }
}

/// User data under a seal, in CANCEL and HANGUP: nonce 24 · length 2 · sealed TLV extension.
package struct SealedWords: Equatable, Sendable {
  package static let nonceByteCount = 24
  /// Header of a TLV, and the tag.
  private static let leastSealedByteCount = 3 + 16

  package var nonce: [UInt8]
  /// `EndingWords` under XChaCha20-Poly1305, its tag included.
  package var sealed: [UInt8]

  package init(nonce: [UInt8], sealed: [UInt8]) {
    self.nonce = nonce
    self.sealed = sealed
  }

  /// - Parameter reserve: Bytes that follow them.
  /// - Returns: `nil` where nothing stands before those bytes.
  @_lifetime(reader: copy reader)
  static func parse(
    _ reader: inout ByteReader, before reserve: Int
  ) throws(WireError) -> SealedWords? {
    guard reader.remaining != reserve else { return nil }
    let nonce = try reader.readBytes(nonceByteCount, "words nonce")
    let start = reader.offset
    let length = Int(try reader.readUInt16("words length"))
    guard length >= leastSealedByteCount else { throw .invalid("words length", at: start) }
    return SealedWords(nonce: nonce, sealed: try reader.readBytes(length, "words"))
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: nonce)
    bytes.append(littleEndian: UInt16(clamping: sealed.count))
    bytes.append(contentsOf: sealed)
  }
}

/// What a side of a call understands beside what every version does: said in bits that all versions
/// ignore where they do not know them (docs/protocol/calling.md §2).
package struct CallAbilities: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// User data in CANCEL and HANGUP, call control of types 6 to 9, and messages with a time.
  package static let moreWords = CallAbilities(rawValue: 2)
  /// The call may become a part of a channel: call control of type 10.
  package static let channels = CallAbilities(rawValue: 4)

  /// As the flags of the first codec of a media description say.
  init(media value: [UInt8]) {
    let known = Self.moreWords.union(.channels)
    self.init(rawValue: value.count > Self.place ? value[Self.place] & known.rawValue : 0)
  }

  /// The media description with them.
  func marked(_ value: [UInt8]) -> [UInt8] {
    var value = value
    if value.count > Self.place { value[Self.place] |= rawValue }
    return value
  }

  /// Codec 1 · stream 1 · flags 1.
  private static let place = 2
}
