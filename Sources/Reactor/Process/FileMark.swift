internal import Glibc

/// What tells one file from another, whatever it is called: through symbolic links, hard links and
/// `./`. Equal marks mean that who writes to one writes to the other.
package enum FileMark: Hashable, Sendable {
  /// A file that is there.
  case present(device: UInt64, inode: UInt64)
  /// One that is not there yet: its folder, and its name in it.
  case awaited(device: UInt64, inode: UInt64, name: String)

  /// `nil` for terminals and devices, which anybody may share, and where nobody can tell.
  package init?(path: String) {
    var path = path
    var status = stat()
    // Links that lead nowhere are followed by hand, as far as the kernel would.
    for _ in 0..<8 where unsafe stat(path, &status) != 0 {
      guard let next = Self.destination(of: path) else { break }
      path = next
    }
    if unsafe stat(path, &status) == 0 {
      self.init(status)
      return
    }
    let slash = path.lastIndex(of: "/")
    let name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
    guard !name.isEmpty, unsafe stat(Self.folder(of: path), &status) == 0 else { return nil }
    self = .awaited(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), name: name)
  }

  /// The file behind a standard stream; `nil` for a terminal or a pipe.
  package init?(stream: Stream) {
    var status = stat()
    guard unsafe fstat(stream.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    self.init(status)
  }

  /// The standard streams.
  package enum Stream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2
  }

  private init?(_ status: stat) {
    guard status.st_mode & S_IFMT != S_IFCHR else { return nil }
    self = .present(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Where a symbolic link points; `nil` when it is none.
  private static func destination(of path: String) -> String? {
    var room = [CChar](repeating: 0, count: 4096)
    let capacity = room.count
    let count = unsafe readlink(path, &room, capacity)
    guard count > 0 else { return nil }
    let text = String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.hasPrefix("/") ? text : folder(of: path) + "/" + text
  }
}
