/// What a sender must know of an encoded frame besides its bytes.
package struct EncodedFrame: Equatable, Sendable, BitwiseCopyable {
  /// 0, or 1 for the low stream beside it.
  package var stream: UInt8 = 0
  package var isKeyFrame: Bool
  package var size: PictureSize
  /// 0, or higher for what may be left out.
  package var temporalLayer: UInt8
  /// How many encoded frames back its references are; 0 = none (`TemporalPattern`).
  package var baseDistance: UInt8
  package var otherDistance: UInt8
  /// libvpx's quantizer, 0...63: W3C webrtc-stats `qpSum` adds these up.
  package var quantizer: UInt8
  package var byteCount: Int

  package init(
    isKeyFrame: Bool, size: PictureSize, place: TemporalPattern.Place, quantizer: UInt8,
    byteCount: Int
  ) {
    self.isKeyFrame = isKeyFrame
    self.size = size
    temporalLayer = place.layer
    baseDistance = place.references.base
    otherDistance = place.references.other
    self.quantizer = quantizer
    self.byteCount = byteCount
  }
}
