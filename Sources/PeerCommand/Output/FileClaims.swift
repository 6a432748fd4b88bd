internal import Earshot
internal import MediaFiles
internal import Reactor

/// The files that one command line reads and writes. A file that is written to may not be another
/// one of them: what is read would be lost, and two writers would spoil each other's lines.
package struct FileClaims {
  private struct Claim {
    /// The option that names it.
    var option: String
    var path: String
    var mark: FileMark
    var isWritten: Bool
  }

  private var claims: [Claim] = []

  package init() {
    claim(FileMark(stream: .input), "standard input", "standard input", isWritten: false)
    claim(FileMark(stream: .output), "standard output", "standard output", isWritten: true)
    // Both streams may well be one file.
  }

  /// `option` reads `path`; `nil` and `-` are no file.
  package mutating func reads(_ path: String?, _ option: String) {
    guard let path, path != "-" else { return }
    claim(FileMark(path: path), option, path, isWritten: false)
  }

  /// The identity, and what is remembered beside it.
  package mutating func keepsIdentity(_ given: String?) {
    // Without a home directory there is none to keep, which is told where it is opened.
    guard let path = try? LocalIdentityFile.path(given) else { return }
    reads(path, "--identity")
    for end in Self.remembered { reads(path + end, "--identity") }
  }

  /// What stands behind the name of an identity in those of files that are kept beside it.
  private static let remembered = [
    ".known-peers", ".nodes", ".receipts", ".probes", ".probe-history",
  ].flatMap { [$0, $0 + ".lock"] }

  /// Whether a file of this name is read as what is remembered beside some identity. Some file
  /// systems do not tell letters by their case.
  static func isRemembered(_ name: String) -> Bool {
    let name = name.lowercased()
    // What all identities of a folder once shared is read too.
    return name == "known-peers" || remembered.contains { name.hasSuffix($0) }
  }

  /// `option` writes to `path`; `nil` and `-` are no file.
  package mutating func writes(_ path: String?, _ option: String) {
    guard let path, path != "-" else { return }
    claim(FileMark(path: path), option, path, isWritten: true)
  }

  private mutating func claim(
    _ mark: FileMark?, _ option: String, _ path: String, isWritten: Bool
  ) {
    guard let mark else { return }
    claims.append(Claim(option: option, path: path, mark: mark, isWritten: isWritten))
  }

  /// Refuses a file that two options name and one of them writes to.
  package func check() throws(CommandFailure) {
    for (index, later) in claims.enumerated() {
      let clash = claims[..<index].first { earlier in
        earlier.mark == later.mark && (earlier.isWritten || later.isWritten)
      }
      guard let clash else { continue }
      let (kept, written) = later.isWritten ? (clash, later) : (later, clash)
      // The streams were opened by the shell: only the other one can be changed here.
      let changed = written.option.hasPrefix("--") ? written : kept
      throw CommandFailure(
        .usage,
        "\(written.option) and \(kept.option) name the same file, \(changed.path).",
        advice: "Give \(changed.option) another file.")
    }
  }
}

extension PendingFile {
  /// Opens what an option names, with an error in the words of files.
  static func open(_ path: String, overwrites: Bool) throws(MediaFileError) -> PendingFile {
    do throws(ReactorError) {
      return try PendingFile(path, overwrites: overwrites)
    } catch {
      throw MediaFileError.cannotCreate(path, errorNumber: error.errno)
    }
  }

  /// A descriptor for a writer of its own.
  func descriptor() throws(MediaFileError) -> Int32 {
    do throws(ReactorError) {
      return try duplicate()
    } catch {
      throw MediaFileError.cannotCreate(path, errorNumber: error.errno)
    }
  }

  /// Gives the file its name; what went wrong, in a sentence.
  func placed() -> String? {
    do throws(ReactorError) {
      try place()
      return nil
    } catch {
      return "\(path) cannot be created: \(error.reason)."
    }
  }
}
