import Arguments
import Earshot
import Foundation
import PeerCommand
import Reactor
import Testing

/// Files that nobody asked to lose.
struct FileClaimsTests {
  private static func check(_ words: [String], call number: Int = 1) throws {
    let command = try CallCommand(Arguments(["bob", "--rendezvous", "h:1"] + words)) { _ in nil }
    var claims = FileClaims()
    command.online.claim(in: &claims)
    command.sound.claim(in: &claims, call: number)
    try claims.check()
  }

  @Test func `no file is named twice, however it is spelt`() throws {
    let folder = try TemporaryFolder()
    let (old, new) = (folder.file("old.wav"), folder.file("new.wav"))
    try folder.write([1], to: "old.wav")
    try folder.write([1], to: "me")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("s.wav"), withDestinationPath: old)
    try FileManager.default.linkItem(atPath: old, toPath: folder.file("h.wav"))
    let clashes: [[String]] = [
      ["--play", old, "--save", old], ["--play", old, "--save", folder.file("./old.wav")],
      ["--play", old, "--save", folder.file("s.wav")],
      ["--play", folder.file("h.wav"), "--save", old],
      ["--events", new, "--report", new], ["--save", new, "--capture", folder.file("./new.wav")],
      ["--video", old, "--pcap", old],
      ["--identity", folder.file("me"), "--events", folder.file("me")],
      ["--identity", folder.file("me"), "--report", folder.file("me.known-peers")],
      ["--identity", folder.file("me"), "--events", folder.file("me.known-peers.lock")],
      ["--identity", folder.file("me"), "--events", folder.file("me.receipts")],
      ["--identity", folder.file("me"), "--events", folder.file("me.receipts.lock")],
      ["--identity", folder.file("me"), "--events", folder.file("me.probes.lock")],
      ["--identity", folder.file("me"), "--events", folder.file("me.probe-history.lock")],
    ]
    for words in clashes {
      let failure = #expect(throws: CommandFailure.self, "\(words)") { try Self.check(words) }
      #expect(failure?.code == .usage)
      #expect(failure?.message.contains("the same file") == true)
      #expect(failure?.message.contains(words[0]) == true)
    }
    try Self.check(["--play", old, "--video", old, "--save", new, "--events", folder.file("e")])
    try Self.check(["--events", "/dev/null", "--report", "/dev/null"])
  }

  @Test func `a call that brought no sound leaves no file`() throws {
    let folder = try TemporaryFolder()
    let sink = try AudioFileSink(folder.file("a.wav"), channelCount: 1)
    sink.write([Int16](repeating: 0, count: 960), frameCount: 960)
    #expect(!sink.isSaved)
    sink.finish()
    let seen = try VideoFileSink(folder.file("a.ivf"))
    seen.finish()
    let arrivals = try ArrivalFile(folder.file("a.arrivals"))
    arrivals.write([])
    arrivals.finish()
    let capture = try MediaPCAP(folder.file("a.pcapng"))
    capture.finish()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    #expect(sink.fault == nil && seen.fault == nil && arrivals.fault == nil && capture.fault == nil)
  }

  @Test func `the first sound makes the file, readable at once and by its owner alone`() throws {
    for name in ["a.wav", "a.opus"] {
      let folder = try TemporaryFolder()
      let sink = try AudioFileSink(folder.file(name), channelCount: 1)
      sink.write([Int16](repeating: 0, count: 240), frameCount: 240)
      sink.write([Int16](repeating: 100, count: 48_000), frameCount: 48_000)
      #expect(sink.isSaved)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
      let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[
        .posixPermissions]
      #expect(mode as? Int == 0o600)
      if name == "a.wav" {
        // Nobody closed it: so would a crash leave it.
        #expect(try folder.bytes(of: name).count >= 2 * 48_240)
      }
      sink.finish()
      #expect(sink.fault == nil)
    }
  }

  @Test func `silence of somebody who is there is saved as well`() throws {
    let folder = try TemporaryFolder()
    let sink = try AudioFileSink(folder.file("a.wav"), channelCount: 1)
    sink.begin()
    sink.write([Int16](repeating: 0, count: 960), frameCount: 960)
    sink.finish()
    #expect(try folder.bytes(of: "a.wav").count > 1900)
  }

  @Test func `what is there is refused with advice, and kept`() throws {
    let folder = try TemporaryFolder()
    try folder.write([7], to: "a.wav")
    try folder.write([7], to: "a.ivf")
    let words = ["--save", folder.file("a.wav"), "--rendezvous", "h:1", "bob"]
    let sound = try CallCommand(Arguments(words)) { _ in nil }.sound
    do {
      _ = try OpenedSound(sound, call: 1)
      Issue.record("the file was opened")
    } catch {
      let failure = CommandFailure(error)
      #expect(failure.code == .file)
      #expect(failure.advice.contains("--overwrite"))
    }
    #expect(throws: (any Error).self) { try VideoFileSink(folder.file("a.ivf")) }
    #expect(try folder.bytes(of: "a.wav") == [7])
    let opened = try OpenedSound(sound, call: 1, overwrites: true)
    #expect(try folder.bytes(of: "a.wav") == [7])
    opened.sink.begin()
    opened.sink.finish()
    #expect(try folder.bytes(of: "a.wav").count > 40)
  }

  @Test func `numbers go on where an earlier run ended`() throws {
    let folder = try TemporaryFolder()
    func sound(_ name: String) throws -> SoundOptions {
      let words = ["--save", folder.file(name), "--rendezvous", "h:1", "bob"]
      return try CallCommand(Arguments(words)) { _ in nil }.sound
    }
    let numbered = try sound("call-{n}.wav")
    #expect(numbered.freeNumber(from: 1, overwrites: false) == 1)
    try folder.write([7], to: "call-1.wav")
    try folder.write([7], to: "call-2.wav")
    #expect(numbered.freeNumber(from: 1, overwrites: false) == 3)
    #expect(numbered.freeNumber(from: 1, overwrites: true) == 1)
    let plain = try sound("call.wav")
    try folder.write([7], to: "call.wav")
    try folder.write([7], to: "call-2.wav")
    #expect(plain.freeNumber(from: 1, overwrites: false) == 1)
    #expect(plain.freeNumber(from: 2, overwrites: false) == 3)
  }

  @Test func `advice fits what ended the writing`() {
    func failure(_ number: Int32) -> CommandFailure {
      CommandFailure(unwritten: "standard output", ReactorError("write", "it", errno: number))
    }
    #expect(failure(EPIPE).message.contains("no reader"))
    #expect(failure(EBADF).message.contains("no reader"))
    for number in [EPIPE, EBADF, EIO] { #expect(!failure(number).text.contains("df -h")) }
    #expect(failure(ENOSPC).advice.contains("df -h"))
    #expect(failure(EFBIG).advice.contains("ulimit -f"))
  }
}
