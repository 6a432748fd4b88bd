import Primitives
import SecureSession
import Storage
import Testing
import Wire

/// The root's key and its signed list as files.
struct RootFilesTests {
  private let scratch = Scratch()

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch let error as StorageError {
      #expect(error.message.contains(error.path) && !error.advice.isEmpty)
      return error.code
    } catch {}
    return nil
  }

  private func make() throws -> NodeList {
    var random = RandomSource(seed: 1)
    let id = try RootFiles.makeKey(at: scratch.file("root"), random: &random)
    let key = try RootFiles.key(at: scratch.file("root"))
    let keyID = key.id
    #expect(keyID == id)
    let node = NodeList.Node(
      id: id, weight: 1, addresses: [SocketAddress(v4: 192, 0, 2, 1, port: 7400)])
    return try NodeList.sign(
      NodeList.Content(root: id, serial: 1, notBefore: 1, notAfter: 2, nodes: [node]), with: key)
  }

  @Test func `a key is its owner's alone, and is not written over`() throws {
    _ = try make()
    #expect(scratch.mode(scratch.file("root")) == 0o600)
    let before = scratch.read("root")
    #expect(code { _ = try make() } == .notWritable)
    #expect(scratch.read("root") == before)
    scratch.chmod(scratch.file("root"), 0o640)
    #expect(code { _ = try RootFiles.key(at: scratch.file("root")).id } == .exposed)
  }

  @Test func `a list is read as it was written, by everybody`() throws {
    let list = try make()
    try RootFiles.write(list, to: scratch.file("list"))
    #expect(scratch.mode(scratch.file("list")) == 0o644)
    #expect(try RootFiles.list(at: scratch.file("list")) == list)
    try RootFiles.write(list, to: scratch.file("list"))
    #expect(try RootFiles.listIfThere(at: scratch.file("list")) == list)
    #expect(try RootFiles.listIfThere(at: scratch.file("none")) == nil)
  }

  @Test func `other files are refused with what to do`() throws {
    let list = try make()
    try RootFiles.write(list, to: scratch.file("list"))
    var damaged = scratch.read("list")
    damaged.removeLast(8)
    scratch.write("damaged", damaged)
    scratch.write("text", Array("hello\n".utf8))
    for name in ["damaged", "text", "root"] {
      #expect(code { _ = try RootFiles.list(at: scratch.file(name)) } == .foreign)
    }
    for name in ["damaged", "text"] {
      #expect(code { _ = try RootFiles.key(at: scratch.file(name)).id } == .foreign)
    }
    #expect(code { _ = try RootFiles.list(at: scratch.file("none")) } == .notReadable)
    #expect(code { _ = try RootFiles.key(at: scratch.file("none")).id } == .notReadable)
  }
}
