internal import Peer
internal import Primitives
internal import Reactor
internal import Video

/// The low stream beside the usual one, on the same thread: the same pictures, fewer and smaller.
/// It has an encoder only while somebody is to have it.
struct LowVideoSending: ~Copyable {
  private let framesPerSecond: Int
  private var encoder: VP8Encoder?
  private var decimator = PictureDecimator()
  private var scaler = PictureScaler()
  private var scaled: I420Picture?
  private(set) var bytes: [UInt8] = []

  /// - Parameter framesPerSecond: Of the source.
  init(framesPerSecond: Int) { self.framesPerSecond = framesPerSecond }

  /// Nobody is to have it: the next one begins anew.
  mutating func stop() {
    guard encoder != nil else { return }
    encoder = nil
    scaled = nil
    decimator = PictureDecimator()
  }

  /// - Returns: `nil` when this picture is left out.
  mutating func encode(
    _ picture: borrowing I420Picture, milliseconds: Int64, _ demand: VideoDemand
  ) throws(VPXError) -> EncodedFrame? {
    if demand.needsKeyFrame { encoder?.requestKeyFrame() }
    // Where too much waits this picture is left out, and the encoder keeps its references.
    guard demand.bitsPerSecond > 0, let box = demand.box else { return nil }
    let rate = min(framesPerSecond, max(1, demand.framesPerSecond ?? framesPerSecond))
    guard decimator.takes(milliseconds: milliseconds, framesPerSecond: rate) else { return nil }
    let size = picture.size.fitted(into: box)
    let settings = VP8Encoder.Settings(
      size: size, bitsPerSecond: demand.bitsPerSecond, framesPerSecond: rate,
      temporalLayers: Self.temporalLayers)
    if encoder == nil { encoder = try VP8Encoder(settings) }
    try encoder?.reconfigure(settings)
    var small = scaled.take() ?? I420Picture(size)
    if small.size != size { small = I420Picture(size) }
    if picture.size == size { small = copy picture } else { scaler.scale(picture, into: &small) }
    let frame = try encoder?.encode(small, milliseconds: milliseconds, into: &bytes) ?? nil
    scaled = small
    guard var frame else { return nil }
    frame.stream = 1
    return frame
  }

  /// Hands the bytes over, and takes other memory for the next ones.
  mutating func hand(_ frame: EncodedFrame, at mediaTime: UInt32, to rings: VideoRings) {
    var content: [UInt8] = []
    swap(&content, &bytes)
    _ = rings.outbox.withLock { $0.push(.outgoing(frame, mediaTime: mediaTime), &content) }
    swap(&content, &bytes)
  }

  /// So that a narrow line may have half of its pictures.
  private static let temporalLayers = 2
}
