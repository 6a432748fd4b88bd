package import Primitives

/// What the two sides of a call say to each other on stream 2 (docs/protocol/calling.md §5).
package enum CallControlMessage: Equatable, Sendable {
  /// r_A, 32 bytes, opens the commitment of INVITE. The caller's first message.
  case confirm(opening: [UInt8])
  case hangUp(CallReason, ReasonText)
  case mediaState(MediaState)
  /// What the sender of this wants to be sent.
  case mediaWanted(MediaState)
  /// While video is left out at the wish of the sender of this: the rate in bit/s that it wants the
  /// path to be filled to for a test; 0 ends that.
  case videoTest(UInt32)

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    switch try reader.readUInt8("call control type") {
    case TypeCode.confirm: self = .confirm(opening: try reader.readBytes(32, "r_A"))
    case TypeCode.hangUp:
      let reason = CallReason(wire: try reader.readUInt8("reason"))
      self = .hangUp(reason, try ReasonText(parsing: &reader))
    case TypeCode.mediaState:
      self = .mediaState(MediaState(rawValue: try reader.readUInt8("media state")))
    case TypeCode.mediaWanted:
      self = .mediaWanted(MediaState(rawValue: try reader.readUInt8("media wanted")))
    case TypeCode.videoTest: self = .videoTest(try reader.readUInt32("video test"))
    default: throw .invalid("call control type", at: start)
    }
    try reader.expectEnd("call control")
  }

  package var bytes: [UInt8] {
    switch self {
    case .confirm(let opening): return [TypeCode.confirm] + opening
    case .hangUp(let reason, let text):
      var bytes = [TypeCode.hangUp, reason.rawValue]
      text.write(to: &bytes)
      return bytes
    case .mediaState(let state): return [TypeCode.mediaState, state.rawValue]
    case .mediaWanted(let state): return [TypeCode.mediaWanted, state.rawValue]
    case .videoTest(let rate):
      var bytes = [TypeCode.videoTest]
      bytes.append(littleEndian: rate)
      return bytes
    }
  }

  private enum TypeCode {
    static let confirm: UInt8 = 1
    static let hangUp: UInt8 = 2
    static let mediaState: UInt8 = 3
    static let mediaWanted: UInt8 = 4
    static let videoTest: UInt8 = 5
  }
}

/// What a side sends at the moment: the opposite of muted.
package struct MediaState: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue & 0b111 }

  package static let audio = MediaState(rawValue: 1)
  package static let video = MediaState(rawValue: 2)
  /// Video is left out because the path does not carry it, or because it was asked for; not muted.
  package static let videoPaused = MediaState(rawValue: 4)
}
