import Testing
import Wire

/// Each reader of network bytes says of each message what docs/protocol says of it (in the manner
/// of RFC 4475).
@Suite struct TortureTests {
  static let tables: [TortureTable] = [
    .frames, .packets, .rendezvous, .signals, .control, .invites, .ringDetails, .answers,
    .initPayloads, .cards,
  ]

  @Test(arguments: tables) func `the verdict on each message is right`(table: TortureTable) {
    for line in table.lines {
      let isTaken = table.takes(line.bytes)
      #expect(isTaken == (line.verdict != .refuse), "\(table.reader): \(line.name)")
    }
  }

  @Test(arguments: tables)
  func `cut anywhere, or with a byte more, a whole message is refused`(table: TortureTable) {
    for line in table.lines where line.verdict == .whole {
      for count in 1..<max(1, line.bytes.count) {
        let isTaken = table.takes(Array(line.bytes.prefix(count)))
        #expect(!isTaken, "\(table.reader): \(line.name), cut at \(count)")
      }
      #expect(!table.takes(line.bytes + [0x7F]), "\(table.reader): \(line.name), a byte more")
    }
  }

  @Test func `there are at least 250 messages, and each is another`() {
    let lines = Self.tables.flatMap(\.lines)
    #expect(lines.count >= 250, "\(lines.count)")
    for table in Self.tables {
      #expect(Set(table.lines.map(\.name)).count == table.lines.count, "\(table.reader)")
      #expect(Set(table.lines.map(\.bytes)).count == table.lines.count, "\(table.reader)")
      #expect(table.lines.contains { $0.verdict == .refuse })
    }
  }

  @Test func `the table's language means what it says`() {
    #expect(
      TortureTable.bytes("01 2:300 ab*2 'a b' 0c0d") == [
        1, 0x2C, 1, 0xAB, 0xAB, 97, 32, 98, 12, 13,
      ])
    #expect(TortureTable.bytes("$v4").count == 19)
    #expect(TortureTable.bytes("$eight").count == 160)
    #expect(TortureTable.bytes("$card").count == 194)
    #expect(TortureTable.bytes("$invite").count == InvitePayload.fixedByteCount)
  }
}
