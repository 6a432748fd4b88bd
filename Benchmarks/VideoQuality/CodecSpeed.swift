import Video

/// Thread CPU time of each stage, for a picture of the moving test picture.
enum CodecSpeed {
  static func table() throws -> String {
    var text = """
      | picture, kbit/s | draw ms | scale to ms | encode ms | p95 ms | decode ms |
      | --- | --- | --- | --- | --- | --- |

      """
    for (width, height, rate) in [(320, 240, 150), (640, 480, 500), (1280, 720, 1200)] {
      guard let size = PictureSize(width: width, height: height) else { continue }
      text += try row(size, rate)
    }
    return text
  }

  private static func row(_ size: PictureSize, _ kilobits: Int) throws -> String {
    var encoder = try VP8Encoder(.init(size: size, bitsPerSecond: kilobits * 1000))
    var decoder = try VP8Decoder()
    var scaler = PictureScaler()
    let source = TestPicture(size)
    var picture = I420Picture(size)
    let original = I420Picture(VideoLadder.usual.box)
    var scaled = I420Picture(size)
    var decoded = picture
    var bytes: [UInt8] = []
    var spent = (draw: 0.0, scale: 0.0, decode: 0.0)
    var encodes: [Double] = []
    for index in 0..<150 {
      let stamp = TestPicture.Stamp(number: UInt16(index), clock: UInt32(index * 1000 / 30))
      spent.draw += measure { source.draw(stamp, into: &picture) }
      spent.scale += measure { scaler.scale(original, into: &scaled) }
      var frame: EncodedFrame?
      encodes.append(
        try measure {
          frame = try encoder.encode(picture, milliseconds: Int64(index * 1000 / 30), into: &bytes)
        })
      if frame != nil {
        spent.decode += try measure { _ = try decoder.decode(bytes.span, into: &decoded) }
      }
    }
    let mean = encodes.reduce(0, +) / Double(encodes.count)
    let high = encodes.sorted()[encodes.count * 95 / 100]
    let cells = [spent.draw / 150, spent.scale / 150, mean, high, spent.decode / 150]
      .map(VideoQualityProgram.text)
    return "| \(size.width)x\(size.height), \(kilobits) | " + cells.joined(separator: " | ")
      + " |\n"
  }

  /// Milliseconds.
  private static func measure(_ body: () throws -> Void) rethrows -> Double {
    let before = VideoQualityProgram.threadNanoseconds()
    try body()
    return Double(VideoQualityProgram.threadNanoseconds() - before) / 1_000_000
  }
}
