internal import CLinux

/// The commit that the program was built from, where its build was told (`tools/package`).
package enum BuildCommit {
  /// In hexadecimal, with `-changed` where files differed; empty where it is not known.
  package static var text: String { unsafe String(cString: earshot_commit()) }

  /// What `--version` says: `earshot 0.1.0 (1b2c3d4e5f60)`.
  ///
  /// - Parameter commit: `text`.
  package static func line(
    _ program: String, _ version: String, commit: String = text
  ) -> String {
    commit.isEmpty ? "\(program) \(version)" : "\(program) \(version) (\(commit))"
  }
}
