import Primitives
import Testing
import Video

@Suite struct PictureTests {
  static func size(_ width: Int, _ height: Int) -> PictureSize {
    PictureSize(width: width, height: height) ?? VideoLadder.usual.box
  }

  @Test func `a picture has three planes without gaps`() throws {
    let picture = try #require(I420Picture(width: 17, height: 19))
    #expect(picture.range(of: .luma) == 0..<323)
    #expect(picture.range(of: .blue) == 323..<413)
    #expect(picture.range(of: .red).upperBound == picture.bytes.count)
    #expect(I420Picture(width: 15, height: 100) == nil)
    #expect(I420Picture(width: 4096, height: 4096) == nil)
  }

  @Test(arguments: [
    (1280, 720, 320, 240, 320, 180), (640, 480, 160, 120, 160, 120),
    (720, 1280, 320, 240, 134, 240),
    (200, 100, 320, 240, 200, 100), (1000, 20, 160, 120, 160, 16),
  ])
  func `is fitted into a box without changing shape`(
    width: Int, height: Int, boxWidth: Int, boxHeight: Int, fittedWidth: Int, fittedHeight: Int
  ) {
    let fitted = Self.size(width, height).fitted(into: Self.size(boxWidth, boxHeight))
    #expect(fitted == Self.size(fittedWidth, fittedHeight))
  }

  @Test(arguments: [
    (1280, 720, 640, 360), (640, 480, 160, 120), (160, 120, 640, 480), (97, 33, 131, 77),
    (320, 240, 321, 100),
  ])
  func `scaling keeps an even picture even`(width: Int, height: Int, toWidth: Int, toHeight: Int) {
    var source = I420Picture(Self.size(width, height))
    for index in source.bytes.indices { source.bytes[index] = index < width * height ? 200 : 77 }
    var target = I420Picture(Self.size(toWidth, toHeight))
    var scaler = PictureScaler()
    scaler.scale(source, into: &target)
    #expect(target.bytes[..<(toWidth * toHeight)].allSatisfy { $0 == 200 })
    #expect(target.bytes[(toWidth * toHeight)...].allSatisfy { $0 == 77 })
  }

