import Foundation
import Video

/// What somebody saw of `--video test`, from the file that `--save-video` left: each picture is
/// decoded, its stamp read, its original drawn again and compared at the original's size, so that
/// a smaller picture pays for what it left out.
enum SavedPictures {
  enum Fault: Error { case notReadable(String), notIVF(String) }

  private struct Frame {
    var milliseconds: Int
    var bytes: [UInt8]
  }

  /// Lines of `shown ms,number,clock ms,width,height,PSNR,SSIM`; number and clock are empty where
  /// no stamp could be read, the last two where the picture was not compared: all but one in
  /// `every`.
  static func table(_ path: String, every: Int) throws -> String {
    let full = VideoLadder.usual.box
    let source = TestPicture(full)
    var (original, seen, decoded) = (I420Picture(full), I420Picture(full), I420Picture(full))
    var decoder = try VP8Decoder()
    var scaler = PictureScaler()
    var text = ""
    for (index, frame) in try frames(path).enumerated() {
      guard try decoder.decode(frame.bytes.span, into: &decoded) else { continue }
      let stamp = TestPictureReader.stamp(of: decoded)
      text += "\(frame.milliseconds),"
      text += stamp.map { "\($0.number),\($0.clock)" } ?? ","
      text += ",\(decoded.width),\(decoded.height)"
      if let stamp, index % every == 0 {
        source.draw(stamp, into: &original)
        scaler.scale(decoded, into: &seen)
        let psnr = PictureQuality.psnr(seen, original) ?? 0
        let ssim = PictureQuality.ssim(seen, original) ?? 0
        text += ",\(VideoQualityProgram.text(psnr)),\(String(format: "%.4f", ssim))\n"
      } else {
        text += ",,\n"
      }
    }
    return text
  }

  private static func frames(_ path: String) throws -> [Frame] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Fault.notReadable(path)
    }
    let bytes = [UInt8](data)
    guard bytes.count >= 32, bytes[0..<4].elementsEqual("DKIF".utf8),
      bytes[8..<12].elementsEqual("VP80".utf8)
    else { throw Fault.notIVF(path) }
    func number(_ place: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
    }
    var frames: [Frame] = []
    var place = 32
    while place + 12 <= bytes.count {
      let size = number(place, 4)
      let time = number(place + 4, 7)
      guard size <= bytes.count - place - 12 else { break }
      frames.append(
        Frame(milliseconds: time, bytes: Array(bytes[(place + 12)..<(place + 12 + size)])))
      place += 12 + size
    }
    return frames
  }
}
