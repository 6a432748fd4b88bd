import Primitives
import SecureSession
import Testing
import Wire

@testable import Rendezvous

/// What a node tells the others of a program (docs/protocol/cluster.md §3).
@Suite struct RemotePresenceTests {
  private let record = PresenceRecord(
    identity: PeerID(word0: 1, word1: 0, word2: 0, word3: 0),
    presence: Presence(PresenceID(rawValue: 7), .answering), node: 1, expiryMilliseconds: .max,
    serial: 3)

  @Test func `comes back from its bytes, with its audience`() throws {
    let marks = Audience([AudienceMark(rawValue: 9), AudienceMark(rawValue: 4)])
    for audience in [nil, Audience(), marks] {
      let presence = RemotePresence(record, audience: audience)
      #expect(try read(presence.bytes) == presence)
    }
    var bytes = RemotePresence(record, audience: marks).bytes
    #expect(throws: WireError.self) {
      try read(Array(bytes.dropLast()))
    }
    bytes[17] = 2
    #expect(throws: WireError.self) { try read(bytes) }
    (bytes[16], bytes[17]) = (9, 1)
    #expect(throws: WireError.self) { try read(bytes) }
  }

  private func read(_ bytes: [UInt8]) throws -> RemotePresence {
    try RemotePresence(
      parsing: bytes.span, identity: record.identity, program: record.presence.id)
  }

  @Test func `is visible to its audience alone, and to its own identity`() {
    let asker = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
    #expect(RemotePresence(record, audience: nil).isVisible(to: asker))
    let empty = RemotePresence(record, audience: Audience())
    #expect(!empty.isVisible(to: asker) && empty.isVisible(to: record.identity))
    let mark = AudienceMark(of: asker, for: record.identity)
    #expect(RemotePresence(record, audience: Audience([mark])).isVisible(to: asker))
  }
}
