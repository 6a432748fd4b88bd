import Foundation
import Fuzzing
import Testing

@Suite struct SeedWriting {
  @Test(arguments: ["channel-directory", "channel-client", "rendezvous-message", "token-claims"])
  func `writes seeds`(name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    var folder = URL(fileURLWithPath: #filePath)
    folder.deleteLastPathComponent()
    folder = folder.deletingLastPathComponent().appendingPathComponent("Corpora/" + name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (index, seed) in target.seeds().enumerated() {
      try Data(seed).write(to: folder.appendingPathComponent("seed-\(index)"))
    }
  }
}
