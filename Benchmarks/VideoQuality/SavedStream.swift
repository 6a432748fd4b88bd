import MediaFiles
import Video

/// Ten seconds of the test picture at the ladder's rung, in a file for a player: the rung changes
/// half-way, where the bitrate halves.
enum SavedStream {
  static func write(_ path: String, kilobits: Int) throws {
    let full = VideoLadder.usual.box
    let source = TestPicture(full)
    var picture = I420Picture(full)
    var scaler = PictureScaler()
    var encoder = try VP8Encoder(.init(size: full, bitsPerSecond: kilobits * 1000))
    var file = try IVFWriter(path, width: full.width, height: full.height)
    var decimator = PictureDecimator()
    var bytes: [UInt8] = []
    for index in 0..<300 {
      let rate = index < 150 ? kilobits * 1000 : kilobits * 500
      let rung = VideoLadder.rungs[VideoLadder(bitsPerSecond: rate, best: 1).index]
      let time = Int64(index * 1000 / 30)
      guard decimator.takes(milliseconds: time, framesPerSecond: rung.framesPerSecond) else {
        continue
      }
      let size = full.fitted(into: rung.box)
      try encoder.reconfigure(
        .init(size: size, bitsPerSecond: rate, framesPerSecond: rung.framesPerSecond))
      source.draw(TestPicture.Stamp(number: UInt16(index), clock: UInt32(time)), into: &picture)
      var small = I420Picture(size)
      scaler.scale(picture, into: &small)
      guard try encoder.encode(small, milliseconds: time, into: &bytes) != nil else { continue }
      try file.write(bytes.span, milliseconds: time)
    }
    try file.close()
  }
}
