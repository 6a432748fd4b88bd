import Primitives
import Storage
import Testing
import Tokens

/// Keys that sign access tokens, and tokens, as files.
struct TokenFilesTests {
  private let scratch = Scratch()

  private func make(_ name: String, _ seed: UInt64 = 1) throws -> TokenPublicKey {
    var random = RandomSource(seed: seed)
    return try TokenFiles.makeKey(at: scratch.file(name), random: &random)
  }

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch let error as StorageError {
      #expect(error.message.contains(error.path) && !error.advice.isEmpty)
      return error.code
    } catch {}
    return nil
  }

  @Test func `a key is written for its owner alone, and read again`() throws {
    let key = try make("key")
    #expect(scratch.mode(scratch.file("key")) == 0o600)
    #expect(try TokenFiles.signingKey(at: scratch.file("key")).publicKey == key)
    try TokenFiles.write(key, to: scratch.file("public"))
    #expect(try TokenFiles.publicKey(at: scratch.file("public")) == key)
    let text = try TokenFiles.token(at: scratch.file("public"))
    #expect(text == key.text, "without the end of the line")
  }

  @Test func `a key whose public half cannot be written is not made either`() throws {
    var random = RandomSource(seed: 1)
    scratch.write("there", [1])
    let places: [(String, StorageError.Code)] = [
      (scratch.file("there"), .notWritable),
      (scratch.file("none/public"), .notWritable),
    ]
    for (place, expected) in places {
      let found = code {
        _ = try TokenFiles.makeKey(at: scratch.file("key"), publicAt: place, random: &random)
      }
      #expect(found == expected)
      #expect(scratch.names() == ["there"])
    }
    #expect(scratch.read("there") == [1])
    let key = try TokenFiles.makeKey(
      at: scratch.file("key"), publicAt: scratch.file("public"), random: &random)
    #expect(try TokenFiles.publicKey(at: scratch.file("public")) == key)
    #expect(scratch.mode(scratch.file("public")) == 0o644)
    #expect(scratch.mode(scratch.file("key")) == 0o600)
  }

  @Test func `what is there is never replaced`() throws {
    let key = try make("key")
    #expect(code { _ = try make("key", 2) } == .notWritable)
    #expect(code { try TokenFiles.write(key, to: scratch.file("key")) } == .notWritable)
    #expect(try TokenFiles.signingKey(at: scratch.file("key")).publicKey == key)
  }

  @Test func `another kind of file is refused`() throws {
    let key = try make("key")
    try TokenFiles.write(key, to: scratch.file("public"))
    #expect(code { _ = try TokenFiles.publicKey(at: scratch.file("key")) } == .foreign)
    #expect(code { _ = try TokenFiles.signingKey(at: scratch.file("public")) } == .foreign)
    #expect(code { _ = try TokenFiles.publicKey(at: scratch.file("none")) } == .notReadable)
  }
}
