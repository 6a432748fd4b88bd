import Earshot
import Foundation
import PeerCommand
import Reactor
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

struct ViewTests {
  private static func view() -> CallView {
    var view = CallView()
    view.state = "connected"
    view.peer = "bob"
    view.seconds = 75
    view.heardLevel = -20
    view.playedLevel = -30
    view.numbers = Sample.statistics()
    view.progress = (0.5, 240)
    view.hint = "m mute   q hang up   s statistics"
    return view
  }

  @Test(arguments: Array(stride(from: 20, through: 200, by: 1)) + [1, 5])
  func `no line is longer than the terminal is wide`(columns: Int) {
    let lines = StatusRegion.lines(Self.view(), columns: columns)
    #expect(lines.allSatisfy { $0.count <= max(1, columns - 1) })
    #expect(lines.count >= 4 && (columns < 110 || lines.count == 4))
    let said = StatusRegion.lines(Self.view(), columns: 400)
    let bare = { (lines: [String]) in lines.joined().filter { !" []#·".contains($0) } }
    #expect(bare(lines) == bare(said), "nothing is cut")
  }

  @Test(arguments: [5, 20, 30, 40, 50, 60, 79])
  func `the lines of a probe and of a transfer are whole on a narrow terminal`(columns: Int) {
    var probe = ProbeView(target: "rendezvous.example.org:7400")
    (probe.phase, probe.share, probe.latestRoundTripMs) = (.loadedDownlink, 0.5, 20)
    var transfer = TransferView(name: "holidays.tar.gz", total: 1_000_000)
    (transfer.done, transfer.rate) = (400_000, 1_000_000)
    let bare = { (lines: [String]) in lines.joined().filter { !" []#·".contains($0) } }
    for (lines, whole) in [
      (probe.lines(columns: columns), probe.lines(columns: 200)),
      (transfer.lines(columns: columns), transfer.lines(columns: 200)),
    ] {
      #expect(lines.allSatisfy { $0.count <= columns - 1 }, "\(lines)")
      #expect(bare(lines) == bare(whole))
    }
  }

  private static func room() -> RoomView {
    var view = RoomView(channel: "tea")
    (view.seconds, view.memberCount, view.isRelayed, view.playedLevel) = (75, 12, true, -30)
    for uid in 1...11 as ClosedRange<UInt32> {
      view.people.append(
        RoomView.Person(
          uid: uid, name: "person\(uid)…", isHost: uid != 3, level: -60 + Double(uid),
          numbers: uid == 9 ? Sample.statistics() : nil))
    }
    view.fingerprint = "abcd efgh ijkm nopq rstu wxyz"
    view.further = ["milk: 3 there"]
    return view
  }

  @Test(arguments: [5, 20, 30, 40, 50, 60, 79, 160])
  func `the lines of a channel are whole on a narrow terminal`(columns: Int) {
    let lines = Self.room().lines(columns: columns)
    let bare = { (lines: [String]) in lines.joined().filter { !" []#·".contains($0) } }
    #expect(lines.allSatisfy { $0.count <= columns - 1 }, "\(lines)")
    #expect(bare(lines) == bare(Self.room().lines(columns: 200)))
  }

  @Test func `the lines of a channel say who is there and who speaks`() {
    let lines = Self.room().lines(columns: 160)
    #expect(lines.count == 13 && lines[0].hasPrefix("tea  1:15  12 there  by a relay  sent [###"))
    // The eight loudest hosts, by rising uid; who only listens comes last.
    for uid in 4...11 as ClosedRange<Int> {
      let beginning = "\(uid)  person\(uid)…  ["
      #expect(lines[uid - 3].hasPrefix(beginning), "\(lines[uid - 3])")
    }
    #expect(lines[6].contains("rtt 20.5 ms  loss 1.0 %, 0.5 % not repaired"))
    #expect(lines[9] == "and 3 more" && lines[11] == "milk: 3 there")
    #expect(lines[10] == "fingerprint abcd efgh ijkm nopq rstu wxyz")
    var view = Self.room()
    (view.isMuted, view.people) = (true, Array(view.people[2...2]))
    #expect(view.lines(columns: 80)[0].hasSuffix("by a relay  muted"))
    #expect(view.lines(columns: 80)[1] == "3  person3…  listens")
    view.isListening = true
    #expect(view.lines(columns: 80)[0].hasSuffix("by a relay  listening"))
  }

  @Test func `the lines say state, time, loss, delay, rates and how far the file is`() {
    let lines = StatusRegion.lines(Self.view(), columns: 160)
    #expect(lines[0].hasPrefix("connected  bob  1:15"))
    for part in [
      "rtt 20.5 ms", "loss 1.0 %, 0.5 % not repaired", "in 31.9  out 32.0 kbit/s",
      "buffer 40.0 ms",
    ] {
      #expect(lines[1].contains(part))
    }
    #expect(lines[2].contains("2:00 of 4:00"))
  }

