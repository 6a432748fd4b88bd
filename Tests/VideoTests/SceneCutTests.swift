import Primitives
import Testing
import Video

/// Pictures that libvpx finds hard: a texture that moves, and a cut to it from one that is easy.
@Suite struct SceneCutTests {
  private static let size = PictureTests.size(640, 480)

  /// A slope, and on it as much noise as said, which moves by three pixels a picture.
  private static func draw(
    _ index: Int, noise: Int, _ texture: [UInt8], _ picture: inout I420Picture
  ) {
    for y in 0..<size.height {
      for x in 0..<size.width {
        let place = (y * 7 + x + index * 3) % texture.count
        let value = 60 + (x + y) / 12 + (Int(texture[place]) * noise) / 256
        picture.bytes[y * size.width + x] = UInt8(clamping: value)
      }
    }
    let luma = size.width * size.height
    for place in luma..<picture.bytes.count { picture.bytes[place] = 128 }
  }

  /// Goal: noise, which is nothing to a coarse quantizer and far too much to a finer one, makes one
  /// frame too large and not one after the other. Method: what each frame takes of the average.
  @Test(arguments: [600_000, 1_500_000], [15, 40])
  func `a cut to a hard picture makes one frame that is far too large`(
    rate: Int, noise: Int
  ) throws {
    var encoder = try VP8Encoder(
      VP8Encoder.Settings(size: Self.size, bitsPerSecond: rate, temporalLayers: 2))
    var random = RandomSource(seed: 41)
    let texture = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
    var picture = I420Picture(Self.size)
    var shares: [Int] = []
    var output: [UInt8] = []
    for index in 0..<150 {
      Self.draw(index, noise: index < 60 ? 0 : noise, texture, &picture)
      let time = Int64(index * 1000 / 30)
      let frame = try encoder.encode(picture, milliseconds: time, into: &output)
      shares.append(frame == nil ? 0 : output.count * 8 * 3000 / rate)
    }
    let after = shares[60..<150]
    #expect(after.count { $0 > 500 } == 1, "per cent of the average: \(after)")
    #expect(after.count { $0 == 0 } <= 10, "per cent of the average: \(after)")
    #expect(after.suffix(60).reduce(0, +) <= 60 * 115)
  }
}
