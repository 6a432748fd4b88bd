import Arguments
import Earshot
import Glibc
import PeerCommand
import Primitives
import Reactor
import Testing
import Wire

/// What a sender says, and the commands that begin it.
struct OutgoingTransferTests {
  /// Both ends, message by message; the receiver's folder has what the sender had.
  @Test(arguments: [0, 1, 64_899, 64_900, 300_000])
  func `content comes over in messages`(byteCount: Int) throws {
    let temporary = try TemporaryFolder()
    let content = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try temporary.write(content, to: "from")
    let outgoing = try OutgoingTransfer(
      try SourceFile(temporary.file("from")), name: "../to")
    let folder = try DropFolder(temporary.path)
    let incoming = IncomingTransfer(
      from: PeerID(word0: 1, word1: 1, word2: 1, word3: 1), into: folder, room: { 1 << 20 })
    var answer = incoming.handle(outgoing.begin())
    if byteCount > 0 { #expect(outgoing.handle(try #require(answer).bytes)) }
    var tag: UInt64 = 0
    while let message = try outgoing.nextMessage() {
      tag += 1
      outgoing.didSend(message, tag: tag)
      answer = incoming.handle(message)
      #expect(outgoing.handleDelivery(tag: tag, isDelivered: true))
    }
    #expect(outgoing.handle(try #require(answer).bytes))
    #expect(outgoing.result == .stored && outgoing.delivered == UInt64(byteCount))
    #expect(try temporary.bytes(of: "to") == content)
    #expect(!outgoing.handleDelivery(tag: 99, isDelivered: true))
  }

  @Test func `only what a receiver may say is taken`() throws {
    let outgoing = OutgoingTransfer(text: "hello")
    _ = outgoing.begin()
    #expect(!outgoing.handle([]))
    #expect(!outgoing.handle(TransferMessage.data([1]).bytes))
    #expect(!outgoing.handle(TransferMessage.go(offset: 6).bytes))
    #expect(try outgoing.nextMessage() == nil)
    #expect(outgoing.handle(TransferMessage.go(offset: 2).bytes))
    #expect(!outgoing.handle(TransferMessage.go(offset: 2).bytes))
    #expect(try outgoing.nextMessage() == TransferMessage.data(Array("llo".utf8)).bytes)
    // Another call begins with the offer again.
    _ = outgoing.begin()
    #expect(try outgoing.nextMessage() == nil)
    #expect(outgoing.handle(TransferMessage.go(offset: 0).bytes))
  }

  private func send(_ words: String) throws -> SendCommand {
    try SendCommand(
      Arguments((words + " --rendezvous h:1").split(separator: " ").map(String.init))
    ) { _ in nil }
  }

  @Test func `send wants a target and one content`() throws {
    let file = try send("bob --file a/b.txt --as c --retry-for 7")
    #expect(file.file == "a/b.txt" && file.name == "c" && file.retryFor == 7)
    #expect(try send("bob --text hi").text == "hi")
    for words in [
      "bob", "--file a", "bob --file a --text b", "bob --text b --as c", "b!b --text x",
      "bob --text x --report r.html", "bob --text x --pcap p", "bob carol --text x",
    ] {
      #expect(throws: UsageError.self, "\(words)") { try send(words) }
    }
  }

  @Test func `receive takes from known ones unless told otherwise`() throws {
    func receive(_ words: String) throws -> ReceiveCommand {
      try ReceiveCommand(
        Arguments((words + " --rendezvous h:1").split(separator: " ").map(String.init))
      ) { _ in nil }
    }
    let usual = try receive("")
    #expect(
      usual.folder == "." && usual.quota == 1_000_000_000 && !usual.isOnce
        && usual.mostFiles == 1000)
    #expect(usual.senders.admits(.zero, name: "bob", trust: .pinned))
    #expect(!usual.senders.admits(.zero, name: "bob", trust: .new))
    let narrow = try receive("--into d --quota 5M --from verified,carol --once")
    #expect(narrow.folder == "d" && narrow.quota == 5_000_000 && narrow.isOnce)
    #expect(!narrow.senders.admits(.zero, name: "bob", trust: .pinned))
    #expect(narrow.senders.admits(.zero, name: "carol", trust: .pinned))
    #expect(try receive("--dir e").folder == "e")
    for words in ["--into a --dir b", "--quota 0", "--most-files 0", "--from !", "x"] {
      #expect(throws: UsageError.self, "\(words)") { try receive(words) }
    }
  }

  /// Goal: no receiver keeps a sender for ever, and one with much to read has the time for it.
  @Test func `what a receiver owes is waited for only so long`() throws {
    let transfer = OutgoingTransfer(text: "hello")
    #expect(transfer.awaited == .answer)
    _ = transfer.begin()
    #expect(transfer.awaited == .answer && transfer.patience(for: .answer) == .seconds(60))
    #expect(transfer.handle(TransferMessage.go(offset: 0).bytes))
    #expect(transfer.awaited == nil)
    let message = try #require(try transfer.nextMessage())
    transfer.didSend(message, tag: 1)
    #expect(transfer.awaited == nil)
    #expect(transfer.handleDelivery(tag: 1, isDelivered: true))
    #expect(transfer.awaited == .result && transfer.patience(for: .result) == .seconds(60))
    _ = transfer.begin()
    #expect(transfer.awaited == .answer)
    // The receiver says that it has everything, and nothing more.
    #expect(transfer.handle(TransferMessage.go(offset: 5).bytes))
    #expect(transfer.awaited == .result)
    #expect(transfer.handle(TransferMessage.result(.stored).bytes))
    #expect(transfer.awaited == nil)
    let temporary = try TemporaryFolder()
    let path = temporary.file("long")
    try temporary.write([], to: "long")
    #expect(unsafe truncate(path, 500_000_000) == 0)
    let long = try OutgoingTransfer(try SourceFile(path), name: "long")
    #expect(long.patience(for: .answer) == .seconds(110))
  }

  @Test func `a view fits, and says how long it takes`() {
    var view = TransferView(name: "a long name of a file.tar.gz", total: 27_000_000)
    view.done = 12_345_678
    view.rate = 8_100_000
    for columns in [1, 20, 40, 80] {
      #expect(view.lines(columns: columns).allSatisfy { $0.count < max(2, columns) })
    }
    #expect(view.plainLine.hasPrefix("45 %  12.3 MB of 27.0 MB  8100 kbit/s  0:15 left"))
    view.waiting = "waiting for bob"
    #expect(view.plainLine == "waiting for bob; 45 %  12.3 MB of 27.0 MB")
    var rate = TransferRate()
    rate.append(0, at: 1)
    #expect(rate.bitsPerSecond == nil)
    rate.append(1_000_000, at: 3)
    #expect(rate.bitsPerSecond == 4_000_000)
    #expect(TransferWords.size(999) == "999 B" && TransferWords.size(1_500_000_000) == "1.5 GB")
  }

  @Test func `each result has its words and its code`() {
    for result in TransferResult.allCases {
      #expect(TransferWords.sentence(result, from: "bob").hasSuffix("."))
      #expect((TransferWords.code(result) == .done) == (result == .stored))
      _ = TransferWords.advice(result)
    }
  }
}
