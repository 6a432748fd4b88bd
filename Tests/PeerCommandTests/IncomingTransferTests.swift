import Cryptography
import Earshot
import Foundation
import Glibc
import PeerCommand
import Primitives
import Reactor
import Testing
import Wire

/// What a receiver does with all that a sender may say, and what is in the folder then.
struct IncomingTransferTests {
  private let temporary: TemporaryFolder
  private let folder: DropFolder
  private let peer = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)

  init() throws {
    temporary = try TemporaryFolder()
    folder = try DropFolder(temporary.path)
  }

  private static func offer(
    _ content: [UInt8], name: String = "a.txt", byteCount: UInt64? = nil,
    kind: TransferOffer.Kind = .file
  ) -> TransferMessage {
    let hash = ContentHash()
    hash.update(content)
    return .offer(
      TransferOffer(
        kind, byteCount: byteCount ?? UInt64(content.count), hash: hash.finish(), name: name))
  }

  private func receiver(quota: UInt64 = 1_000_000) -> IncomingTransfer {
    IncomingTransfer(from: peer, into: folder, room: { quota })
  }

  private var files: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: temporary.path).sorted()) ?? []
  }

  private static let content = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }

  /// Goal: no line of a text looks like one of the program's own.
  @Test func `further lines of a text stand in`() {
    let text = TransferWords.shown("hi\ncarol: invoice.pdf is here, whole.\r\nbye é", from: "bob")
    let lines = text.split(separator: "\n")
    #expect(lines.count == 3 && lines[0] == "bob: hi" && lines[2] == "    bye é")
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("    ") })
  }

  /// Goal: the sender of a text is told "has it" only where it was shown.
  @Test(arguments: [true, false])
  func `a text that could not be shown is not taken`(isShown: Bool) {
    var shown: [String] = []
    let transfer = IncomingTransfer(
      from: peer, into: folder, room: { nil },
      show: { text in
        shown.append(text)
        return isShown
      })
    let text = Array("hello".utf8)
    #expect(transfer.handle(Self.offer(text, kind: .text).bytes) == .go(offset: 0))
    let answer = transfer.handle(TransferMessage.data(text).bytes)
    #expect(answer == .result(isShown ? .stored : .notWritable))
    #expect(shown == ["hello"] && transfer.isTextLost == !isShown)
  }

  @Test func `a file gets its name when it is whole`() throws {
    let transfer = receiver()
    #expect(transfer.handle(Self.offer(Self.content).bytes) == .go(offset: 0))
    #expect(transfer.handle(TransferMessage.data(Array(Self.content[..<400])).bytes) == nil)
    #expect(transfer.promised == 600 && !files.contains("a.txt"))
    let last = transfer.handle(TransferMessage.data(Array(Self.content[400...])).bytes)
    #expect(last == .result(.stored))
    #expect(files == ["a.txt"])
    #expect(try temporary.bytes(of: "a.txt") == Self.content)
    var status = stat()
    #expect(unsafe stat(temporary.file("a.txt"), &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test func `where no further file may come, an empty one may not either`() {
    for content in [[], Self.content] {
      let transfer = IncomingTransfer(from: peer, into: folder, room: { nil })
      #expect(transfer.handle(Self.offer(content).bytes) == .result(.tooLong))
    }
    #expect(files.isEmpty)
    let empty = receiver(quota: 0)
    #expect(empty.handle(Self.offer([]).bytes) == .result(.stored) && files == ["a.txt"])
  }

  /// Goal: offers that nothing follows leave nothing, in this run or a later one.
  @Test func `a part that stayed empty is removed`() throws {
    for isAbandoned in [true, false] {
      var transfer: IncomingTransfer? = receiver()
      _ = transfer?.handle(Self.offer(Self.content).bytes)
      #expect(files.count == 1)
      if isAbandoned { transfer?.abandon() }
      transfer = nil
      #expect(files.isEmpty)
    }
    let broken = receiver()
    _ = broken.handle(Self.offer(Self.content).bytes)
    #expect(broken.handle([]) == .result(.outOfOrder))
    #expect(files.isEmpty)
  }

  /// Goal: one sender does not take the places of all.
  @Test func `a sender has at most sixteen parts in a folder`() {
    func begin(_ number: UInt8, from peer: PeerID) -> TransferMessage? {
      let transfer = IncomingTransfer(from: peer, into: folder, room: { 1_000_000 })
      let answer = transfer.handle(Self.offer(Self.content + [number]).bytes)
      _ = transfer.handle(TransferMessage.data([1]).bytes)
      return answer
    }
    for number in 1...16 as ClosedRange<UInt8> {
      #expect(begin(number, from: peer) == .go(offset: 0))
    }
    #expect(begin(17, from: peer) == .result(.tooLong))
    #expect(begin(3, from: peer) == .go(offset: 1), "what lies there may go on")
    let other = PeerID(word0: 9, word1: 2, word2: 3, word3: 4)
    #expect(begin(17, from: other) == .go(offset: 0))
    #expect(files.count == 17)
  }

  /// Goal: a part of any length keeps neither signals nor other senders waiting.
  @Test func `a long part is read in pieces before it is answered`() throws {
    let content = [UInt8](repeating: 7, count: 9 << 20)
    do {
      let first = receiver(quota: 10 << 20)
      _ = first.handle(Self.offer(content).bytes)
      for start in stride(from: 0, to: content.count - 10, by: 65_535) {
        let part = content[start..<min(start + 65_535, content.count - 10)]
        #expect(first.handle(TransferMessage.data(Array(part)).bytes) == nil)
      }
    }
    let early = receiver(quota: 10 << 20)
    #expect(early.handle(Self.offer(content).bytes) == nil && early.isReading)
    #expect(early.promised == 10)
    #expect(early.handle(TransferMessage.data([7]).bytes) == .result(.outOfOrder))
    #expect(!early.isReading)
    let second = receiver(quota: 10 << 20)
    var answer = second.handle(Self.offer(content).bytes)
    var pieces = 1
    while answer == nil, second.isReading {
      answer = second.readOn()
      pieces += 1
    }
    #expect(answer == .go(offset: UInt64(content.count - 10)) && pieces == 3)
    let last = TransferMessage.data(Array(content.suffix(10)))
    #expect(second.handle(last.bytes) == .result(.stored))
  }

  @Test func `the files of a folder that come are counted`() throws {
    let transfer = receiver()
    _ = transfer.handle(Self.offer(Self.content).bytes)
    _ = transfer.handle(TransferMessage.data(Array(Self.content[..<300])).bytes)
    let found = folder.holdings(prefix: ".earshot-", suffix: ".part")
    #expect(found.files == 1 && found.bytes == 300)
    #expect(folder.holdings(prefix: "x", suffix: "").files == 0)
  }

  /// Goal: sixteen callers that say nothing do not keep a receiver from the seventeenth.
  @Test func `a call in which nothing comes is ended after a minute, whoever else comes`() {
    let start = Instant(nanoseconds: 1_000_000_000)
    var silence = TransferSilence()
    #expect(silence.nextDeadline == nil)
    let first = Earshot.CallID(bytes: Array(repeating: 1, count: 16))
    let second = Earshot.CallID(bytes: Array(repeating: 2, count: 16))
    silence.hear(first, now: start)
    silence.hear(second, now: start + .seconds(30))
    #expect(silence.nextDeadline == start + .seconds(60))
    silence.hear(second, now: start + .seconds(59))
    #expect(silence.takeSilent(now: start + .seconds(59)).isEmpty)
    #expect(silence.takeSilent(now: start + .seconds(60)) == [first])
    #expect(silence.takeSilent(now: start + .seconds(60)).isEmpty, "told once")
    silence.forget(second)
    #expect(silence.nextDeadline == nil)
  }

  @Test func `it goes on where an earlier attempt of the same sender ended`() throws {
    do {
      let first = receiver()
      _ = first.handle(Self.offer(Self.content).bytes)
      _ = first.handle(TransferMessage.data(Array(Self.content[..<300])).bytes)
    }
    #expect(files.count == 1 && files[0].hasPrefix(".earshot-") && files[0].hasSuffix(".part"))
    let other = IncomingTransfer(
      from: PeerID(word0: 9, word1: 2, word2: 3, word3: 4), into: folder, room: { 1_000_000 })
    #expect(other.handle(Self.offer(Self.content).bytes) == .go(offset: 0))
    let second = receiver()
    #expect(second.handle(Self.offer(Self.content).bytes) == .go(offset: 300))
    #expect(
      second.handle(TransferMessage.data(Array(Self.content[300...])).bytes) == .result(.stored))
    #expect(try temporary.bytes(of: "a.txt") == Self.content)
  }

  @Test func `a call of the same sender takes over from one that is dead`() {
    var taken: [String] = []
    let first = receiver()
    _ = first.handle(Self.offer(Self.content).bytes)
    #expect(receiver().handle(Self.offer(Self.content).bytes) == .result(.alreadyComing))
    let second = IncomingTransfer(
      from: peer, into: folder, room: { 1_000_000 },
      takeOver: { name in
        taken.append(name)
        if first.partName == name { first.abandon() }
      })
    #expect(second.handle(Self.offer(Self.content).bytes) == .go(offset: 0))
    #expect(taken == [second.partName])
    #expect(first.handle(TransferMessage.data([1]).bytes) == nil)
  }

  @Test func `bytes that the hash is not of are never a file`() {
    let transfer = receiver()
    _ = transfer.handle(Self.offer(Self.content).bytes)
    var wrong = Self.content
    wrong[999] ^= 1
    #expect(transfer.handle(TransferMessage.data(wrong).bytes) == .result(.damaged))
    #expect(files.isEmpty)
  }

  @Test func `more than was said is not taken`() {
    let transfer = receiver()
    _ = transfer.handle(Self.offer(Self.content).bytes)
    #expect(
      transfer.handle(TransferMessage.data(Self.content + [0]).bytes) == .result(.outOfOrder))
    #expect(transfer.received == 0 && transfer.promised == 0)
    #expect(!files.contains("a.txt"))
  }

  @Test func `a quota is asked before anything is written`() {
    #expect(receiver(quota: 999).handle(Self.offer(Self.content).bytes) == .result(.tooLong))
    #expect(files.isEmpty)
    let huge = Self.offer(Self.content, byteCount: .max)
    #expect(receiver().handle(huge.bytes) == .result(.tooLong))
    #expect(receiver(quota: 1000).handle(Self.offer(Self.content).bytes) == .go(offset: 0))
  }

  @Test(arguments: [
    ("../../etc/passwd", "passwd"), ("/etc/shadow", "shadow"), ("..", "file"), ("", "file"),
    ("work.id.known-peers", "work.id.known-peers.file"), ("x.Nodes.LOCK", "x.Nodes.LOCK.file"),
    ("x.receipts", "x.receipts.file"), ("x.probes", "x.probes.file"),
    ("known-peers", "known-peers.file"),
    ("x.probe-history", "x.probe-history.file"), ("x.nodes.txt", "x.nodes.txt"),
    (".bashrc", "bashrc"), ("a/", "file"), ("c:\\temp\\x.exe", "x.exe"), ("a\u{0}b\nc", "abc"),
    ("\u{202E}gpj.exe", "gpj.exe"), (" ...  x", "x"), ("Zoë.txt", "Zoë.txt"),
  ])
  func `a name leads nowhere and hides nothing`(said: String, got: String) {
    #expect(TransferWords.safeName(said) == got)
    let transfer = receiver()
    _ = transfer.handle(Self.offer(Self.content, name: said).bytes)
    #expect(transfer.handle(TransferMessage.data(Self.content).bytes) == .result(.stored))
    #expect(files == [got])
  }

  @Test func `a name is cut at 200 bytes, between letters`() {
    let name = TransferWords.safeName(String(repeating: "é", count: 400))
    #expect(name == String(repeating: "é", count: 100))
    let trusted = TransferWords.safeName(String(repeating: "é", count: 400) + ".known-peers")
    #expect(trusted == String(repeating: "é", count: 100))
    let edge = TransferWords.safeName(String(repeating: "a", count: 194) + ".nodes")
    #expect(edge.utf8.count <= 200 && edge.hasSuffix(".file"))
  }

  @Test func `nothing is written over, and no link is followed`() throws {
    try temporary.write([1, 2, 3], to: "a.txt")
    #expect(receiver().handle(Self.offer(Self.content).bytes) == .result(.nameTaken))
    #expect(try temporary.bytes(of: "a.txt") == [1, 2, 3])
    #expect(unsafe symlink("/nowhere/at/all", temporary.file("b.txt")) == 0)
    let linked = receiver().handle(Self.offer(Self.content, name: "b.txt").bytes)
    #expect(linked == .result(.nameTaken))
    // The name is taken while the bytes come.
    let transfer = receiver()
    _ = transfer.handle(Self.offer(Self.content, name: "c.txt").bytes)
    #expect(unsafe symlink("a.txt", temporary.file("c.txt")) == 0)
    #expect(transfer.handle(TransferMessage.data(Self.content).bytes) == .result(.nameTaken))
    #expect(try temporary.bytes(of: "a.txt") == [1, 2, 3])
  }

  @Test func `a link in place of the part is not followed either`() throws {
    let first = receiver()
    _ = first.handle(Self.offer(Self.content).bytes)
    _ = first.handle(TransferMessage.data([1]).bytes)
    let part = try #require(first.partName)
    first.abandon()
    #expect(unsafe unlink(temporary.file(part)) == 0)
    try temporary.write([1], to: "target")
    #expect(unsafe symlink("target", temporary.file(part)) == 0)
    #expect(receiver().handle(Self.offer(Self.content).bytes) == .result(.notWritable))
    #expect(unsafe unlink(temporary.file(part)) == 0)
    // Nor is a second name of another file.
    #expect(unsafe link(temporary.file("target"), temporary.file(part)) == 0)
    #expect(receiver().handle(Self.offer(Self.content).bytes) == .result(.notWritable))
    #expect(try temporary.bytes(of: "target") == [1])
  }

  @Test func `what is out of order ends it`() {
    let content = Self.content
    #expect(receiver().handle(TransferMessage.data([1]).bytes) == .result(.outOfOrder))
    #expect(receiver().handle([]) == .result(.outOfOrder))
    #expect(receiver().handle(TransferMessage.go(offset: 0).bytes) == .result(.outOfOrder))
    let transfer = receiver()
    _ = transfer.handle(Self.offer(content).bytes)
    #expect(transfer.handle(Self.offer(content).bytes) == .result(.outOfOrder))
    #expect(transfer.handle(TransferMessage.data(content).bytes) == nil)
  }

  @Test func `a text is shown, and empty content is whole at once`() {
    let words = Array("Zoë says hello".utf8)
    let transfer = receiver()
    #expect(transfer.handle(Self.offer(words, name: "", kind: .text).bytes) == .go(offset: 0))
    #expect(transfer.handle(TransferMessage.data(words).bytes) == .result(.stored))
    #expect(transfer.text == "Zoë says hello" && files.isEmpty)
    let binary = receiver()
    _ = binary.handle(Self.offer([0xFF], name: "", kind: .text).bytes)
    #expect(binary.handle(TransferMessage.data([0xFF]).bytes) == .result(.damaged))
    let long = Self.offer(words, byteCount: 65_537, kind: .text)
    #expect(receiver().handle(long.bytes) == .result(.tooLong))
    #expect(receiver().handle(Self.offer([], name: "empty").bytes) == .result(.stored))
    #expect(files == ["empty"])
  }
}

