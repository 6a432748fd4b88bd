import Glibc
import Testing

@testable import Storage

@Suite struct SecretTextFileTests {
  private let scratch = Scratch()

  private func write(_ bytes: [UInt8]) throws -> String {
    let path = scratch.file("secret")
    try PrivateFile.replace(path, with: bytes)
    return path
  }

  @Test func `hands over what only its owner may read`() throws {
    let path = try write([65, 66, 10])
    let found: [UInt8] = try SecretTextFile.read(path) { $0 }
    #expect(found == [65, 66, 10])
  }

  @Test func `refuses a file that others may open, that is missing, or that cannot be used`() throws
  {
    let path = try write([65])
    scratch.chmod(path, 0o640)
    let exposed = #expect(throws: StorageError.self) { try SecretTextFile.read(path) { $0 } }
    #expect(exposed?.code == .exposed)
    let missing = #expect(throws: StorageError.self) {
      try SecretTextFile.read(scratch.file("none")) { $0 }
    }
    #expect(missing?.code == .notReadable)
    let pipe = scratch.file("pipe")
    let isMade = unsafe mkfifo(pipe, 0o600)
    #expect(isMade == 0)
    let piped = #expect(throws: StorageError.self) { try SecretTextFile.read(pipe) { $0 } }
    #expect(piped?.code == .foreign)
    scratch.chmod(path, 0o600)
    let useless = #expect(throws: StorageError.self) {
      try SecretTextFile.read(path) { _ in Int?.none }
    }
    #expect(useless?.code == .corrupt && useless?.advice.hasSuffix(".") == true)
  }

  /// What `stat` says of a credential of systemd that its service may read by an access list.
  @Test func `a credential of root with a list of users is private, and nothing else like it`() {
    var status = stat()
    status.st_mode = S_IFREG | 0o440
    #expect(PrivateFile.isPrivate(status))
    for mode in [0o640, 0o444, 0o460] as [mode_t] {
      status.st_mode = S_IFREG | mode
      #expect(!PrivateFile.isPrivate(status), "\(mode)")
    }
    for (user, group) in [(1, 0), (0, 1), (1000, 1000)] as [(uid_t, gid_t)] {
      (status.st_mode, status.st_uid, status.st_gid) = (S_IFREG | 0o440, user, group)
      #expect(!PrivateFile.isPrivate(status))
    }
  }
}
