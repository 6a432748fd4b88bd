package import Primitives

/// What the two sides of a call say to each other on stream 2 (docs/protocol/calling.md §5).
package enum CallControlMessage: Equatable, Sendable {
  /// r_A, 32 bytes, opens the commitment of INVITE. The caller's first message.
  case confirm(opening: [UInt8])
  /// User data only where the other side has `CallAbilities.moreWords`.
  case hangUp(CallReason, ReasonText, userExtension: String? = nil)
  case mediaState(MediaState)
  /// What the sender of this wants to be sent.
  case mediaWanted(MediaState)
  /// While video is left out at the wish of the sender of this: the rate in bit/s that it wants the
  /// path to be filled to for a test; 0 ends that.
  case videoTest(UInt32)
  /// How good the line is to the sender of this: its grades of what it sends and of what it
  /// receives, 0...6. As all that follow: only where the other side has `CallAbilities.moreWords`.
  case quality(sent: UInt8, received: UInt8)
  /// How the sender's pictures are turned from this media time on.
  case videoRotation(PictureRotation, mediaTime: UInt32)
  /// The small pictures that its sender offers in place of the usual ones; `nil` = none.
  case smallVideo(SmallVideo?)
  /// Music is mixed into the sender's audio from now on, or no longer.
  case music(Bool)
  /// The call is to be a part of a channel from now on. Only where the other side has
  /// `CallAbilities.channels`.
  case channel(ChannelPass)
  /// What else there is to say about that channel.
  case channelRemark(ChannelRemark)

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    switch try reader.readUInt8("call control type") {
    case TypeCode.confirm: self = .confirm(opening: try reader.readBytes(32, "r_A"))
    case TypeCode.hangUp:
      let reason = CallReason(wire: try reader.readUInt8("reason"))
      let text = try ReasonText(parsing: &reader)
      self = .hangUp(reason, text, userExtension: try EndingWords.userExtension(in: &reader))
    case TypeCode.mediaState:
      self = .mediaState(MediaState(rawValue: try reader.readUInt8("media state")))
    case TypeCode.mediaWanted:
      self = .mediaWanted(MediaState(rawValue: try reader.readUInt8("media wanted")))
    case TypeCode.videoTest: self = .videoTest(try reader.readUInt32("video test"))
    case TypeCode.quality:
      let (sent, received) = (try reader.readUInt8("grade"), try reader.readUInt8("grade"))
      guard max(sent, received) <= Self.worstGrade else { throw .invalid("grade", at: start) }
      self = .quality(sent: sent, received: received)
    case TypeCode.videoRotation:
      guard let rotation = PictureRotation(rawValue: try reader.readUInt8("rotation")) else {
        throw .invalid("rotation", at: start)
      }
      let mediaTime = try reader.readUInt32("media time")
      guard mediaTime <= 0xFF_FFFF else { throw .invalid("media time", at: start) }
      self = .videoRotation(rotation, mediaTime: mediaTime)
    case TypeCode.music:
      let flag = try reader.readUInt8("music")
      guard flag <= 1 else { throw .invalid("music", at: start) }
      self = .music(flag == 1)
    case TypeCode.smallVideo: self = .smallVideo(try SmallVideo.parse(&reader))
    case TypeCode.channel: self = .channel(try ChannelPass(parsing: &reader))
    case TypeCode.channelRemark: self = .channelRemark(try ChannelRemark(parsing: &reader))
    default: throw .invalid("call control type", at: start)
    }
    try reader.expectEnd("call control")
  }

  package var bytes: [UInt8] {
    switch self {
    case .confirm(let opening): return [TypeCode.confirm] + opening
    case .hangUp(let reason, let text, let userExtension):
      var bytes = [TypeCode.hangUp, reason.rawValue]
      text.write(to: &bytes)
      return bytes + EndingWords.bytes(userExtension)
    case .mediaState(let state): return [TypeCode.mediaState, state.rawValue]
    case .mediaWanted(let state): return [TypeCode.mediaWanted, state.rawValue]
    case .videoTest(let rate): return Self.bytes(TypeCode.videoTest, rate)
    case .quality(let sent, let received): return [TypeCode.quality, sent, received]
    case .videoRotation(let rotation, let mediaTime):
      return [TypeCode.videoRotation] + Self.bytes(rotation.rawValue, mediaTime)
    case .music(let isOn): return [TypeCode.music, isOn ? 1 : 0]
    case .smallVideo(let small): return [TypeCode.smallVideo] + SmallVideo.bytes(of: small)
    case .channel(let pass): return [TypeCode.channel] + pass.bytes
    case .channelRemark(let remark): return [TypeCode.channelRemark] + remark.bytes
    }
  }

  private static func bytes(_ first: UInt8, _ number: UInt32) -> [UInt8] {
    var bytes = [first]
    bytes.append(littleEndian: number)
    return bytes
  }

  /// What the other side must have said of itself to be sent it.
  package var neededAbilities: CallAbilities {
    switch self {
    case .confirm, .hangUp, .mediaState, .mediaWanted, .videoTest: []
    case .quality, .videoRotation, .smallVideo, .music: .moreWords
    case .channel, .channelRemark: .channels
    }
  }

  private static let worstGrade: UInt8 = 6

  private enum TypeCode {
    static let confirm: UInt8 = 1
    static let hangUp: UInt8 = 2
    static let mediaState: UInt8 = 3
    static let mediaWanted: UInt8 = 4
    static let videoTest: UInt8 = 5
    static let quality: UInt8 = 6
    static let videoRotation: UInt8 = 7
    static let smallVideo: UInt8 = 8
    static let music: UInt8 = 9
    static let channel: UInt8 = 10
    static let channelRemark: UInt8 = 11
  }
}

