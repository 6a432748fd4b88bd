import Glibc

/// A directory of one test's own, removed with everything in it when the test ends.
final class Scratch {
  let path: String

  init() {
    var template = Array("/tmp/earshot-storage-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
    }
    precondition(made, "no place for scratch files")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    chmod(path, 0o700)
    removeAll(path)
  }

  func file(_ name: String) -> String { path + "/" + name }

  func chmod(_ path: String, _ mode: mode_t) { _ = unsafe Glibc.chmod(path, mode) }

  func mode(_ path: String) -> mode_t {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  func names() -> [String] { names(in: path) }

  private func names(in path: String) -> [String] {
    guard let directory = unsafe opendir(path) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) {
    let number = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC, mode)
    _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
    _ = close(number)
    chmod(file(name), mode)
  }

  func read(_ name: String) -> [UInt8] {
    let number = unsafe open(file(name), O_RDONLY)
    defer { _ = close(number) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(number, $0.baseAddress, 1 << 20)
    }
    return Array(bytes[..<max(0, count)])
  }

  private func removeAll(_ path: String) {
    for name in names(in: path) { removeAll(path + "/" + name) }
    _ = unsafe remove(path)
  }
}

/// Modes do not stop the superuser: tests of modes are for everybody else.
var isSuperuser: Bool { geteuid() == 0 }
