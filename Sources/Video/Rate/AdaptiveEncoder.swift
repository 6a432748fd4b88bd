package import Primitives

/// From a source's pictures to frames at the bitrate of the moment: leaves pictures out, makes them
/// smaller and encodes them, as the ladder has it.
///
/// Belongs on the worker thread. What it is told of the network (bitrate, key frame wanted) comes
/// with each picture, so a new bitrate holds from the next picture on.
package struct AdaptiveEncoder: ~Copyable {
  /// What the network side wants at the time of a picture.
  package struct Demand: Equatable, Sendable {
    package var bitsPerSecond: Int
    /// What resolution and frame rate follow: the same, without what the moment takes off or adds.
    package var steadyBitsPerSecond: Int
    package var needsKeyFrame: Bool
    /// What the picture is to fit into, and how many there may be in a second; `nil` = no limit.
    package var box: PictureSize?
    package var framesPerSecond: Int?

    package init(
      bitsPerSecond: Int, steadyBitsPerSecond: Int? = nil, needsKeyFrame: Bool = false,
      box: PictureSize? = nil, framesPerSecond: Int? = nil
    ) {
      self.box = box
      self.framesPerSecond = framesPerSecond
      self.bitsPerSecond = bitsPerSecond
      self.steadyBitsPerSecond = steadyBitsPerSecond ?? bitsPerSecond
      self.needsKeyFrame = needsKeyFrame
    }
  }

  package private(set) var ladder: VideoLadder
  /// What the host can do.
  private var load = EncoderLoad()
  private var encoder: VP8Encoder
  private let temporalLayers: Int
  /// Of the source, at the most.
  private let framesPerSecond: Int
  private var recent = RecentMost()
  private var decimator = PictureDecimator()
  private var scaler = PictureScaler()
  private var scaled: I420Picture
  private let stopwatch: (@Sendable () -> Instant)?
  /// What it took to make the last picture smaller, and the pixels of its source.
  private var scaling = Duration.zero
  private var sourcePixels = 0

  /// - Parameters:
  ///   - size: of the source's pictures, until others come.
  ///   - stopwatch: times how long it takes to make pictures smaller; `nil` = that takes nothing.
  package init(
    size: PictureSize, framesPerSecond: Int, bitsPerSecond: Int, temporalLayers: Int = 2,
    stopwatch: (@Sendable () -> Instant)? = nil
  ) throws(VPXError) {
    self.stopwatch = stopwatch
    let best = load.best(
      for: size, framesPerSecond: framesPerSecond, present: VideoLadder.rungs.count - 1)
    ladder = VideoLadder(bitsPerSecond: bitsPerSecond, best: best)
    self.temporalLayers = temporalLayers
    self.framesPerSecond = framesPerSecond
    let fitted = size.fitted(into: ladder.rung.box)
    scaled = I420Picture(fitted)
    encoder = try VP8Encoder(
      VP8Encoder.Settings(
        size: fitted, bitsPerSecond: bitsPerSecond,
        framesPerSecond: min(framesPerSecond, ladder.rung.framesPerSecond),
        temporalLayers: temporalLayers))
  }

  /// Takes what the last picture that became a frame took, from `encode` to its return.
  package mutating func handleEncoded(_ frame: EncodedFrame, took: Duration) {
    guard !frame.isKeyFrame else { return }
    load.handle(
      EncoderLoad.Times(coding: took - scaling, scaling: scaling),
      pixelCount: frame.size.pixelCount, source: sourcePixels)
  }

  /// Whether the host keeps up with no better rung than the present one, for this source.
  package func isLimitedByProcessor(_ source: PictureSize) -> Bool {
    let free = EncoderLoad.top(for: source, framesPerSecond: framesPerSecond)
    return ladder.index > free
      && load.best(for: source, framesPerSecond: framesPerSecond, present: ladder.index)
        == ladder.index
  }

  /// Takes the next picture of the source; the frame's bytes replace those of `output`.
  ///
  /// - Parameter milliseconds: the picture's time in the source, rising.
  /// - Returns: `nil` when this picture is left out.
  package mutating func encode(
    _ picture: I420Picture, milliseconds: Int64, demand: Demand, now: Instant,
    into output: inout [UInt8]
  ) throws(VPXError) -> EncodedFrame? {
    output.removeAll(keepingCapacity: true)
    let steady = recent.handle(demand.steadyBitsPerSecond, now: now)
    let best = load.best(
      for: picture.size, framesPerSecond: framesPerSecond, present: ladder.index)
    if ladder.handle(bitsPerSecond: steady, best: best, now: now) { load.handleChange() }
    let most = min(framesPerSecond, max(1, demand.framesPerSecond ?? framesPerSecond))
    let rate = min(most, ladder.framesPerSecond(bitsPerSecond: steady))
    if demand.needsKeyFrame { encoder.requestKeyFrame() }
    guard decimator.takes(milliseconds: milliseconds, framesPerSecond: rate) else { return nil }
    var size = picture.size.fitted(into: ladder.rung.box)
    if let box = demand.box { size = size.fitted(into: box) }
    try encoder.reconfigure(
      VP8Encoder.Settings(
        size: size, bitsPerSecond: demand.bitsPerSecond, framesPerSecond: rate,
        temporalLayers: temporalLayers))
    sourcePixels = picture.size.pixelCount
    scaling = .zero
    guard size != picture.size else {
      return try encoder.encode(picture, milliseconds: milliseconds, into: &output)
    }
    if scaled.size != size { scaled = I420Picture(size) }
    let began = stopwatch?()
    scaler.scale(picture, into: &scaled)
    if let stopwatch, let began { scaling = stopwatch() - began }
    return try encoder.encode(scaled, milliseconds: milliseconds, into: &output)
  }
}