  @Test func `the region is drawn in one place, and erased after the terminal was narrowed`() {
    var region = StatusRegion(usesColor: false)
    region.view = Self.view()
    let first = region.redraw(columns: 100)
    #expect(!first.contains("\u{1B}"))
    let count = StatusRegion.lines(Self.view(), columns: 100).count
    #expect(region.redraw(columns: 100).hasPrefix("\r\u{1B}[\(count - 1)A\u{1B}[J"))
    let rows = StatusRegion.lines(Self.view(), columns: 100).reduce(0) { $0 + ($1.count + 39) / 40 }
    #expect(region.erase(columns: 40) == "\r\u{1B}[\(rows - 1)A\u{1B}[J")
    #expect(region.erase(columns: 40).isEmpty)
    var colored = StatusRegion(usesColor: true)
    colored.view = Self.view()
    #expect(colored.redraw(columns: 80).contains("\u{1B}[1m"))
  }

  @Test func `the end table says what was heard, how good it was, and why`() {
    let text = EndTable.text(Sample.report(), savedTo: "out.wav")
    for part in [
      "completed: It ended.", "bob", "0:04, connected 31 ms after the answer", "saved in out.wav",
      "MOS 4.2 of 5, the line in was good",
      "lost 2 of 200 packets (1.0 %), 1 restored by FEC, 1 not repaired (0.5 %)",
      "out was excellent", "round trip 20.0 ms",
      "direct, 192.0.2.1:5000 to 192.0.2.2:5001, moved 1 time",
    ] { #expect(text.contains(part), "\(part)") }
    let bare = CallReport(callID: Sample.id, outcome: .timeout, reason: "Late.", role: .caller)
    #expect(EndTable.rows(bare, savedTo: nil).count == 2)
  }

  @Test func `nothing is broken inside a word, and a table keeps its columns`() {
    let text = """
      bob (by this rendezvous; \(PeerID.zero)) answered at last, after a while.
        how good   MOS 4.5 of 5, the line in was excellent (listening quality, PESQ-WB scale)
      21:11:36  Somebody who is not known calls, and it takes more than a line to say who it is.
      21:11:37  Registered as bob; the own ID is \(PeerID.zero).
      0:01  1 excellent  rtt 56 µs  up: loss 0 %, jitter 26 µs  down: loss 0 %, jitter 39 µs
      short
      """
    let lines = LineWrap.wrapped(text, columns: 60).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 60 }, "\(lines)")
    #expect(lines.contains("             (listening quality, PESQ-WB scale)"), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("          ") && $0.hasSuffix("it is.") }, "\(lines)")
    #expect(lines.contains("       \(PeerID.zero)."), "\(lines)")
    #expect(
      lines.suffix(3) == [
        "0:01  1 excellent  rtt 56 µs  up: loss 0 %, jitter 26 µs",
        "      down: loss 0 %, jitter 39 µs", "short",
      ])
    let words = { (text: String) in text.split { " \n".contains($0) } }
    #expect(words(text) == words(LineWrap.wrapped(text, columns: 60)), "no word is lost")
    let narrow = LineWrap.wrapped(text, columns: 30)
    #expect(words(text) == words(narrow))
  }

  @Test func `a name says what it rests on`() {
    let id = PeerID.zero
    #expect(Wording.who("bob", id, .new, .claimed) == "Somebody who says that it is bob (\(id))")
    #expect(Wording.who("bob", id, .new, .rendezvous) == "bob (by this rendezvous; \(id))")
    #expect(Wording.who("bob", id, .pinned, .known) == "bob (yyyyyyyy…, pinned)")
    #expect(Wording.who(nil, id, .new, nil) == "\(id)")
    #expect(Wording.who(nil, id, .pinned, nil) == "yyyyyyyy… (pinned)")
    var report = Sample.report()
    report.peerName = "bob"
    for (trust, words) in [
      (NameTrust.claimed, "somebody who says that it is bob, "),
      (.rendezvous, "bob (by this rendezvous), "), (.known, "bob, "),
    ] {
      report.nameTrust = trust
      #expect(EndTable.rows(report, savedTo: nil)[1].text.hasPrefix(words))
    }
  }

  @Test func `a report page is well-formed and needs nothing else`() throws {
    let samples = (0..<50).map { Sample.statistics(atMs: $0 * 2000, packets: 100 * $0 + 2) }
    for page in [
      ReportPage.html(Sample.report(), samples), ReportPage.html(Sample.report(), []),
      ReportPage.html(Sample.report(), [samples[0]]),
    ] {
      let parser = XMLParser(data: Data(page.utf8))
      #expect(parser.parse(), "\(String(describing: parser.parserError))")
      for word in ["http", "src=", "<link", "<script", "url(", "@import"] {
        #expect(!page.contains(word), "\(word)")
      }
    }
    let page = ReportPage.html(Sample.report(), samples)
    #expect(page.components(separatedBy: "<svg").count >= 5)
    #expect(page.contains("estimated &lt;for&gt; &quot;tests&quot; &amp; such"))
  }

  @Test(arguments: [(0.0, "0.0"), (31.94, "31.9"), (-2.25, "-2.3"), (123.4, "123"), (.nan, "-")])
  func `numbers are short`(value: Double, text: String) {
    #expect(Wording.decimal(value) == text)
  }

  @Test func `a console without a terminal has no region`() {
    #expect(!Console(isJSON: true, isQuiet: true).hasRegion)
  }
}
