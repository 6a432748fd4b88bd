import Earshot
import Foundation
import FoundationXML
import Plotting
import Primitives
import Testing

@testable import PeerCommand

/// What `earshot join` says at its end: the table, and the page of `--report`.
@Suite struct RoomEndTests {
  private static func end(members: Int = 2) -> RoomEnd {
    var end = RoomEnd(
      channel: "tea<1>", ending: "left", seconds: 75, uid: 9, isRelayed: false)
    end.members = (1...members).map { number in
      let id = PeerID(word0: UInt64(number), word1: 0, word2: 0, word3: 0)
      var member = RoomEnd.Member(uid: UInt32(number), id: id, role: .host)
      member.heardMs = 12_340
      (member.packets, member.lost, member.mos) = (400, 4, 4.42)
      member.residualLost = 3
      return member
    }
    return end
  }

  @Test func `the terminal has a row a member, hosts first`() {
    var end = Self.end()
    end.members[0].role = .audience
    (end.members[0].heardMs, end.members[0].packets, end.members[0].mos) = (0, nil, nil)
    end.members[0].isThere = false
    end.members[1].name = "carol"
    let lines = end.text.split(separator: "\n").map(String.init)
    #expect(lines[0] == "  channel    tea<1>: left")
    #expect(lines[1] == "  lasted     1:15, host to host, as 9")
    let words = "2, heard 12.3 s, MOS 4.4 of 5, lost 4 of 400 packets (1.0 %), 3 not repaired"
    #expect(lines[2] == "  carol      \(words)")
    #expect(lines[3].hasPrefix("  1          ") && lines[3].hasSuffix(", listened, had left"))
    #expect(lines.count == 4)
  }

  /// Method: two are there, to one of whom there never was a path; then to none of them. A call
  /// that looks for a path has numbers as well, of nothing.
  @Test func `host to host is said only where there was a path`() {
    var end = Self.end()
    (end.members[0].heardMs, end.members[0].packets, end.members[0].mos) = (0, nil, nil)
    #expect(end.text.contains("1:15, host to host, as 9"))
    #expect(end.text.contains(", there was no path to it") && !end.text.contains("nothing was"))
    (end.members[1].heardMs, end.members[1].packets, end.members[1].mos) = (0, 0, nil)
    #expect(end.text.contains("1:15, nobody was reached, as 9"))
    #expect(RoomPage.html([end]).contains("<td>1:15, nobody was reached</td>"))
    // Two who listen, or two programs of one identity, are not to talk.
    for index in end.members.indices { end.members[index].role = .audience }
    end.isListening = true
    #expect(end.text.contains("lasted     1:15, as 9") && !end.text.contains("no path"))
    end = Self.end(members: 1)
    (end.members[0].isOwn, end.members[0].packets) = (true, nil)
    #expect(end.text.contains("lasted     1:15, as 9"))
    #expect(end.text.contains("another program of the own identity"))
    var relayed = Self.end(members: 1)
    relayed.isRelayed = true
    relayed.members[0].packets = nil
    #expect(relayed.text.contains("1:15, by a relay, as 9") && !relayed.text.contains("no path"))
  }

  @Test func `the live lines say where there is no path yet`() {
    var view = RoomView(channel: "tea")
    func heading() -> String { view.lines(columns: 160)[0] }
    #expect(!heading().contains("host to host") && !heading().contains("no path"))
    view.people = Array(Self.people[1...])
    #expect(heading().contains("  no path yet  "))
    #expect(view.lines(columns: 160)[1].hasPrefix("2  b  no path yet"))
    #expect(view.lines(columns: 160)[2] == "3  c  listens  no path yet")
    view.people[1].isOwn = true
    #expect(view.lines(columns: 160)[2] == "3  c  another program of the own identity")
    view.people = Self.people
    #expect(heading().contains("  host to host  "))
    view.isRelayed = true
    #expect(heading().contains("by a relay") && !view.lines(columns: 160)[2].contains("no path"))
    (view.isRelayed, view.isListening, view.people) = (false, true, [Self.people[2]])
    #expect(view.lines(columns: 160)[1] == "3  c  listens")
  }

  @Test func `no channel fills the screen`() {
    var end = Self.end(members: 40)
    end.leftOut = 3
    let lines = end.text.split(separator: "\n")
    #expect(lines.count == RoomEnd.mostRows + 3 && lines.last?.contains("and 27 more") == true)
    end.members = []
    end.leftOut = 0
    #expect(end.text.hasSuffix("nobody else was there"))
  }

  @Test func `the page has all members, and is well formed`() {
    var other = Self.end(members: 40)
    other.leftOut = 1
    var trace = RoomTrace()
    for second in 0..<30 { trace.append(Self.people, seconds: Double(second)) }
    let page = RoomPage.html([Self.end(), other], plots: trace.plots)
    #expect(XMLParser(data: Data(page.utf8)).parse())
    #expect(page.components(separatedBy: "4 of 400 packets (1.0 %)").count - 1 == 42)
    #expect(page.contains("<h2>tea&lt;1&gt;</h2>") && page.contains("and 1 more"))
    // Level and MOS; nothing was lost, which is a line as well; the round trip is known.
    #expect(page.components(separatedBy: "<svg").count - 1 == 5)
    #expect(page.contains("<th>lost</th><th>not repaired</th>"))
    #expect(page.components(separatedBy: "(1.0 %)</td><td>3</td>").count - 1 == 42)
    #expect(
      trace.plots.map { $0.lines[0].points.first?.y ?? -1 }.dropFirst(2).prefix(2) == [1, 0.5],
      "lost before repair, and not repaired, per cent")
    #expect(RoomPage.html([Self.end()]).contains("Nobody was heard long enough"))
  }

  private static var people: [RoomView.Person] {
    let numbers = Sample.statistics()
    return [
      RoomView.Person(uid: 1, name: "a", isHost: true, level: -20, numbers: numbers),
      RoomView.Person(uid: 2, name: "b", isHost: true, level: -30),
      RoomView.Person(uid: 3, name: "c", isHost: false, level: -90),
    ]
  }

  @Test func `a day in a channel is drawn more coarsely, of no more members than have colours`() {
    var trace = RoomTrace()
    let many = (1...20).map {
      RoomView.Person(uid: $0, name: "", isHost: true, level: -20)
    }
    for second in 0..<86_400 { trace.append(many, seconds: Double(second)) }
    let lines = trace.plots[0].lines
    #expect(lines.count == RoomTrace.mostSeries)
    #expect(lines.allSatisfy { $0.points.count < RoomTrace.mostPoints && $0.points.count > 300 })
    #expect(lines[0].points.first?.x == 0 && lines[0].points.last.map { $0.x > 86_000 } == true)
  }

  @Test func `the page of a call that became a channel has its members`() {
    let page = ReportPage.html(Sample.report(), [], members: [("carol", "heard 3.0 s")])
    #expect(page.contains("<tr><th>carol</th><td>heard 3.0 s</td></tr>"))
  }
}
