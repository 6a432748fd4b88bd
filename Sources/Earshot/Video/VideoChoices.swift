internal import Peer
internal import Video
internal import Wire

/// Pixels.
public struct VideoSize: Sendable, Equatable {
  /// 16...4096.
  public var width: Int
  /// 16...4096.
  public var height: Int

  /// A size; whether it is in its ranges is checked where it is used.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }
}

/// Which of the two kinds of pictures a side sends (dual stream).
public enum VideoStreamKind: String, Sendable, Equatable {
  /// The usual ones.
  case high
  /// Small ones, with few bits (`LowVideoStream`).
  case low
}

/// How far the other side's pictures matter, against those of other calls.
public enum RemotePriority: String, Sendable, Equatable {
  /// As any other.
  case normal
  /// They give way last.
  case high
}

/// Small pictures that the other side may have in place of the usual ones.
public struct LowVideoStream: Sendable, Equatable {
  /// What they fit into.
  public var size: VideoSize
  /// A second, at the most, 1...60.
  public var framesPerSecond: Int
  /// At the most, 30 000...20 000 000.
  public var bitsPerSecond: Int

  /// 160x120 at 5 pictures a second with 65 kbit/s, unless said otherwise.
  public init(
    size: VideoSize = VideoSize(width: 160, height: 120), framesPerSecond: Int = 5,
    bitsPerSecond: Int = 65_000
  ) {
    self.size = size
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
  }
}

/// How a picture is to be turned, clockwise, to stand upright.
public enum VideoRotation: Int, Sendable, Equatable, CaseIterable {
  /// Not at all.
  case none = 0
  /// By a quarter of a turn.
  case quarter = 90
  /// By half a turn.
  case half = 180
  /// By three quarters.
  case threeQuarters = 270

  /// Degrees: 0, 90, 180, 270.
  public var degrees: Int { rawValue }

  init(_ wire: PictureRotation) {
    self =
      switch wire {
      case .none: .none
      case .quarter: .quarter
      case .half: .half
      case .threeQuarters: .threeQuarters
      }
  }

  var wire: PictureRotation {
    switch self {
    case .none: .none
    case .quarter: .quarter
    case .half: .half
    case .threeQuarters: .threeQuarters
    }
  }
}

extension VideoPicture {
  /// A copy of which each pixel stands where `rotation` says; it is not to be turned any more.
  /// Sides of odd length are cut by one where they would be turned.
  public func upright() -> VideoPicture {
    let turns = rotation.degrees / 90
    guard turns > 0 else { return self }
    let (evenWidth, evenHeight) = (width & ~1, height & ~1)
    let isAcross = turns != 2
    guard
      var turned = VideoPicture(
        width: isAcross ? evenHeight : evenWidth, height: isAcross ? evenWidth : evenHeight)
    else { return self }
    for plane in Plane.allCases {
      let (wide, high) = (turned.width(of: plane), turned.height(of: plane))
      let (from, to) = (range(of: plane).lowerBound, turned.range(of: plane).lowerBound)
      let stride = width(of: plane)
      for y in 0..<high {
        for x in 0..<wide {
          let (column, row) =
            switch turns {
            case 1: (y, wide - 1 - x)
            case 2: (wide - 1 - x, high - 1 - y)
            default: (high - 1 - y, x)
            }
          turned.i420.bytes[to + y * wide + x] = i420.bytes[from + row * stride + column]
        }
      }
    }
    return turned
  }
}

extension VideoSettings {
  /// What the options say of limits and fallback.
  mutating func applyOptions(_ options: CallOptions) {
    mostBitsPerSecond = options.maxVideoBitrate
    box = options.maxVideoSize.flatMap { PictureSize(width: $0.width, height: $0.height) }
    framesPerSecond = options.maxVideoFrameRate
    fallsBack = options.fallback == .audioOnly
    subscribeFallback = options.subscribeFallback.map(SubscribeFallback.init)
    let low = options.lowVideoStream.map(SmallVideo.init)
    if small != low { small = low }
  }
}

extension VideoSettings.SubscribeFallback {
  init(_ fallback: CallOptions.SubscribeFallback) {
    self =
      switch fallback {
      case .disabled: .disabled
      case .lowStream: .smallVideo
      case .audioOnly: .audioOnly
      }
  }
}

extension SmallVideo {
  init(_ low: LowVideoStream) {
    self.init(
      width: UInt16(clamping: low.size.width), height: UInt16(clamping: low.size.height),
      framesPerSecond: UInt8(clamping: low.framesPerSecond),
      bitsPerSecond: UInt32(clamping: low.bitsPerSecond))
  }
}

extension LowVideoStream {
  init(_ wire: SmallVideo) {
    self.init(
      size: VideoSize(width: Int(wire.width), height: Int(wire.height)),
      framesPerSecond: Int(wire.framesPerSecond), bitsPerSecond: Int(clamping: wire.bitsPerSecond))
  }
}
