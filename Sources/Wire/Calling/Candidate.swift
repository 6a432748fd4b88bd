package import Primitives

/// An address where a peer may be reached (TLV 4, docs/protocol/README.md §2).
package struct Candidate: Hashable, Sendable, BitwiseCopyable {
  /// How the peer came by the address (RFC 8445 §5.1.1); peer-reflexive ones never travel.
  package enum Kind: UInt8, Sendable, BitwiseCopyable {
    case host = 1
    case serverReflexive = 2
    case relayed = 3
  }

  package var kind: Kind
  package var address: SocketAddress

  package init(_ kind: Kind, _ address: SocketAddress) {
    self.kind = kind
    self.address = address
  }
}

/// 1..8 × (kind 1, address 19); as a list of none, the TLV is left out.
package struct CandidateList: Equatable, Sendable {
  package static let maximumCount = 8
  private static let entryByteCount = 1 + SocketAddress.wireByteCount

  /// At most 8, in the order of the sender's preference: host addresses first.
  package let candidates: [Candidate]

  /// Keeps the first eight.
  package init(_ candidates: [Candidate] = []) {
    self.candidates = Array(candidates.prefix(Self.maximumCount))
  }

  /// Reads the value of the TLV.
  package init(parsing value: [UInt8]) throws(WireError) {
    let count = value.count / Self.entryByteCount
    guard value.count % Self.entryByteCount == 0, (1...Self.maximumCount).contains(count) else {
      throw .invalid("candidates length", at: 0)
    }
    var reader = ByteReader(value.span)
    var candidates: [Candidate] = []
    for _ in 0..<count {
      let start = reader.offset
      guard let kind = Candidate.Kind(rawValue: try reader.readUInt8("candidate kind")) else {
        throw .invalid("candidate kind", at: start)
      }
      candidates.append(Candidate(kind, try SocketAddress(parsing: &reader)))
    }
    self.candidates = candidates
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for candidate in candidates {
      bytes.append(candidate.kind.rawValue)
      candidate.address.write(to: &bytes)
    }
    return bytes
  }
}
