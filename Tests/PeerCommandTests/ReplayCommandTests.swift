import Arguments
import Earshot
import Foundation
import PeerCommand
import Reactor
import Testing

struct ReplayCommandTests {
  /// A recording of the corpus (Tests/Corpora/arrival-recording).
  private static let recording: [UInt8] = {
    var folder = URL(fileURLWithPath: #filePath)
    folder.deleteLastPathComponent()
    folder.deleteLastPathComponent()
    let file = folder.appendingPathComponent("Corpora/arrival-recording/whole-call")
    return (try? Data(contentsOf: file)).map(Array.init) ?? []
  }()

  @Test func `hears a recording again, saves it, and says how it was`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("call.arrivals")
    try OutputFile(creating: path).write(Self.recording)
    let wav = folder.file("again.wav")
    let command = try ReplayCommand(Arguments([path, "--save", wav]))
    #expect(try command.run() == .done)
    let story = try ReplayStory(Self.recording, savedTo: nil)
    #expect(story.statistics.atMs > 0)
    let header = try folder.bytes(of: "again.wav").count - story.statistics.atMs * 96
    #expect((44...128).contains(header))
    // What is there is not written over, and never what is read.
    let again = #expect(throws: CommandFailure.self) { try command.run() }
    #expect(again?.code == .file && again?.advice.contains("--overwrite") == true)
    #expect(
      try ReplayCommand(Arguments([path, "--save", wav, "--overwrite"])).run() == .done)
    let same = #expect(throws: CommandFailure.self) {
      try ReplayCommand(Arguments([wav, "--save", wav, "--overwrite"])).run()
    }
    #expect(same?.code == .usage)
    #expect(story.text.contains("heard") && story.text.contains("packets, "))
    #expect(story.json.hasPrefix(#"{"type":"replay","durationMs":"#))
    // Twice the same, byte for byte.
    #expect(try ReplayCommand(Arguments([path, "--save", folder.file("b.wav")])).run() == .done)
    #expect(try folder.bytes(of: "again.wav") == folder.bytes(of: "b.wav"))
    let explained = try InspectCommand(Arguments([path])).explanation()
    #expect(explained.hasSuffix(story.text))
  }

  @Test func `hears what is there of a recording that was cut off, and says so`() throws {
    let whole = try ReplayStory(Self.recording)
    #expect(!whole.isCutOff && !whole.text.contains("cut off"))
    var cuts = 0
    for count in [Self.recording.count / 2, Self.recording.count - 1, 700, 701, 702] {
      let story = try ReplayStory(Array(Self.recording.prefix(count)))
      #expect(story.statistics.atMs <= whole.statistics.atMs)
      guard story.isCutOff else { continue }
      cuts += 1
      #expect(story.text.contains("cut off") && story.json.contains(#""cutOff":true"#))
    }
    #expect(cuts > 0)
  }

  /// Method: a recording that is nothing but pauses, of version 1: a byte is 960 bytes of sound.
  @Test func `saves no more sound than its size explains, unless that is wanted`() throws {
    let folder = try TemporaryFolder()
    let count = 72_000
    try folder.write(Array(Self.recording.prefix(6)) + Array(repeating: 6, count: count), to: "r")
    let wav = folder.file("r.wav")
    let failure = #expect(throws: CommandFailure.self) {
      try ReplayCommand(Arguments([folder.file("r"), "--save", wav])).run()
    }
    #expect(failure?.code == .file && failure?.message.hasSuffix("the first 11:39.") == true)
    #expect(failure?.advice.contains("--save-all") == true)
    #expect((0...128).contains(try folder.bytes(of: "r.wav").count - (64 << 20)))
    let words = [folder.file("r"), "--save", wav, "--save-all", "--overwrite"]
    #expect(try ReplayCommand(Arguments(words)).run() == .done)
    #expect((44...128).contains(try folder.bytes(of: "r.wav").count - count * 960))
    #expect(try ReplayCommand(Arguments([folder.file("r")])).run() == .done)
  }

  @Test func `names what is wrong with a recording in words`() throws {
    var other = Self.recording
    other[4] = 99
    for (bytes, words) in [
      ([1, 2, 3], "That is no recording"), (other, "another version"),
      (Self.recording + [103], "is damaged after"),
    ] {
      do throws(CommandFailure) {
        _ = try ReplayStory(bytes)
        Issue.record("taken for good: \(words)")
      } catch {
        #expect("\(error)".contains(words), "\(error)")
      }
    }
  }

  @Test func `takes settings, and refuses what makes no sense`() throws {
    let command = try ReplayCommand(
      Arguments([
        "x", "--least-delay", "40", "--most-delay", "80", "--without-copies",
        "--without-retransmissions", "--json",
      ]))
    #expect(command.settings.leastDelayMs == 40 && command.settings.mostDelayMs == 80)
    #expect(!command.settings.usesCopies && !command.settings.usesRetransmissions)
    #expect(command.isJSON)
    #expect(throws: UsageError.self) {
      try ReplayCommand(Arguments(["x", "--least-delay", "80", "--most-delay", "40"]))
    }
    #expect(throws: UsageError.self) { try ReplayCommand(Arguments([])) }
    #expect(throws: CommandFailure.self) { try ReplayCommand(Arguments(["/nowhere/x"])).run() }
    #expect(throws: CommandFailure.self) { try ReplayStory([1, 2, 3]) }
  }

  @Test func `a full disk ends the capture, is told once, and harms nothing else`() throws {
    let file = try ArrivalFile("/dev/full")
    file.write(Self.recording)
    file.write(Self.recording)
    #expect(
      file.fault?.message == "/dev/full cannot be written to the end: No space left on device.")
    file.finish()
  }

  @Test func `each call has a capture of its own`() throws {
    var arguments = Arguments(["--capture", "a.arrivals", "--save", "{n}.wav"])
    let sound = try SoundOptions(&arguments)
    #expect(sound.captureName(call: 1) == "a.arrivals")
    #expect(sound.captureName(call: 2) == "a-2.arrivals")
    #expect(sound.saveName(call: 3) == "3.wav")
  }
}
