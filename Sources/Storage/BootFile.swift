/// How often a server that keeps nothing else has been started. Sessions of the lives before are
/// told by it that they are over (docs/protocol/session.md §8).
package enum BootFile {
  /// Counts one start more.
  ///
  /// - Parameter first: The count where there is no file yet, or none of ours.
  package static func count(at path: String, first: UInt64) throws(StorageError) -> UInt64 {
    let bytes = try PrivateFile.read(path, isSecret: false) ?? []
    let text = String(decoding: bytes.prefix(20), as: UTF8.self)
    let former = UInt64(text.prefix { $0 != "\n" })
    let count = former.map { $0 &+ 1 } ?? first
    try PrivateFile.replace(path, with: Array("\(count)\n".utf8))
    return count
  }
}
