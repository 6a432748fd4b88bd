import Congestion
import Primitives
import SecureSession
import Video
import Wire

/// What goes out beside the media so that the path stays measured
/// (docs/decisions/0028-what-the-encoder-leaves-is-filled.md).
extension CallMedia {
  /// While video is left out: padding in packets as small as the audio's, which is not held up.
  /// With video: what the pictures leave, first by fragments of the newest of them again.
  @_lifetime(packet: copy packet)
  func writeFill(
    into packet: inout OutputSpan<UInt8>, _ video: VideoLink, _ association: Association,
    now: Instant
  ) -> Bool {
    guard now >= video.nextPadding, let rate = fillRate(video, association, now: now),
      association.admits(.padding, now: now)
    else { return false }
    Session.beginPacket(&packet)
    let isPadding = rate.isFinite || !video.sender.pollRepetition(into: &packet, now: now)
    if isPadding {
      packet.append(zeros: paddingByteCount(isFilling: !rate.isFinite, association))
    }
    let lineBits = Double(packet.count + SealedPacket.tagByteCount + Uplink.headerByteCount) * 8
    let last = max(video.nextPadding, now - .milliseconds(20))
    video.nextPadding = last + .nanoseconds(Int64(lineBits / rate * 1e9))
    video.fill.noteFill(byteCount: packet.count, isPadding: isPadding)
    return association.seal(&packet, elicits: true, hasMessages: false, now: now)
  }

  private func paddingByteCount(isFilling: Bool, _ association: Association) -> Int {
    guard isFilling, let estimate = association.uplink?.estimator.estimate else {
      return Self.paddingByteCount
    }
    // A frame that comes now waits 2.5 ms for it.
    let bits = min(estimate, 1e9) * 0.0025
    let most = min(1_100, association.packetSize.limit - SealedPacket.tagByteCount)
    return min(most - SealedPacket.headerByteCount, max(Self.paddingByteCount, Int(bits / 8)))
  }

  /// In bit/s; infinite where the gate alone holds it back, `nil` where nothing is to go out.
  func fillRate(
    _ video: VideoLink, _ association: Association, now: Instant
  ) -> Double? {
    association.uplink?.fillRate(of: video, now: now)
  }

  private static let paddingByteCount = 200
}

extension Uplink {
  /// Here, because whoever takes an uplink out of its session copies it.
  fileprivate func fillRate(of video: VideoLink, now: Instant) -> Double? {
    if video.fillsUp(estimator, now: now) { return .infinity }
    guard let most = video.probeRate(now: now) else { return nil }
    let rate = min(most, allowance * 1.02) - audioRate
    return rate > 4_000 ? rate : nil
  }
}
