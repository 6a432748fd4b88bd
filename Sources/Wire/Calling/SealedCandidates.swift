package import Primitives

/// CANDIDATES' content: number 4 · nonce 24 · length 2 · sealed candidates
/// (docs/protocol/calling.md §2).
package struct SealedCandidates: Equatable, Sendable {
  package static let nonceByteCount = 24
  /// Header and one candidate of a TLV list, and the tag.
  private static let leastSealedByteCount = 3 + 20 + 16

  /// Rises with each body of its sender, from 1: whoever has read a higher one drops it.
  package var number: UInt32
  package var nonce: [UInt8]
  /// The TLV list under XChaCha20-Poly1305, its tag included.
  package var sealed: [UInt8]

  package init(number: UInt32, nonce: [UInt8], sealed: [UInt8]) {
    self.number = number
    self.nonce = nonce
    self.sealed = sealed
  }

  /// The body before the nonce: what the seal covers besides its content.
  package func associatedData(_ callID: CallID) -> [UInt8] {
    var bytes = SignalBody.start(.candidates, callID)
    bytes.append(littleEndian: number)
    return bytes
  }

  /// What is sealed: a TLV list with the candidates.
  package static func plain(_ candidates: CandidateList) -> [UInt8] {
    var list = TLVList()
    list.append(.candidates, candidates.bytes)
    var bytes: [UInt8] = []
    list.write(to: &bytes)
    return bytes
  }

  /// Reads what was sealed.
  package static func candidates(in plain: Span<UInt8>) throws(WireError) -> CandidateList {
    var reader = ByteReader(plain)
    guard let value = try TLVList(parsing: &reader)[.candidates] else {
      throw .invalid("candidates", at: 0)
    }
    return try CandidateList(parsing: value)
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    number = try reader.readUInt32("number of candidates")
    nonce = try reader.readBytes(Self.nonceByteCount, "candidates nonce")
    let start = reader.offset
    let length = Int(try reader.readUInt16("candidates length"))
    guard length >= Self.leastSealedByteCount else {
      throw .invalid("candidates length", at: start)
    }
    sealed = try reader.readBytes(length, "candidates")
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: number)
    bytes.append(contentsOf: nonce)
    bytes.append(littleEndian: UInt16(clamping: sealed.count))
    bytes.append(contentsOf: sealed)
  }
}
