/// What `tools/coverage --write` measured: of each source file the share of its lines that the unit
/// tests run. A row is `SHARE PATH`; SHARE is in whole %, or `-` for a file without a line to run.
struct CoverageTable {
  /// In %, by path; nil: nothing in the file runs.
  private(set) var shares: [String: Int?] = [:]
  /// Rows that are none.
  private(set) var unread: [String] = []

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      let share = words.first.flatMap { Int($0) }
      guard words.count == 2, words[0] == "-" || share.map((0...100).contains) == true,
        !shares.keys.contains(words[1])
      else {
        unread.append(String(line))
        continue
      }
      shares.updateValue(share, forKey: words[1])
    }
  }

  /// Files of which less than `least` % run, by path.
  func paths(below least: Int) -> [String] {
    shares.filter { $0.value.map { $0 < least } ?? false }.keys.sorted()
  }

  /// Of `paths`, those that came after the table was written.
  func unmeasured(of paths: [String]) -> [String] { paths.filter { !shares.keys.contains($0) } }

  /// Rows of files that are gone.
  func gone(since paths: [String]) -> [String] {
    Set(shares.keys).subtracting(paths).sorted()
  }
}
