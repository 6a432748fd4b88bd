import Foundation
import PeerCommand
import Testing

/// A rendezvous on a port of its own, and the programs that meet there.
final class Stage {
  let folder: TemporaryFolder
  let address: String
  private let rendezvous: Running

  init() throws {
    folder = try TemporaryFolder()
    rendezvous = try Running(
      "earshot-rendezvous",
      ["--listen", "127.0.0.1:0", "--data", folder.file("rendezvous"), "--json"],
      home: folder.path)
    let line = try #require(rendezvous.line { $0["type"]?.asString == "listening" })
    address = try #require(line["address"]?.asString)
  }

  func online(_ name: String) -> [String] {
    // One address, so that there is one path: this host may have several.
    [
      "--rendezvous", address, "--identity", folder.file("identity-\(name)"), "--bind",
      "127.0.0.1:0",
    ]
  }

  /// - Parameter user: Whose home it is: each has an identity of its own.
  func start(_ program: String, _ words: [String], as user: String = "") throws -> Running {
    try Running(program, words, home: folder.path + (user.isEmpty ? "" : "/" + user))
  }

  func end() { rendezvous.stop() }
}

/// One process, with what it prints.
final class Running {
  private let process = Process()
  private let out = Pipe()
  private let err = Pipe()
  private var pending: [UInt8] = []
  private var isAtEnd = false
  private(set) var output = ""

  /// - Parameter output: Where standard output goes instead of to `output`.
  init(_ name: String, _ words: [String], home: String, output: FileHandle? = nil) throws {
    process.executableURL = Self.folder.appending(path: name)
    process.arguments = words
    process.environment = [
      "HOME": home, "XDG_CONFIG_HOME": home + "/config", "PATH": "/usr/bin:/bin",
    ]
    process.standardInput = FileHandle.nullDevice
    if let output { process.standardOutput = output } else { process.standardOutput = out }
    process.standardError = err
    try process.run()
    isAtEnd = output != nil
  }

  /// Where the build put the programs: beside the test bundle.
  private static var folder: URL {
    let own = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    let candidates = sequence(first: own.deletingLastPathComponent()) { url in
      url.path == "/" ? nil : url.deletingLastPathComponent()
    }
    let manager = FileManager.default
    for folder in candidates where manager.fileExists(atPath: folder.path + "/earshot-rendezvous") {
      return folder
    }
    return own.deletingLastPathComponent()
  }

  /// The first line that is JSON and fits; reads until there is one, or no more.
  func line(_ fits: (JSONValue) -> Bool) -> JSONValue? {
    while true {
      while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        let text = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeSubrange(...end)
        if let value = JSONReader.value(of: text), fits(value) { return value }
      }
      let part = isAtEnd ? Data() : out.fileHandleForReading.availableData
      isAtEnd = part.isEmpty
      if isAtEnd { return nil }
      output += String(decoding: part, as: UTF8.self)
      pending.append(contentsOf: part)
    }
  }

  /// Waits for the end.
  var exitCode: Int32 {
    if !isAtEnd, let rest = try? out.fileHandleForReading.readToEnd() {
      output += String(decoding: rest, as: UTF8.self)
      pending.append(contentsOf: rest)
    }
    isAtEnd = true
    process.waitUntilExit()
    return process.terminationStatus
  }

  lazy var errors = String(
    decoding: (try? err.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
