import Testing

/// Where a type stands (docs/CONTRIBUTING.md §2). The list of exceptions may only shrink.
@Suite struct TypePlaceTests {
  /// Lines of a declaration from which on a type has a file of its own name.
  static let ownFile = 100
  /// Large types that stand in another one's file.
  static let guests: Set<String> = [
    "Sources/Earshot/Endpoint/Configuration.swift CallOptions",
    "Sources/Earshot/Audio/AudioMixing.swift AudioMixer",
    "Sources/LastMile/Estimate/QueueReplay.swift ReplaySearch",
    "Sources/Peer/Relayed/RelayedAudio.swift RelayedInbox",
    "Sources/Peer/RendezvousLink+Token.swift TokenWatch",
    "Sources/PeerCommand/Media/MediaPCAP.swift RTPNumbering",
    "Sources/Relay/RelayCredentials.swift RelayAuthentication",
    "Sources/Rendezvous/RegistrationStore.swift MemoryStore",
    "Sources/Wire/Frames/AudioBody.swift AudioCopy",
    "Sources/Wire/Session/ResponsePacket.swift ResponsePayload",
  ]

  @Test func `a type of 100 lines has a file of its name`() {
    let found = Repository.sources.flatMap { file in
      Self.neighbours(in: file).map { "\(file.path) \($0)" }
    }
    forbid(
      found.filter { !Self.guests.contains($0) },
      "Move it to a file of its name. What is smaller may stand beside the type that it serves.")
    let stale = Self.guests.subtracting(found).sorted()
    forbid(stale, "No longer an exception: take it off the list, for good.")
  }

  @Test func `large types beside another one are found`() {
    let body = Array(repeating: "  let a = 1", count: Self.ownFile - 2).joined(separator: "\n")
    let text = """
      public struct Large {
      \(body)
      }
      private struct Hidden {
      \(body)
      }
      enum Small {}
      final class Other {
      \(body)
      }
      extension Other {
      \(body)
      }
      """
    func found(_ stem: String) -> [String] {
      Self.neighbours(in: SourceFile(path: "Sources/M/\(stem).swift", text: text))
    }
    #expect(found("Large") == ["Other"])
    #expect(found("Large+Part") == ["Other"])
    #expect(found("Small") == ["Large", "Other"])
  }

  /// Types of 100 lines and more at the top of a file that bears another name.
  private static func neighbours(in file: SourceFile) -> [String] {
    let own = String(file.stem.prefix { $0 != "+" })
    var found: [String] = []
    for (index, line) in file.code.enumerated() where line.first != " " {
      let names = NameTests.typeNames(in: SourceFile(path: file.path, text: line)).map(\.1)
      let isHidden = line.contains("private ") || line.contains("typealias ")
      guard let name = names.first, name != own, !isHidden else { continue }
      let end = file.code[index...].firstIndex { $0.hasPrefix("}") } ?? index
      if !line.contains("}"), end - index + 1 >= ownFile { found.append(name) }
    }
    return found
  }
}
