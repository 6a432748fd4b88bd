import Earshot
import PeerCommand
import Testing

/// What the end of a call says of further members of the channel that it became.
@Suite struct RoomBookTests {
  private static func numbers(seconds: Double, packets: Int, lost: Int) -> CallStatistics {
    var numbers = Sample.statistics()
    // Half of it silence.
    numbers.received.totalSamplesReceived = UInt64(seconds * 96_000)
    numbers.audio = AudioDetails()
    numbers.audio?.inbound.audibleDuration = seconds
    numbers.received.packetsReceived = packets
    numbers.received.packetsLost = lost
    return numbers
  }

  @Test func `each member has a row, of all its calls`() throws {
    let carol = try #require(PeerID(Array(repeating: 2, count: 32)))
    var book = RoomBook()
    book.append(Self.numbers(seconds: 4, packets: 190, lost: 10), of: "carol", carol, uid: 7)
    book.append(Self.numbers(seconds: 2, packets: 100, lost: 0), of: "carol", carol, uid: nil)
    book.append(nil, of: "dan", nil, uid: nil)
    #expect(book.rows.map(\.title) == ["carol", "dan"])
    #expect(book.rows[0].text.hasPrefix("heard 6.0 s"))
    #expect(book.rows[0].text.hasSuffix("lost 10 of 300 packets (3.3 %), 2 not repaired"))
    #expect(book.rows[1].text == "nothing was heard")
    var object = JSONObject()
    book.fill(&object)
    let row = #""uid":7,"id":"\#(carol)","role":"host","isThere":false,"heardMs":6000"#
    #expect("\(object.value.text)".contains(row))
    #expect(object.value.text.contains(#""packets":300,"lost":10,"residualLost":2,"#))
    book.append(nil, of: "carol", carol, uid: 7, isThere: true)
    #expect(book.entries[0].isThere && !book.entries[1].isThere)
    let call = CallID(bytes: Array(repeating: 1, count: 16))
    book.keep(Self.numbers(seconds: 1, packets: 1, lost: 0), of: call)
    #expect(book.newestNumbers(of: call) == nil)
    book.handleConnected(call)
    book.keep(Self.numbers(seconds: 1, packets: 1, lost: 0), of: call)
    #expect(book.newestNumbers(of: call) != nil)
    #expect(book.handleEnd(call) && book.newestNumbers(of: call) == nil)
    for number in 0..<100 { book.append(nil, of: "\(number)", nil, uid: nil) }
    #expect(book.entries.count == RoomBook.mostEntries)
  }
}
