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
}
