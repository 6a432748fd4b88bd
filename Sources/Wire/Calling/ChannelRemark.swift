package import Primitives

/// What two in a call say about the channel that it becomes, besides what the channel is joined by
/// (docs/protocol/channels.md §10).
package enum ChannelRemark: Equatable, Sendable {
  /// The person there does not want others in the call.
  case declined
  /// The same, as nobody answered.
  case unanswered
  /// Who is brought in; said ahead of CHANNEL. The name is what its sender calls it.
  case guest(PeerID, PeerName?)
  /// Whoever made the channel is asked to let somebody in.
  case wish(PeerID, PeerName?)
  /// It does: the token of that one, as text; not checked here.
  case entry(PeerID, token: [UInt8])
  /// It does not.
  case refused(PeerID)
  /// Who was let in has been let go before it came.
  case withdrawn(PeerID)
  /// The person there is being asked; an answer follows.
  case asked

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let kind = try reader.readUInt8("kind of remark")
    switch kind {
    case Kind.declined: self = .declined
    case Kind.unanswered: self = .unanswered
    case Kind.guest: self = .guest(try PeerID(parsing: &reader), try Self.readName(&reader))
    case Kind.wish: self = .wish(try PeerID(parsing: &reader), try Self.readName(&reader))
    case Kind.entry:
      let id = try PeerID(parsing: &reader)
      let count = Int(try reader.readUInt16("token length"))
      guard (1...ChannelPass.maximumTokenByteCount).contains(count) else {
        throw .invalid("token length", at: start)
      }
      self = .entry(id, token: try reader.readBytes(count, "token"))
    case Kind.refused: self = .refused(try PeerID(parsing: &reader))
    case Kind.withdrawn: self = .withdrawn(try PeerID(parsing: &reader))
    case Kind.asked: self = .asked
    default: throw .invalid("kind of remark", at: start)
    }
  }

  package var bytes: [UInt8] {
    switch self {
    case .declined: return [Kind.declined]
    case .unanswered: return [Kind.unanswered]
    case .guest(let id, let name): return Self.bytes(Kind.guest, id) + Self.bytes(of: name)
    case .wish(let id, let name): return Self.bytes(Kind.wish, id) + Self.bytes(of: name)
    case .entry(let id, let token):
      var bytes = Self.bytes(Kind.entry, id)
      bytes.append(littleEndian: UInt16(clamping: token.count))
      return bytes + token
    case .refused(let id): return Self.bytes(Kind.refused, id)
    case .withdrawn(let id): return Self.bytes(Kind.withdrawn, id)
    case .asked: return [Kind.asked]
    }
  }

  /// Length 1 and the name; without a name the length is 0.
  @_lifetime(reader: copy reader)
  private static func readName(_ reader: inout ByteReader) throws(WireError) -> PeerName? {
    let start = reader.offset
    let count = Int(try reader.readUInt8("name length"))
    guard count > 0 else { return nil }
    guard let name = PeerName(bytes: try reader.readBytes(count, "name")) else {
      throw .invalid("name", at: start)
    }
    return name
  }

  private static func bytes(of name: PeerName?) -> [UInt8] {
    let bytes = name?.bytes ?? []
    return [UInt8(clamping: bytes.count)] + bytes
  }

  private static func bytes(_ kind: UInt8, _ id: PeerID) -> [UInt8] {
    var bytes = [kind]
    id.write(to: &bytes)
    return bytes
  }

  private enum Kind {
    static let declined: UInt8 = 1
    static let unanswered: UInt8 = 2
    static let guest: UInt8 = 3
    static let wish: UInt8 = 4
    static let entry: UInt8 = 5
    static let refused: UInt8 = 6
    static let withdrawn: UInt8 = 7
    static let asked: UInt8 = 8
  }
}
