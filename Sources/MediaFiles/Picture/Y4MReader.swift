internal import Glibc

/// Reads the pictures of a YUV4MPEG2 file, or of the one that standard input brings (`-`): 8 bits,
/// 4:2:0, any frame rate.
@safe package struct Y4MReader: ~Copyable {
  package let path: String
  package let header: Y4MHeader
  /// Pictures read since the beginning or the last `rewind`.
  package private(set) var position = 0

  private let file: UnsafeMutablePointer<FILE>
  private let firstPicture: Int
  private let isStandardInput: Bool

  package init(_ path: String) throws(MediaFileError) {
    let file = try unsafe path == "-" ? Self.openInput() : Self.open(path)
    let named = path == "-" ? "standard input" : path
    let first: (header: Y4MHeader, byteCount: Int)
    do throws(MediaFileError) {
      first = try unsafe Self.firstLine(file, named)
    } catch {
      unsafe fclose(file)
      throw error
    }
    unsafe self.file = unsafe file
    self.path = named
    isStandardInput = path == "-"
    header = first.header
    firstPicture = first.byteCount
  }

  deinit { unsafe fclose(file) }

  /// Whether a picture has begun to come, or the end; a file never keeps anybody waiting.
  package var isReady: Bool {
    guard isStandardInput else { return true }
    var entry = unsafe pollfd(fd: fileno(file), events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) > 0
  }

  /// Reads the next picture; its planes, one after the other, replace those of `picture`.
  ///
  /// - Returns: `false` at the end of the file.
  package mutating func read(into picture: inout [UInt8]) throws(MediaFileError) -> Bool {
    let line: [UInt8]
    switch unsafe Self.line(file, most: Self.longestLine) {
    case .whole(let found): line = found
    case .nothing: return false
    case .unended: throw .damaged(path, reason: "picture \(position + 1) has no whole header.")
    }
    guard line.starts(with: "FRAME".utf8), line.count == 5 || line[5] == UInt8(ascii: " ") else {
      throw .damaged(path, reason: "picture \(position + 1) does not begin with FRAME.")
    }
    let wanted = header.pictureByteCount
    if picture.count != wanted { picture = Array(repeating: 0, count: wanted) }
    let file = unsafe file
    let count = unsafe picture.withUnsafeMutableBytes {
      unsafe fread($0.baseAddress, 1, wanted, file)
    }
    guard count == wanted else {
      throw .damaged(path, reason: "it ends within picture \(position + 1).")
    }
    position += 1
    return true
  }

  /// Goes back to the first picture.
  package mutating func rewind() throws(MediaFileError) {
    guard unsafe fseek(file, firstPicture, SEEK_SET) == 0 else {
      throw .unreadable(path, errorNumber: errno)
    }
    position = 0
  }

  /// Without a buffer of our own, so that the kernel's says whether there is anything.
  private static func openInput() throws(MediaFileError) -> UnsafeMutablePointer<FILE> {
    var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&entry, 1, longestWait) > 0 else {
      throw .notVideo("standard input", reason: "nothing came in \(longestWait / 1000) s")
    }
    let number = dup(STDIN_FILENO)
    guard number >= 0, let file = unsafe fdopen(number, "rb") else {
      throw .unreadable("standard input", errorNumber: errno)
    }
    unsafe setvbuf(file, nil, _IONBF, 0)
    return unsafe file
  }

  private static func open(_ path: String) throws(MediaFileError) -> UnsafeMutablePointer<FILE> {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      throw errno == ENOENT ? .missing(path) : .unreadable(path, errorNumber: errno)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw .isDirectory(path) }
    let writer = try AwaitedWriter(of: path)
    defer { withExtendedLifetime(writer) {} }
    guard let file = unsafe fopen(path, "rbe") else {
      throw .unreadable(path, errorNumber: errno)
    }
    return unsafe file
  }

  private static func firstLine(
    _ file: UnsafeMutablePointer<FILE>, _ path: String
  ) throws(MediaFileError) -> (Y4MHeader, Int) {
    guard case .whole(let line) = unsafe line(file, most: longestLine) else {
      throw .notVideo(path, reason: "its first line does not end")
    }
    return (try header(path, line), line.count + 1)
  }

  private static func header(_ path: String, _ line: [UInt8]) throws(MediaFileError) -> Y4MHeader {
    do throws(Y4MHeader.Refusal) {
      return try Y4MHeader(line: line)
    } catch {
      throw error.isAboutPictures
        ? .unusablePicture(path, reason: error.reason) : .notVideo(path, reason: error.reason)
    }
  }

  private enum Line {
    /// Without its line feed.
    case whole([UInt8])
    /// The file ends before it.
    case nothing
    /// There is no line feed in what is left, or not for long.
    case unended
  }

  /// What stands before the next line feed, of which there must be one in the next `most` bytes.
  private static func line(_ file: UnsafeMutablePointer<FILE>, most: Int) -> Line {
    var line: [UInt8] = []
    while line.count < most {
      let byte = unsafe getc(file)
      guard byte != EOF else { return line.isEmpty ? .nothing : .unended }
      if byte == 10 { return .whole(line) }
      line.append(UInt8(truncatingIfNeeded: byte))
    }
    return .unended
  }

  private static let longestLine = 1024
  /// Milliseconds: a camera program has begun by then.
  private static let longestWait: Int32 = 10_000
}
