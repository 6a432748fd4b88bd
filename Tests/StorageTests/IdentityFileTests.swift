import Cryptography
import Glibc
import Primitives
import SecureSession
import Storage
import Testing

struct IdentityFileTests {
  let scratch = Scratch()

  /// The ID in the file; of a new identity, made from `seed`, if there is none.
  @discardableResult
  private func open(_ file: IdentityFile, _ seed: UInt64) throws -> PeerID {
    var random = RandomSource(seed: seed)
    return try file.readOrCreate(.peer, unixSeconds: 1_700_000_000, random: &random).id
  }

  private func id(in file: IdentityFile) throws -> PeerID? {
    switch try file.read() {
    case .some(let identity): identity.id
    case .none: nil
    }
  }

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch let error as StorageError {
      #expect(error.message.contains(error.path) && !error.advice.isEmpty)
      return error.code
    } catch {}
    return nil
  }

  @Test func `makes the file and its directories, for the owner only`() throws {
    let file = IdentityFile(path: scratch.file("a/b/identity"))
    #expect(try id(in: file) == nil)
    let first = try open(file, 1)
    #expect(try open(file, 2) == first)
    #expect(try id(in: file) == first)
    #expect(scratch.mode(file.path) == 0o600)
    #expect(scratch.mode(scratch.file("a/b")) == 0o700)
    #expect(scratch.mode(scratch.file("a")) == 0o700)
  }

  @Test func `replaces keys of the same identity, and leaves nothing beside the file`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    var random = RandomSource(seed: 1)
    var identity = try file.readOrCreate(.peer, unixSeconds: 1_700_000_000, random: &random)
    let old = identity.staticKey.publicKey
    #expect(identity.rotateIfDue(unixSeconds: 1_700_700_000, random: &random))
    try file.replace(with: identity)
    switch try file.read() {
    case .some(let stored):
      #expect(stored.id == identity.id && stored.staticKey.publicKey != old)
    case .none: Issue.record("the file is gone")
    }
    #expect(scratch.names() == ["identity"])
    let other = LocalIdentity(kind: .peer, unixSeconds: 1, random: &random)
    #expect(throws: StorageError.self) { try file.replace(with: other) }
    #expect(try id(in: file) == identity.id)
  }

  @Test(arguments: [0o644, 0o640, 0o601, 0o666])
  func `refuses a file that others may open`(mode: Int) throws {
    let file = IdentityFile(path: scratch.file("identity"))
    try open(file, 1)
    scratch.chmod(file.path, UInt32(mode))
    #expect(code { _ = try id(in: file) } == .exposed)
    #expect(code { try open(file, 2) } == .exposed)
  }

  @Test func `notices a file cut at any byte, and never overwrites it`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    try open(file, 1)
    let whole = scratch.read("identity")
    for count in 0..<whole.count {
      scratch.write("identity", Array(whole[..<count]))
      let code = code { try open(file, 2) }
      #expect(
        code == .truncated || code == .corrupt, "cut at \(count): \(String(describing: code))")
      #expect(code != nil && scratch.read("identity").count == count)
    }
  }

  @Test func `notices a changed byte anywhere`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    try open(file, 1)
    let whole = scratch.read("identity")
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 0x15
      scratch.write("identity", bytes)
      #expect(code { _ = try id(in: file) } != nil, "byte \(index)")
    }
  }

  @Test func `says what a foreign, a newer and a strange file is`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    scratch.write("identity", Array("-----BEGIN OPENSSH PRIVATE KEY-----\n".utf8))
    #expect(code { try open(file, 1) } == .foreign)
    scratch.write("identity", Array("EARSHOT-IDENTITY-2 whatever".utf8))
    #expect(code { try open(file, 1) } == .newerVersion)
    #expect(code { _ = try id(in: IdentityFile(path: scratch.path)) } == .foreign)
    scratch.write("plain", [])
    let below = IdentityFile(path: scratch.file("plain/identity"))
    #expect(code { try open(below, 1) } == .notDirectory)
  }

  @Test(.enabled(if: !isSuperuser, "the superuser may do everything"))
  func `says so when it cannot read or write`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    try open(file, 1)
    scratch.chmod(file.path, 0o000)
    #expect(code { _ = try id(in: file) } == .notReadable)
    scratch.chmod(file.path, 0o600)
    scratch.chmod(scratch.path, 0o500)
    let other = IdentityFile(path: scratch.file("other"))
    #expect(code { try open(other, 2) } == .notWritable)
  }

  @Test func `says so when the place cannot hold a file`() {
    #expect(
      code { try open(IdentityFile(path: "/proc/earshot/identity"), 1) }
        != nil)
    #expect(code { try open(IdentityFile(path: "/dev/full"), 1) } != nil)
  }

  /// What a kill in the middle of writing leaves: pieces of a new file, under another name.
  @Test func `is not disturbed by what a killed writer left behind`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    let kept = try open(file, 1)
    for attempt in 0..<3 {
      scratch.write("identity.new-\(getpid())-\(attempt)", Array("EARSHOT-ID".utf8))
    }
    #expect(try open(file, 2) == kept)
    guard let identity = try file.read() else { throw CancellationError() }
    try file.replace(with: identity)
    #expect(try id(in: file) == kept)
  }

  @Test func `gives every one of many creators the same identity`() async throws {
    let path = scratch.file("together/identity")
    let ids = try await withThrowingTaskGroup(of: PeerID.self) { group in
      for seed in UInt64(1)...16 {
        group.addTask {
          var random = RandomSource(seed: seed)
          return try IdentityFile(path: path)
            .readOrCreate(.peer, unixSeconds: 1_700_000_000, random: &random).id
        }
      }
      return try await group.reduce(into: Set<PeerID>()) { $0.insert($1) }
    }
    #expect(ids.count == 1)
  }

  @Test func `finds its default place as XDG says`() {
    #expect(
      IdentityFile.defaultPath(environment: ["XDG_CONFIG_HOME": "/c", "HOME": "/h"])
        == "/c/earshot/identity")
    #expect(IdentityFile.defaultPath(environment: ["HOME": "/h"]) == "/h/.config/earshot/identity")
    #expect(IdentityFile.defaultPath(environment: ["XDG_CONFIG_HOME": "relative"]) == nil)
  }
}