/// What a side sends at the moment: the opposite of muted. In MEDIA_WANTED: what it wants.
package struct MediaState: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let audio = MediaState(rawValue: 1)
  package static let video = MediaState(rawValue: 2)
  /// Video is left out because the path does not carry it, or because it was asked for; not muted.
  package static let videoPaused = MediaState(rawValue: 4)
  /// Its sender has switched audio off as a whole: it neither sends nor plays any.
  package static let audioOff = MediaState(rawValue: 8)
  /// The same of video.
  package static let videoOff = MediaState(rawValue: 16)
  /// Its sender takes nothing from its source of audio.
  package static let audioSourceOff = MediaState(rawValue: 32)
  /// The same of video.
  package static let videoSourceOff = MediaState(rawValue: 64)
  /// The video that is sent, or wanted, is the small one.
  package static let smallVideo = MediaState(rawValue: 128)
}

/// How a picture is to be turned to stand upright.
package enum PictureRotation: UInt8, Sendable, CaseIterable {
  case none = 0
  /// Clockwise by a quarter of a turn.
  case quarter = 1
  case half = 2
  case threeQuarters = 3
}

/// The small pictures of a call (docs/protocol/calling.md §5, SMALL_VIDEO).
package struct SmallVideo: Hashable, Sendable {
  /// Pixels, at the most; not 0.
  package var width: UInt16
  package var height: UInt16
  /// Pictures a second, at the most; not 0.
  package var framesPerSecond: UInt8
  /// Bit/s at the most; not 0.
  package var bitsPerSecond: UInt32

  package init(width: UInt16, height: UInt16, framesPerSecond: UInt8, bitsPerSecond: UInt32) {
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
  }

  @_lifetime(reader: copy reader)
  fileprivate static func parse(_ reader: inout ByteReader) throws(WireError) -> SmallVideo? {
    let start = reader.offset
    let small = SmallVideo(
      width: try reader.readUInt16("width"), height: try reader.readUInt16("height"),
      framesPerSecond: try reader.readUInt8("frames"),
      bitsPerSecond: try reader.readUInt32("bits"))
    if small == none { return nil }
    guard small.width > 0, small.height > 0, small.framesPerSecond > 0, small.bitsPerSecond > 0
    else { throw .invalid("small video", at: start) }
    return small
  }

  fileprivate static func bytes(of small: SmallVideo?) -> [UInt8] {
    let small = small ?? none
    var bytes: [UInt8] = []
    bytes.append(littleEndian: small.width)
    bytes.append(littleEndian: small.height)
    bytes.append(small.framesPerSecond)
    bytes.append(littleEndian: small.bitsPerSecond)
    return bytes
  }

  private static let none = SmallVideo(
    width: 0, height: 0, framesPerSecond: 0, bitsPerSecond: 0)
}
