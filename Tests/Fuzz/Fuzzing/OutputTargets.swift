import PeerCommand
import Plotting
import Primitives

extension FuzzTarget {
  static let outputs: [FuzzTarget] = [eventsFile, outputPaths]

  /// An events file from anywhere, as `inspect` shows it.
  private static let eventsFile = FuzzTarget(
    "events-file", maximumByteCount: 2048,
    seeds: { [Array(events(with: "bob").utf8), Array("{\"type\":\"probe\"}\n[1,2".utf8)] },
    run: { bytes in expectHarmless(file: bytes) })

  /// What somebody else wrote, by every way to a terminal, a JSON line or a page.
  private static let outputPaths = FuzzTarget(
    "output-paths", maximumByteCount: 256,
    seeds: { hostileWords.map { Array($0.utf8) } },
    run: { bytes in
      let text = foreignTag + String(decoding: bytes, as: UTF8.self)
      expectHarmlessLines(text)
      expect(expectHarmless(file: Array(events(with: text).utf8)), "a call has a page")
      let origin = PageOrigin(date: text, host: text, version: text, words: [text])
      expectHarmless(page: Page.html(title: text, heading: text, origin: origin, ""))
      var plot = Plot(text, unit: text, [Plot.Line(text, [(0, 1), (1, 2)])])
      plot.marks = [(text, 1)]
      plot.spans = [(text, 0, 1)]
      expectHarmless(page: plot.svg)
      expectHarmless(page: Plot.document(text, [plot]))
    })

  /// Orders to a terminal, a line of their own, letters that are not seen, markup.
  static let hostileWords = [
    "bob", "\u{1B}]52;c;aGk=\u{7}", "a\n{\"type\":\"summary\"}", "\u{9B}2J\u{202E}\u{2028}",
    "\u{E0041}\u{1F600}</title><q>",
  ]

  /// No page of ours has such a tag.
  private static let foreignTag = "<q title='\">&"

  /// An event, statistics and a summary of a call, with `text` wherever a peer has a say.
  private static func events(with text: String) -> String {
    var event = JSONObject()
    event.add("type", "event")
    event.add("ts", "2026-03-02T00:00:00.000Z")
    for key in ["name", "callId", "reason", "state", text] { event.add(key, text) }
    event.add("extension", JSONValue.others(text))
    var peer = JSONObject()
    for key in ["id", "name", "trust"] { peer.add(key, text) }
    event.add("peer", peer)
    var summary = JSONObject()
    summary.add("type", "summary")
    summary.add("ts", "2026-03-02T00:00:02.000Z")
    for key in ["callId", "outcome", "reason", "target"] { summary.add(key, text) }
    summary.add("peer", peer)
    let statistics = (0..<2).map { second in
      "{\"type\":\"stats\",\"ts\":\"2026-03-02T00:00:0\(second).500Z\",\"atMs\":\(second)500,"
        + "\"stats\":[{\"type\":\"earshot-congestion\",\"estimate\":100000,\"queueDelay\":0.01}]}"
    }
    for line in [event.value.text, summary.value.text] {
      expect(line.unicodeScalars.allSatisfy(Printable.contains), "a JSON line has no control")
      expect(JSONReader.value(of: line) != nil, "a JSON line is one value")
    }
    return ([event.value.text] + statistics + [summary.value.text]).joined(separator: "\n")
  }

  private static func expectHarmlessLines(_ text: String) {
    var view = CallView()
    (view.state, view.peer, view.hint) = (text, text, text)
    for line in StatusRegion.lines(view, columns: 80) {
      expect(line.unicodeScalars.allSatisfy(Printable.contains), "a region has no control")
      expect(line.count < 80, "a line of a region fits")
    }
    let said = LineWrap.wrapped(Printable.lines(text), columns: 80)
    expect(isHarmless(said), "what is said has no control")
    expect(PlainLetters.of(said).utf8.allSatisfy { $0 < 128 }, "plain letters are ASCII")
    expect(isHarmless(PlainLetters.of(said)), "nor have plain letters a control")
  }

  /// - Returns: Whether the file has a page.
  @discardableResult
  private static func expectHarmless(file bytes: [UInt8]) -> Bool {
    do throws(CommandFailure) {
      let events = try EventText(bytes, name: "x")
      if let story = EventStory(events) { expect(isHarmless(story.text), "a story has no control") }
      guard let page = EventPlots.html(events) else { return false }
      expectHarmless(page: page)
      return true
    } catch {
      expect(isHarmless(error.text), "a refusal has no control")
      return false
    }
  }

  private static func expectHarmless(page: String) {
    expect(isHarmless(page), "a page has no control")
    expect(!page.contains("<q"), "a page has no markup of others")
  }

  private static func isHarmless(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0 == "\n" || Printable.contains($0) }
  }
}
