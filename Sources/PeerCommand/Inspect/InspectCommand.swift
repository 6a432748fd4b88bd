package import Arguments
internal import Earshot
internal import MediaFiles
internal import Primitives
internal import Reactor

/// `earshot inspect FILE`: explains a capture, an events file or a packet in hex.
package struct InspectCommand: Sendable {
  package var subject: String
  /// What the other end wrote in the same call.
  package var other: String?
  /// Where the plots of an events file go.
  package var report: String?
  /// Whether the plots may replace a file that is there.
  package var overwrites = false

  /// The longest text that may be a packet in hex, in bytes.
  private static let maxHexByteCount = 512 << 10

  package init(subject: String) { self.subject = subject }

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    report = try arguments.option("--report")
    overwrites = try arguments.flag("--overwrite")
    subject = try arguments.positional("file")
    other = arguments.optionalPositional()
    guard other == nil || report != nil else {
      throw UsageError(
        "A second file is for a page of both ends.",
        advice: "Write: earshot inspect OWN OTHER --report PAGE.html")
    }
    try arguments.finish()
  }

  package func run() throws(CommandFailure) -> ExitCode {
    var claims = FileClaims()
    claims.reads(subject, "the file to inspect")
    claims.reads(other, "the other end's file")
    claims.writes(report, "--report")
    try claims.check()
    let output = try report.map { path throws(CommandFailure) in try Self.create(path, overwrites) }
    print(LineWrap.fitted(Printable.lines(try explanation())))
    if let output { try plot(to: output) }
    return .done
  }

  private static func create(
    _ path: String, _ overwrites: Bool
  ) throws(CommandFailure) -> OutputFile {
    do throws(ReactorError) {
      return try OutputFile(try PendingFile(path, overwrites: overwrites))
    } catch {
      throw CommandFailure(file: error)
    }
  }

  private func plot(to report: OutputFile) throws(CommandFailure) {
    let text = try EventText(try EventText.contents(of: subject), name: subject)
    let others = try other.map { name throws(CommandFailure) in
      try EventText(try EventText.contents(of: name), name: name)
    }
    if let others, !EventPlots.areOfOneCall(text, others) {
      throw CommandFailure(
        .usage, "\(subject) and \(other ?? "") are not of the same call.",
        advice: "Give what the two ends of one call wrote with --events or --json.")
    }
    guard let page = EventPlots.html(text, other: others, origin: .here) else {
      throw CommandFailure(
        .file, "\(subject) has no statistics to plot.",
        advice: "Give what --events or --json wrote in a call or probe.")
    }
    do throws(ReactorError) {
      try report.write(page)
    } catch {
      throw CommandFailure(unwritten: report.name, error)
    }
  }

  package func explanation() throws(CommandFailure) -> String {
    let bytes: [UInt8]
    do throws(ReactorError) {
      bytes = try ProcessSurroundings.contents(
        of: subject == "-" ? "/dev/stdin" : subject, limit: 4)
    } catch {
      if subject.hasPrefix("earshot:") {
        throw CommandFailure(
          .usage, "This is a contact card, not a file.",
          advice: "earshot contacts import CARD keeps it; earshot call CARD calls its owner.")
      }
      // Hex itself may stand where a file's name would.
      if let packet = Self.hex(subject) { return PacketExplanation.text(packet) }
      throw CommandFailure(
        .file, "Cannot read \(subject): \(error.reason).",
        advice: "Name a capture, an events file, or a packet in hex.")
    }
    if bytes == [0x0A, 0x0D, 0x0D, 0x0A], subject != "-" {
      do throws(MediaFileError) {
        return try CaptureStory(subject).text
      } catch {
        throw CommandFailure(error)
      }
    }
    if bytes == ReplayStory.magic, subject != "-" { return try recording() }
    return try text(beginning: bytes)
  }

  private func recording() throws(CommandFailure) -> String {
    let bytes: [UInt8]
    do throws(ReactorError) {
      bytes = try ProcessSurroundings.contents(of: subject, limit: CallReplay.maximumByteCount)
    } catch {
      throw CommandFailure(file: error)
    }
    return "What arrived in a call, heard again (earshot replay):\n" + (try ReplayStory(bytes).text)
  }

  private func text(beginning: [UInt8]) throws(CommandFailure) -> String {
    // Of a pipe the first bytes are taken already.
    let rest = try EventText.contents(of: subject == "-" ? "/dev/stdin" : subject)
    let bytes = subject == "-" ? beginning + rest : rest
    return try Self.explain(bytes, name: subject)
  }

  /// What text in a file is about.
  package static func explain(
    _ bytes: [UInt8], name: String
  ) throws(CommandFailure) -> String {
    if bytes.count <= maxHexByteCount, let packet = hex(String(decoding: bytes, as: UTF8.self)) {
      return PacketExplanation.text(packet)
    }
    let space = Array(" \t\r\n".utf8)
    if bytes.first(where: { !space.contains($0) }) == UInt8(ascii: "{"),
      let story = EventStory(try EventText(bytes, name: name))
    {
      return story.text
    }
    throw CommandFailure(
      .file,
      bytes.isEmpty ? "\(name) is empty." : "\(name) is no capture, events file or packet in hex.",
      advice: "Give what --pcap or --events wrote, or a packet as hex digits.")
  }

  /// Bytes from hex digits; spaces, colons and a leading `0x` may stand between them.
  package static func hex(_ text: String) -> [UInt8]? {
    var digits = text.split { $0.isWhitespace || $0 == ":" }.joined()
    if digits.hasPrefix("0x") { digits.removeFirst(2) }
    let letters = Array(digits.utf8)
    guard letters.count >= 2, letters.count % 2 == 0, letters.count <= 131_072 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: letters.count, by: 2) {
      let pair = letters[index..<(index + 2)]
      guard pair.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
