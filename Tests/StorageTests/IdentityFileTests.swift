import Glibc
import Primitives
import Storage
import Testing

struct IdentityFileTests {
  let scratch = Scratch()

  private func identity(_ seed: UInt64) -> StoredIdentity {
    var random = RandomSource(seed: seed)
    return StoredIdentity(
      id: PeerID(word0: seed, word1: 2, word2: 3, word3: 4), seed: random.bytes(32),
      deviceKey: .init(privateKey: random.bytes(32), notBefore: 1_700_000_000),
      previousDeviceKey: .init(privateKey: random.bytes(32), notBefore: 1_690_000_000),
      cardSerial: 17, resetKey: random.bytes(32))
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
    #expect(try file.read() == nil)
    #expect(try file.readOrCreate { identity(1) } == identity(1))
    #expect(try file.readOrCreate { identity(2) } == identity(1))
    #expect(scratch.mode(file.path) == 0o600)
    #expect(scratch.mode(scratch.file("a/b")) == 0o700)
    #expect(scratch.mode(scratch.file("a")) == 0o700)
  }

  @Test func `replaces keys of the same identity, and leaves nothing beside the file`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    var changed = try file.readOrCreate { identity(1) }
    changed.cardSerial = 18
    changed.previousDeviceKey = nil
    try file.replace(with: changed)
    #expect(try file.read() == changed)
    #expect(scratch.names() == ["identity"])
    #expect(code { try file.replace(with: identity(2)) } == .foreign)
    #expect(try file.read() == changed)
  }

  @Test(arguments: [0o644, 0o640, 0o601, 0o666])
  func `refuses a file that others may open`(mode: Int) throws {
    let file = IdentityFile(path: scratch.file("identity"))
    _ = try file.readOrCreate { identity(1) }
    scratch.chmod(file.path, UInt32(mode))
    #expect(code { _ = try file.read() } == .exposed)
    #expect(code { _ = try file.readOrCreate { identity(2) } } == .exposed)
  }

  @Test func `notices a file cut at any byte, and never overwrites it`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    _ = try file.readOrCreate { identity(1) }
    let whole = scratch.read("identity")
    for count in 0..<whole.count {
      scratch.write("identity", Array(whole[..<count]))
      let code = code { _ = try file.readOrCreate { identity(2) } }
      #expect(
        code == .truncated || code == .corrupt, "cut at \(count): \(String(describing: code))")
      #expect(code != nil && scratch.read("identity").count == count)
    }
  }

  @Test func `notices a changed byte anywhere`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    _ = try file.readOrCreate { identity(1) }
    let whole = scratch.read("identity")
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 0x15
      scratch.write("identity", bytes)
      #expect(code { _ = try file.read() } != nil, "byte \(index)")
    }
  }

  @Test func `says what a foreign, a newer and a strange file is`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    scratch.write("identity", Array("-----BEGIN OPENSSH PRIVATE KEY-----\n".utf8))
    #expect(code { _ = try file.readOrCreate { identity(1) } } == .foreign)
    scratch.write("identity", Array("earshot identity 2\nfuture\nend 0\n".utf8))
    #expect(code { _ = try file.readOrCreate { identity(1) } } == .newerVersion)
    #expect(code { _ = try IdentityFile(path: scratch.path).read() } == .foreign)
    scratch.write("plain", [])
    let below = IdentityFile(path: scratch.file("plain/identity"))
    #expect(code { _ = try below.readOrCreate { identity(1) } } == .notDirectory)
  }

  @Test(.enabled(if: !isSuperuser, "the superuser may do everything"))
  func `says so when it cannot read or write`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    _ = try file.readOrCreate { identity(1) }
    scratch.chmod(file.path, 0o000)
    #expect(code { _ = try file.read() } == .notReadable)
    scratch.chmod(file.path, 0o600)
    scratch.chmod(scratch.path, 0o500)
    #expect(code { try file.replace(with: identity(1)) } == .notWritable)
    #expect(try file.read() == identity(1))
  }

  @Test func `says so when the place cannot hold a file`() {
    #expect(
      code { _ = try IdentityFile(path: "/proc/earshot/identity").readOrCreate { identity(1) } }
        != nil)
    #expect(code { _ = try IdentityFile(path: "/dev/full").readOrCreate { identity(1) } } != nil)
  }

  /// What a kill in the middle of writing leaves: pieces of a new file, under another name.
  @Test func `is not disturbed by what a killed writer left behind`() throws {
    let file = IdentityFile(path: scratch.file("identity"))
    var kept = try file.readOrCreate { identity(1) }
    for attempt in 0..<3 {
      scratch.write("identity.new-\(getpid())-\(attempt)", Array("earshot ide".utf8))
    }
    #expect(try file.read() == kept)
    kept.cardSerial = 19
    try file.replace(with: kept)
    #expect(try file.read() == kept)
  }

  @Test func `gives every one of many creators the same identity`() async throws {
    let path = scratch.file("together/identity")
    let ids = try await withThrowingTaskGroup(of: PeerID.self) { group in
      for seed in UInt64(1)...16 {
        let made = identity(seed)
        group.addTask { try IdentityFile(path: path).readOrCreate { made }.id }
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
