import Video

/// How near the decoded picture is to the source, which is the test picture at 1280×720 and 30 a
/// second: at each bitrate with the ladder's rung, and on the rungs beside it. Both are compared at
/// the source's size, so that a smaller picture pays for what it left out.
enum PictureFidelity {
  struct Result {
    var bitsPerSecond = 0.0
    var picturesPerSecond = 0.0
    var psnr = 0.0
    var ssim = 0.0
    /// PSNR where each source picture is compared with what is seen at its time.
    var shownPSNR = 0.0

    /// From sums to means.
    mutating func finish(count: Int, byteCount: Int, seconds: Double) {
      psnr /= Double(max(count, 1))
      ssim /= Double(max(count, 1))
      bitsPerSecond = Double(byteCount * 8) / seconds
      picturesPerSecond = Double(count) / seconds
    }
  }

  static func table() throws -> String {
    var text = """
      | target kbit/s | rung | carried kbit/s | pictures/s | PSNR dB | SSIM | PSNR as seen dB |
      | --- | --- | --- | --- | --- | --- | --- |

      """
    for kilobits in [40, 100, 150, 300, 600, 1000, 2000] {
      let chosen = VideoLadder(bitsPerSecond: kilobits * 1000, best: 1).index
      for index in max(1, chosen - 1)...min(chosen + 1, VideoLadder.rungs.count - 1) {
        let rung = VideoLadder.rungs[index]
        let result = try measure(rung, kilobits * 1000, seconds: 8)
        let size = "\(rung.box.width)x\(rung.box.height)@\(rung.framesPerSecond)"
        let cells = [
          result.bitsPerSecond / 1000, result.picturesPerSecond, result.psnr, result.ssim,
          result.shownPSNR,
        ].map(VideoQualityProgram.text)
        text += "| \(kilobits) | \(size)\(index == chosen ? " (chosen)" : "") | "
        text += cells.joined(separator: " | ") + " |\n"
      }
    }
    return text
  }

  private static func measure(
    _ rung: VideoLadder.Rung, _ bitsPerSecond: Int, seconds: Int
  ) throws -> Result {
    let (full, size) = (VideoLadder.usual.box, VideoLadder.usual.box.fitted(into: rung.box))
    var encoder = try VP8Encoder(
      .init(size: size, bitsPerSecond: bitsPerSecond, framesPerSecond: rung.framesPerSecond))
    var decoder = try VP8Decoder()
    var (down, up) = (PictureScaler(), PictureScaler())
    let source = TestPicture(full)
    var (picture, small, seen) = (I420Picture(full), I420Picture(size), I420Picture(full))
    var (decoded, bytes) = (small, [UInt8]())
    var decimator = PictureDecimator()
    var result = Result()
    var (count, byteCount) = (0, 0)
    for index in 0..<(seconds * 30) {
      let time = Int64(index * 1000 / 30)
      source.draw(TestPicture.Stamp(number: UInt16(index), clock: UInt32(time)), into: &picture)
      var isNew = false
      if decimator.takes(milliseconds: time, framesPerSecond: rung.framesPerSecond) {
        down.scale(picture, into: &small)
        isNew = try encoder.encode(small, milliseconds: time, into: &bytes) != nil
      }
      if isNew {
        _ = try decoder.decode(bytes.span, into: &decoded)
        up.scale(decoded, into: &seen)
      }
      // The first two seconds are the rate control's.
      guard index >= 60 else { continue }
      let psnr = PictureQuality.psnr(seen, picture) ?? 0
      result.shownPSNR += psnr / Double((seconds - 2) * 30)
      guard isNew else { continue }
      count += 1
      byteCount += bytes.count
      result.psnr += psnr
      result.ssim += PictureQuality.ssim(seen, picture) ?? 0
    }
    result.finish(count: count, byteCount: byteCount, seconds: Double(seconds - 2))
    return result
  }
}
