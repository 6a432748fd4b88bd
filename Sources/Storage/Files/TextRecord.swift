/// The shape that our small files share: a title line, lines of words, and a last line with a sum.
///
///     earshot identity 1
///     id ybndrfg8…
///     end 9f86d081884c7d65
///
/// People can read and copy such a file; a half-written or changed one is noticed.
enum TextRecord {
  static func write(title: String, lines: [String]) -> [UInt8] {
    var text = title + "\n"
    for line in lines { text += line + "\n" }
    let sum = sum(text.utf8)
    return Array("\(text)end \(String(sum, radix: 16))\n".utf8)
  }

  /// The words of each line between the title and the end, at least one a line; comments and blank
  /// lines are skipped.
  static func read(
    _ bytes: [UInt8], title: String, path: String
  ) throws(StorageError) -> [[Substring]] {
    let text = String(decoding: bytes, as: UTF8.self)
    let family = title.split(separator: " ").dropLast().joined(separator: " ") + " "
    guard text.hasPrefix(family) || family.hasPrefix(text) else {
      throw StorageError(
        .foreign, path, "\(path) is not an '\(family)file'; it was left as it is.",
        advice: "Choose another path, or move it away.")
    }
    if !text.hasPrefix(title + "\n"), text.contains("\n") {
      throw StorageError(
        .newerVersion, path, "\(path) was written by a newer version.",
        advice: "Run that version, or choose another path.")
    }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard text.hasSuffix("\n"), lines.popLast() != nil, let last = lines.popLast(),
      last.hasPrefix("end "), lines.first == title[...]
    else {
      throw StorageError(
        .truncated, path, "\(path) is cut short; it was left as it is.",
        advice: "Restore it from a copy, or move it away to begin anew.")
    }
    var body = ""
    for line in lines { body += line + "\n" }
    guard UInt64(last.dropFirst(4), radix: 16) == sum(body.utf8) else { throw damaged(path) }
    return lines.dropFirst().filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
      .filter { !$0.isEmpty }
  }

  static func damaged(_ path: String) -> StorageError {
    StorageError(
      .corrupt, path, "\(path) is damaged; it was left as it is.",
      advice: "Restore it from a copy, or move it away to begin anew.")
  }

  /// FNV-1a, 64 bits: against accidents, not against people who may write the file anyway.
  private static func sum(_ text: String.UTF8View) -> UInt64 {
    text.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