  @Test func `scaling down takes the mean, and scaling up puts it back`() throws {
    var source = I420Picture(Self.size(32, 32))
    for y in 0..<32 {
      for x in 0..<32 { source.bytes[y * 32 + x] = UInt8(4 * x + (x + y) % 2 * 2) }
    }
    var half = I420Picture(Self.size(16, 16))
    var scaler = PictureScaler()
    scaler.scale(source, into: &half)
    for x in 0..<16 { #expect(abs(Int(half.bytes[5 * 16 + x]) - (8 * x + 3)) <= 1) }
    var again = I420Picture(Self.size(32, 32))
    scaler.scale(half, into: &again)
    #expect(try #require(PictureQuality.psnr(again, source)) > 40)
    scaler.scale(again, into: &source)
    #expect(source == again, "the same size is a copy")
  }

  @Test(arguments: [(64, 48), (72, 52), (48, 36), (36, 24), (58, 34), (24, 18), (94, 70), (96, 24)])
  func `a smaller picture's pixel is the mean of the area that it covers`(width: Int, height: Int) {
    var random = RandomSource(seed: 6)
    var source = I420Picture(Self.size(96, 72))
    for index in source.bytes.indices {
      source.bytes[index] = UInt8.random(in: 0...255, using: &random)
    }
    var target = I420Picture(Self.size(width, height))
    var scaler = PictureScaler()
    scaler.scale(source, into: &target)
    /// How much of a source pixel is in a target pixel, in one dimension.
    func share(_ from: Int, _ to: Int, _ count: Int, _ all: Int) -> Double {
      let step = Double(all) / Double(count)
      let begin = max(Double(from), Double(to) * step)
      return max(0, min(Double(from + 1), Double(to + 1) * step) - begin) / step
    }
    for y in 0..<height {
      for x in 0..<width {
        var mean = 0.0
        for row in 0..<72 where share(row, y, height, 72) > 0 {
          for column in 0..<96 {
            mean +=
              Double(source.bytes[row * 96 + column]) * share(row, y, height, 72)
              * share(column, x, width, 96)
          }
        }
        #expect(abs(Double(target.bytes[y * width + x]) - mean) <= 1, "\(x), \(y)")
      }
    }
  }

  @Test func `PSNR and SSIM of known differences`() throws {
    let size = Self.size(64, 48)
    let original = I420Picture(size)
    var other = original
    #expect(PictureQuality.psnr(original, other) == 100)
    #expect(PictureQuality.ssim(original, other) == 1)
    for index in 0..<size.pixelCount { other.bytes[index] += 1 }
    #expect(abs(try #require(PictureQuality.psnr(original, other)) - 48.13) < 0.01)
    #expect(PictureQuality.meanSquareError(original, other) == 1)
    var random = RandomSource(seed: 3)
    for index in 0..<size.pixelCount {
      other.bytes[index] = UInt8.random(in: 0...255, using: &random)
    }
    #expect(try #require(PictureQuality.ssim(original, other)) < 0.1)
    #expect(PictureQuality.psnr(original, I420Picture(Self.size(48, 64))) == nil)
  }

  @Test func `a test picture says its number and time`() {
    var random = RandomSource(seed: 4)
    for (width, height) in [(160, 120), (320, 180), (641, 361), (1280, 720), (120, 160)] {
      let source = TestPicture(Self.size(width, height))
      var picture = I420Picture(source.size)
      for _ in 0..<10 {
        let stamp = TestPicture.Stamp(
          number: UInt16.random(in: 0...UInt16.max, using: &random),
          clock: UInt32.random(in: 0...0xFF_FFFF, using: &random))
        source.draw(stamp, into: &picture)
        #expect(TestPictureReader.stamp(of: picture) == stamp)
      }
    }
  }

  @Test func `a picture that is none has no stamp`() {
    var picture = I420Picture(Self.size(320, 240))
    #expect(TestPictureReader.stamp(of: picture) == nil)
    var random = RandomSource(seed: 5)
    for index in picture.bytes.indices {
      picture.bytes[index] = UInt8.random(in: 0...255, using: &random)
    }
    #expect(TestPictureReader.stamp(of: picture) == nil)
  }

  @Test(arguments: [(160, 120), (320, 240), (1280, 720)])
  func `a stamp survives scaling`(width: Int, height: Int) {
    let source = TestPicture(Self.size(640, 480))
    var picture = I420Picture(source.size)
    var scaled = I420Picture(Self.size(width, height))
    var scaler = PictureScaler()
    for number in 0..<50 as Range<UInt16> {
      let stamp = TestPicture.Stamp(number: number * 1301, clock: UInt32(number) * 33_333)
      source.draw(stamp, into: &picture)
      scaler.scale(picture, into: &scaled)
      #expect(TestPictureReader.stamp(of: scaled) == stamp)
    }
  }

  @Test func `a decimator takes evenly what is asked for`() {
    for (source, wanted) in [(30, 30), (30, 15), (30, 24), (30, 8), (25, 30), (60, 30), (24, 12)] {
      var decimator = PictureDecimator()
      var taken: [Int64] = []
      for index in 0..<(source * 20) {
        let time = Int64(index * 1000 / source)
        if decimator.takes(milliseconds: time, framesPerSecond: wanted) { taken.append(time) }
      }
      let rate = Double(taken.count) / 20
      #expect(abs(rate - Double(min(source, wanted))) <= 0.07 * Double(min(source, wanted)) + 0.1)
      let gaps = zip(taken, taken.dropFirst()).map { $1 - $0 }
      #expect((gaps.max() ?? 0) <= Int64(2000 / min(source, wanted)) + 1)
    }
  }
}
