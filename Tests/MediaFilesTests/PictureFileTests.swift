import MediaFiles
import Testing

@Suite struct PictureFileTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func file(_ line: String, pictures: [[UInt8]]) -> [UInt8] {
    Array(line.utf8) + [10] + pictures.flatMap { Array("FRAME\n".utf8) + $0 }
  }

  @Test func `reads each picture, and again from the start`() throws {
    let pictures = (0..<3).map { [UInt8](repeating: UInt8($0 + 40), count: 24 * 16 * 3 / 2) }
    let path = try folder.write(
      Self.file("YUV4MPEG2 W24 H16 F30000:1001 Ip A1:1 C420jpeg XNOTE", pictures: pictures),
      to: "a.y4m")
    var reader = try Y4MReader(path)
    let header = reader.header
    #expect(header == (try Y4MHeader(line: Array("YUV4MPEG2 H16 W24 F30000:1001".utf8))))
    #expect(abs(header.framesPerSecond - 29.97) < 0.001)
    #expect(header.milliseconds(of: 30) == 1001)
    for _ in 0..<2 {
      var picture: [UInt8] = []
      for expected in pictures {
        let isThere = try reader.read(into: &picture)
        #expect(isThere)
        #expect(picture == expected)
      }
      let isThere = try reader.read(into: &picture)
      #expect(!isThere)
      try reader.rewind()
    }
  }

  @Test func `rounds the chroma of odd sizes up`() throws {
    let header = try Y4MHeader(line: Array("YUV4MPEG2 W17 H19 F25:1 C420".utf8))
    #expect(header.pictureByteCount == 17 * 19 + 2 * 9 * 10)
  }

  @Test(
    arguments: [
      ("RIFF", .notVideo), ("YUV4MPEG2 W32 F30:1", .notVideo),
      ("YUV4MPEG2 W8 H8 F30:1", .unusablePicture),
      ("YUV4MPEG2 W4096 H4096 F30:1", .unusablePicture),
      ("YUV4MPEG2 W32 H32 F0:0", .unusablePicture),
      ("YUV4MPEG2 W32 H32 F1000:1", .unusablePicture),
      ("YUV4MPEG2 W32 H32 F30:1 C420p10", .unusablePicture),
      ("YUV4MPEG2 W32 H32 F30:1 C444", .unusablePicture),
      ("YUV4MPEG2 W32 H32 F30:1 It", .unusablePicture),
      ("YUV4MPEG2 W99999999999 H32 F30:1", .notVideo),
    ] as [(String, MediaFileError.Code)])
  func `says what is wrong with a file`(line: String, code: MediaFileError.Code) throws {
    let path = try folder.write(Array((line + "\n").utf8), to: "b.y4m")
    #expect(throws: (any Error).self) { _ = try Y4MReader(path).header }
    do {
      _ = try Y4MReader(path).header
    } catch {
      #expect(error.code == code)
      #expect(error.message.contains(path) && !error.advice.isEmpty)
    }
  }

  @Test func `says where a file is damaged`() throws {
    let whole = [UInt8](repeating: 1, count: 16 * 16 * 3 / 2)
    let bytes = Self.file("YUV4MPEG2 W16 H16 F30:1", pictures: [whole, whole])
    var picture: [UInt8] = []
    var reader = try Y4MReader(try folder.write(Array(bytes.dropLast()), to: "c.y4m"))
    let isThere = try reader.read(into: &picture)
    #expect(isThere)
    var message = ""
    do { _ = try reader.read(into: &picture) } catch { message = error.message }
    #expect(message.contains("within picture 2"))
    var other = try Y4MReader(try folder.write(bytes + Array("FRAMES\n".utf8), to: "d.y4m"))
    _ = try other.read(into: &picture)
    _ = try other.read(into: &picture)
    do { _ = try other.read(into: &picture) } catch { message = error.message }
    #expect(message.contains("picture 3 does not begin"))
    var half = try Y4MReader(try folder.write(bytes + Array("FRA".utf8), to: "e.y4m"))
    _ = try half.read(into: &picture)
    _ = try half.read(into: &picture)
    message = ""
    do { _ = try half.read(into: &picture) } catch { message = error.message }
    #expect(message.contains("picture 3 has no whole header"))
    #expect(throws: (any Error).self) { _ = try Y4MReader(folder.file("none")).header }
  }

  @Test func `an IVF file is whole after every frame`() throws {
    let path = folder.file("a.ivf")
    var writer = try IVFWriter(path, width: 640, height: 360)
    let key: [UInt8] = [0x10, 2, 3]
    let delta: [UInt8] = [0x31, 5]
    try writer.write(key.span, milliseconds: 500)
    try writer.write(delta.span, milliseconds: 500)
    // As if killed: nothing was closed.
    var bytes = try folder.bytes(of: "a.ivf")
    #expect(
      Array(bytes[0..<16]) == Array("DKIF".utf8) + [0, 0, 32, 0] + Array("VP80".utf8) + [
        0x80, 2, 0x68, 1,
      ])
    #expect(Array(bytes[16..<28]) == [0xE8, 3, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    #expect(Array(bytes[32..<47]) == [3, 0, 0, 0, 0xF4, 1, 0, 0, 0, 0, 0, 0] + key)
    #expect(Array(bytes[47...]) == [2, 0, 0, 0, 0xF5, 1, 0, 0, 0, 0, 0, 0] + delta)
    try writer.close()
    bytes = try folder.bytes(of: "a.ivf")
    #expect(bytes[24] == 2 && writer.frameCount == 2)
  }

  @Test func `the size may be said when it is known`() throws {
    let path = folder.file("b.ivf")
    var writer = try IVFWriter(path, width: 0, height: 0)
    try writer.setSize(width: 640, height: 360)
    let key: [UInt8] = [0x10, 2, 3]
    try writer.write(key.span, milliseconds: 0)
    let bytes = try folder.bytes(of: "b.ivf")
    #expect(Array(bytes[12..<16]) == [0x80, 2, 0x68, 1] && bytes.count == 47)
    try writer.close()
  }

  @Test func `says where a file cannot be saved`() {
    #expect(throws: (any Error).self) {
      _ = try IVFWriter(folder.file("no/a.ivf"), width: 16, height: 16).frameCount
    }
  }
}