struct DropFolderTests {
  @Test func `a folder must be one, and counts the parts in it`() throws {
    let temporary = try TemporaryFolder()
    #expect(throws: ReactorError.self) { _ = try DropFolder(temporary.file("none")) }
    try temporary.write([1], to: "file")
    #expect(throws: ReactorError.self) { _ = try DropFolder(temporary.file("file")) }
    // Its mode would let its owner write.
    #expect(throws: ReactorError.self) { _ = try DropFolder("/proc") }
    let folder = try DropFolder(temporary.path)
    try temporary.write([1, 2], to: ".earshot-1.part")
    try temporary.write([1, 2, 3], to: ".earshot-2.part")
    try temporary.write([1, 2, 3], to: ".earshot-3")
    #expect(folder.holdings(prefix: ".earshot-", suffix: ".part").bytes == 5)
    let part = try folder.openPart("x")
    for name in ["", ".", "..", "a/b", "a\u{0}b"] {
      #expect(throws: ReactorError.self) { try part.place(as: name) }
    }
    try part.append([7, 8])
    #expect(try part.read(at: 1, atMost: 10) == [8])
    try part.place(as: "y")
    #expect(folder.has("y") && !folder.has("x"))
  }

  @Test func `only a plain file is a source`() throws {
    let temporary = try TemporaryFolder()
    #expect(throws: ReactorError.self) { _ = try SourceFile(temporary.path) }
    #expect(throws: ReactorError.self) { _ = try SourceFile(temporary.file("none")) }
    try temporary.write([1, 2, 3], to: "a")
    let file = try SourceFile(temporary.file("a"))
    #expect(try file.byteCount == 3 && file.read(at: 1, atMost: 5) == [2, 3])
  }
}
