import Primitives

/// The kinds of datagram (docs/protocol/session.md §1), by first byte.
package enum PacketType: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  case initiation = 0xC1
  case response = 0xC2
  case cookie = 0xC3
  case reset = 0xC4
  case version = 0xC5
  case cardRequest = 0xC6
  case card = 0xC7
  case nodesRequest = 0xCA
  case nodes = 0xCB
}

/// Which protocol part a datagram is for; decides by first byte and length alone, and never keeps
/// state (docs/protocol/session.md §1).
///
/// Station 13 of the house tour; next is `PeerMachine`.
package enum Demultiplexer {
  package enum Verdict: Equatable, Sendable {
    /// One of 0xC1..0xC7, 0xCA and 0xCB, of a length that it may have.
    case control(PacketType)
    /// A sealed packet and the connection ID in its header.
    case sealed(ConnectionID)
    /// Anything else: dropped without an answer.
    case foreign
  }

  package static func classify(_ bytes: Span<UInt8>) -> Verdict {
    guard bytes.count > 0 else { return .foreign }
    let first = bytes[0]
    if first & 0xE0 == 0x60 {
      guard (SealedPacket.minimumByteCount...Datagram.maximumByteCount).contains(bytes.count) else {
        return .foreign
      }
      return .sealed(SealedPacket.connectionID(of: bytes))
    }
    guard let type = PacketType(rawValue: first), type.allows(byteCount: bytes.count) else {
      return .foreign
    }
    return .control(type)
  }
}

extension PacketType {
  func allows(byteCount: Int) -> Bool {
    switch self {
    case .initiation: byteCount == InitPacket.byteCount
    case .response: byteCount == ResponsePacket.byteCount
    case .cookie: byteCount == CookiePacket.byteCount
    case .reset: byteCount == ResetPacket.byteCount
    case .version: byteCount == VersionPacket.byteCount
    case .cardRequest: byteCount == CardRequestPacket.byteCount
    case .card: CardPacket.byteCounts.contains(byteCount)
    case .nodesRequest: byteCount == NodesRequestPacket.byteCount
    case .nodes: NodesPacket.byteCounts.contains(byteCount)
    }
  }
}

/// The clear part of a DATA packet (docs/protocol/session.md §6).
package enum SealedPacket {
  package static let headerByteCount = 9
  package static let tagByteCount = 16
  /// Header and tag around no frame at all.
  package static let minimumByteCount = headerByteCount + tagByteCount

  /// The receiver's connection ID; `.none` when there are too few bytes.
  package static func connectionID(of bytes: Span<UInt8>) -> ConnectionID {
    guard bytes.count >= minimumByteCount else { return .none }
    return ConnectionID(
      rawValue: UInt32(bytes[1]) | UInt32(bytes[2]) << 8 | UInt32(bytes[3]) << 16
        | UInt32(bytes[4]) << 24)
  }
}
