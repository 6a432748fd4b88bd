import Earshot
import EarshotMedia
import Foundation
import Testing

/// Sound that an application takes, and files as both ends of a call.
struct MediaEndsTests {
  private static func folder() throws -> URL {
    let place = FileManager.default.temporaryDirectory
      .appendingPathComponent("earshot-media-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    return place
  }

  @Test func `what is heard comes in its order, and ends with the call`() async throws {
    let output = try PCMOutput()
    for number in Int16(0)..<10 {
      output.write([Int16](repeating: number, count: 480), frameCount: 240)
    }
    output.finish()
    var heard: [[Int16]] = []
    for await block in output { heard.append(block) }
    #expect(heard.map(\.count) == Array(repeating: 240, count: 10))
    #expect(heard.map { $0[0] } == Array(0..<10))
    #expect(output.droppedSampleCount == 0)
  }

  /// Goal: two seconds wait at the most; the newest are kept, and the others counted.
  @Test func `who does not take loses the oldest`() async throws {
    let output = try PCMOutput(channels: 2)
    for number in 0..<1_000 {
      output.write([Int16](repeating: Int16(number), count: 480), frameCount: 240)
    }
    output.finish()
    var heard: [Int16] = []
    for await block in output { heard.append(block[0]) }
    #expect(heard == Array(600..<1_000))
    #expect(output.droppedSampleCount == 600 * 480)
  }

  @Test func `a file that was saved is played again`() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("a.wav").path
    let sink = try AudioFileSink(path)
    #expect(!FileManager.default.fileExists(atPath: path), "it costs no file before there is sound")
    let sound = (0..<4_800).map { Int16($0 % 1_000) }
    sink.write(sound, frameCount: 4_800)
    sink.finish()
    #expect(sink.fault == nil)

    let source = try AudioFileSource(path)
    var block = [Int16](repeating: 0, count: 9_600)
    #expect(source.read(into: &block, frameCount: 9_600) == 4_800)
    #expect(Array(block[..<4_800]) == sound)
    #expect(source.read(into: &block, frameCount: 480) == 0)

    let looped = try AudioFileSource(path, loops: true)
    #expect(looped.read(into: &block, frameCount: 9_600) == 9_600)
    #expect(block[4_800] == 0 && block[5_000] == 200)
  }

  @Test func `a file that is there stays, unless it may be replaced`() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("a.wav").path
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: EarshotError.self) { _ = try AudioFileSink(path) }
    #expect(error?.code == .fileUnusable)
    let sink = try AudioFileSink(path, overwrites: true)
    sink.finish()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious", "nothing was heard")
  }

  @Test func `what is no sound is refused with a sentence`() throws {
    for path in ["/nowhere/a.wav", "/dev/null", "/etc/hostname"] {
      let error = #expect(throws: EarshotError.self) { _ = try AudioFileSource(path) }
      #expect(error?.code == .fileUnusable)
      #expect(error?.advice.isEmpty == false)
    }
    #expect(throws: EarshotError.self) { _ = try AudioFileSink("/nowhere/a.wav") }
    #expect(throws: EarshotError.self) { _ = try AudioFileSink("/tmp/a.unknown") }
    #expect(throws: EarshotError.self) { _ = try PCMOutput(channels: 3) }
  }
}
