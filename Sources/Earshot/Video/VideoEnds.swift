package import Video

/// Where a call's video comes from.
///
/// Called on a thread of the call's own, at the source's frame rate, muted or not: a picture is
/// read for its moment, and what nobody wants then is not encoded.
public protocol VideoSource: AnyObject, Sendable {
  /// Pictures a second, 1...60; constant.
  var framesPerSecond: Double { get }
  /// Puts the picture of this moment into `picture`, whose memory is used again; it may have
  /// another size than the one before. May take a fraction of a frame's time.
  ///
  /// - Parameters:
  ///   - picture: what is to be filled.
  ///   - mediaTime: since the first sample of the own audio was read: the picture goes with the
  ///     sample of that time.
  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply
}

/// What a source had.
public enum VideoSupply: Sendable {
  /// A picture.
  case picture
  /// None for this moment.
  case nothingNew
  /// None any more.
  case ended
}

/// Where the video of the other side goes.
///
/// Called on a thread of the call's own, in the order of the pictures.
public protocol VideoSink: AnyObject, Sendable {
  /// Shows a picture; it is due now, and goes with what is heard.
  func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment)
  /// Takes the encoded frame (VP8, RFC 6386) before its picture is shown; every frame that was
  /// decoded comes by, in order, the first of them a key frame. Does nothing unless it is written.
  func record(_ frame: borrowing [UInt8], _ moment: VideoMoment)
  /// The call is over. Comes once for each call that the sink was given to, however that call
  /// ended, also when nothing was ever seen; nothing comes after it. Called on the endpoint's
  /// event loop, before `EndpointEvent.callEnded`; must return soon.
  func finish()
}

extension VideoSink {
  /// Does nothing.
  public func record(_ frame: borrowing [UInt8], _ moment: VideoMoment) {}
}

/// When a picture is shown, and what it is.
public struct VideoMoment: Sendable, Equatable {
  /// When it is shown, since the first sample that the call's `AudioSink` got: the place in a
  /// recording of both.
  public var time: Duration
  /// The sender's media time; wraps after 655.36 s.
  public var mediaTime: Duration
  /// Whether it was decoded without reference to others.
  public var isKeyFrame: Bool
  /// Pixels.
  public var width: Int
  /// Pixels.
  public var height: Int
  /// How the picture is to be turned to stand upright (`VideoPicture.upright`).
  public var rotation: VideoRotation

  package init(
    time: Duration, mediaTime: Duration, isKeyFrame: Bool, width: Int, height: Int,
    rotation: VideoRotation = .none
  ) {
    self.rotation = rotation
    self.time = time
    self.mediaTime = mediaTime
    self.isKeyFrame = isKeyFrame
    self.width = width
    self.height = height
  }
}

/// One picture: 8 bits, 4:2:0, three planes one after the other without gaps (I420), limited range
/// (ITU-R BT.601).
public struct VideoPicture: Sendable {
  /// Brightness, and the two differences of colour at half the size.
  public enum Plane: CaseIterable, Sendable {
    /// Y.
    case luma
    /// Cb.
    case blue
    /// Cr.
    case red
  }

  package var i420: I420Picture
  /// How it is to be turned to stand upright. A source sets it; the other side's sink gets it with
  /// the same picture.
  public var rotation = VideoRotation.none

  /// A black picture; `nil` outside 16×16 to 4096×4096, or beyond 2 304 000 pixels.
  public init?(width: Int, height: Int) {
    guard let i420 = I420Picture(width: width, height: height) else { return nil }
    self.i420 = i420
  }

  package init(_ i420: I420Picture) { self.i420 = i420 }

  /// Pixels.
  public var width: Int { i420.width }
  /// Pixels.
  public var height: Int { i420.height }
  /// Pixels of a row.
  public func width(of plane: Plane) -> Int { plane == .luma ? width : (width + 1) / 2 }
  /// Rows.
  public func height(of plane: Plane) -> Int { plane == .luma ? height : (height + 1) / 2 }

  /// Where the plane lies in `bytes`; its rows follow one another without gaps.
  public func range(of plane: Plane) -> Range<Int> {
    switch plane {
    case .luma: i420.range(of: .luma)
    case .blue: i420.range(of: .blue)
    case .red: i420.range(of: .red)
    }
  }

  /// All planes.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self) get { i420.bytes.span }
  }

  /// All planes, to draw into.
  public var mutableBytes: MutableSpan<UInt8> {
    @_lifetime(&self) mutating get { i420.bytes.mutableSpan }
  }
}
