import Foundation
import Fuzzing
import Primitives
import Testing

/// What fuzzing has found worth keeping, through the same entries, in every run.
///
/// A target fails by stopping the process, so a failure here is a crash: the last started test
/// names the target.
@Suite struct CorpusTests {
  private static let corpora: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    folder.deleteLastPathComponent()
    return folder.deletingLastPathComponent().appendingPathComponent("Corpora")
  }()

  @Test(arguments: FuzzTarget.all.map(\.name))
  func `takes every file of its corpus`(name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let folder = Self.corpora.appendingPathComponent(name)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(!files.isEmpty, "run tools/fuzz \(name): a corpus has at least the seeds")
    for file in files {
      target.run(Array(try Data(contentsOf: folder.appendingPathComponent(file))))
    }
  }

  /// Goal: the border cases that a fuzzer finds first are also tried where there is none.
  /// Method: every seed cut at every length, and with 300 seeded changes of up to four bytes.
  @Test(arguments: FuzzTarget.all.map(\.name))
  func `takes every seed cut short and changed`(name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    var random = RandomSource(seed: 1)
    let seeds = target.seeds()
    #expect(!seeds.isEmpty)
    for seed in seeds {
      for length in stride(from: 0, through: seed.count, by: max(1, seed.count / 300)) {
        target.run(Array(seed.prefix(length)))
      }
      for _ in 0..<300 where !seed.isEmpty {
        var changed = seed
        for _ in 0...Int(random.next() & 3) {
          changed[Int(random.next() % UInt64(seed.count))] = UInt8(
            truncatingIfNeeded: random.next())
        }
        target.run(changed)
      }
    }
  }

  @Test func `every corpus has its target`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
    #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
  }
}
