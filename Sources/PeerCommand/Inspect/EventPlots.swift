internal import Earshot
internal import Plotting

/// The page of `inspect --report`: of a call's events file what its own page shows; with the other
/// end's file both views on the same axes; of a probe's what the probes found.
package struct EventPlots {
  private var samples: [LinePlots.Sample] = []
  private var sounds: [SoundPlots.Sample] = []
  /// How it ended, in lines.
  private var ending: [String] = []
  private var callID: String?
  private var changes: [FallbackChange] = []
  /// What happened, by the clock of the day, and what the statistics' time is less than that.
  private var moments: [(name: String, at: Double)] = []
  private var offset: Double?
  private var probes = ProbeSeries()
  /// When the last one ended, by the clock of the day, and how long after the first.
  private var lastProbe: Double?
  private var sinceFirst = 0.0
  /// The first one whole, and whose line it was.
  private var probe: LineReport?
  private var target: String?

  private init(_ text: EventText) {
    _ = text.forEachObject { object in
      switch object["type"]?.asString {
      case "stats": handleStatistics(object)
      case "event": handleEvent(object)
      case "probe": handleProbe(object)
      case "summary":
        if object["callId"] != nil { ending = EventStory.summary(object) }
        target = target ?? object["target"]?.asString
      default: break
      }
    }
  }

  /// A page; `nil` when the file has neither statistics nor probes.
  ///
  /// - Parameter other: What the other end wrote in the same call.
  package static func html(
    _ text: EventText, other: EventText? = nil, origin: PageOrigin? = nil
  ) -> String? {
    let plots = EventPlots(text)
    return plots.call(other.map(EventPlots.init), origin) ?? plots.probe(origin)
  }

  /// Whether two files are of one call.
  package static func areOfOneCall(_ one: EventText, _ other: EventText) -> Bool {
    let (first, second) = (EventPlots(one).callID, EventPlots(other).callID)
    return first != nil && first == second
  }

  private func call(_ other: EventPlots?, _ origin: PageOrigin?) -> String? {
    guard !samples.isEmpty else { return nil }
    var (plots, marks) = (self.plots, self.marks)
    if let other {
      let shift = Self.shift(from: offset, to: other.offset)
      Self.add(other.plots, shift: shift, to: &plots)
      marks += other.marks.map { ("other end: \($0.name)", $0.at + shift) }
      marks = marks.filter { $0.at >= 0 }.sorted { $0.at < $1.at }
    }
    for index in plots.indices { plots[index].marks = marks }
    let drawings = plots.map(\.svg).joined()
    let heading = callID.map { "Call \($0)" } ?? "A call by its events"
    return Page.html(
      title: "Earshot: an events file", heading: Printable.only(heading), origin: origin,
      endings(other) + CallMarks.markup(marks)
        + (drawings.isEmpty ? "<p>Nothing was measured of the line.</p>\n" : drawings))
  }

  /// As the call's own page has them, in its order.
  private var plots: [Plot] {
    let spans = LinePlots.spans(changes, until: samples.last?.seconds ?? 0)
    let hasVideo = samples.contains { $0.bytesSent != nil || $0.bytesReceived != nil }
    let sound = SoundPlots.plots(sounds).filter { !$0.svg.isEmpty }
    return sound + (hasVideo || sound.isEmpty ? LinePlots.plots(samples, spans) : [])
  }

  private var marks: [(name: String, at: Double)] {
    guard let offset, let last = samples.last else { return [] }
    return moments.map { (name: $0.name, at: Self.passed(from: offset, to: $0.at)) }
      .filter { $0.at <= last.seconds }
  }

  /// By how much later the other end's zero is, by the two hosts' clocks.
  private static func shift(from own: Double?, to other: Double?) -> Double {
    guard let own, let other else { return 0 }
    let shift = other - own
    return shift > 43_200 ? shift - 86_400 : shift < -43_200 ? shift + 86_400 : shift
  }

  private static func add(_ others: [Plot], shift: Double, to plots: inout [Plot]) {
    for index in plots.indices {
      guard let other = others.first(where: { $0.title == plots[index].title }) else { continue }
      for line in other.lines {
        plots[index].lines.append(
          Plot.Line(
            "\(line.name), other end",
            line.points.map { ($0.x + shift, $0.y) }.filter { $0.0 >= 0 }))
      }
    }
  }

  private func endings(_ other: EventPlots?) -> String {
    let all = [("this end", ending)] + (other.map { [("other end", $0.ending)] } ?? [])
    let rows = all.filter { !$0.1.isEmpty }.map { title, lines in
      "<tr><th>\(title)</th><td>\(lines.map(Markup.escaped).joined(separator: "<br/>"))</td></tr>\n"
    }
    return rows.isEmpty ? "" : "<table>\n\(rows.joined())</table>\n"
  }

  private func probe(_ origin: PageOrigin?) -> String? {
    guard probes.count > 0 else { return nil }
    if probes.count == 1, let probe {
      return ProbePage.html(
        probe, probe.rating, target: Printable.only(target ?? "a line"), origin: origin)
    }
    return Page.html(
      title: "Earshot: probes", heading: "Probes by their events", origin: origin,
      ProbePage.all(probes))
  }

  // MARK: - Lines

  private mutating func handleStatistics(_ object: JSONValue) {
    guard let sample = LinePlots.Sample(line: object), samples.count < CallRun.maxSamples else {
      return
    }
    samples.append(sample)
    if let sound = SoundPlots.Sample(line: object) { sounds.append(sound) }
    callID = callID ?? object["callId"]?.asString
    if offset == nil, let time = EventStory.secondOfDay(of: object) {
      offset = time - sample.seconds
    }
  }

  private mutating func handleEvent(_ object: JSONValue) {
    if let change = Self.change(object), changes.count < Self.maxChanges { changes.append(change) }
    guard let name = object["name"]?.asString, let words = Self.words[name],
      moments.count < CallMarks.most, let time = EventStory.secondOfDay(of: object)
    else { return }
    moments.append((words, time))
  }

  private mutating func handleProbe(_ object: JSONValue) {
    // A file of several days tells each midnight by a time that is less than the one before.
    let time = EventStory.secondOfDay(of: object) ?? lastProbe ?? 0
    sinceFirst += Self.passed(from: lastProbe ?? time, to: time)
    lastProbe = time
    if probes.count == 0 {
      probe = LineReport(probeLine: object)
      probes = ProbeSeries(secondOfDay: EventStory.secondOfDay(of: object).map { Int($0) })
    }
    probes.append(ProbeSeries.Sample(line: object, at: sinceFirst))
  }

  /// Over midnight as well.
  private static func passed(from begin: Double, to end: Double) -> Double {
    end >= begin ? end - begin : end - begin + 86_400
  }

  private static let words = [
    "pathChanged": "path changed", "interrupted": "interrupted",
    "connectionLost": "connection lost", "resumed": "resumed", "rejoined": "rejoined",
    "remoteAudioMuted": "other side muted or unmuted",
    "remoteVideoMuted": "other side's video off or on",
    "localAudioMuted": "muted", "localAudioUnmuted": "unmuted",
    "localVideoOff": "video off", "localVideoOn": "video on",
  ]

  private static func change(_ object: JSONValue) -> FallbackChange? {
    let direction: FallbackChange.Direction
    switch object["name"]?.asString {
    case "localPublishFallbackToAudioOnly": direction = .publish
    case "remoteSubscribeFallbackToAudioOnly": direction = .subscribe
    default: return nil
    }
    guard let at = object["atMs"]?.asNumber, (0...1e12).contains(at),
      let reason = object["reason"]?.asString.flatMap(FallbackChange.Reason.init)
    else { return nil }
    return FallbackChange(
      direction, isAudioOnly: object["on"]?.asBoolean ?? false, reason: reason,
      estimateBps: object["estimateBps"]?.asNumber ?? 0,
      neededBps: object["neededBps"]?.asNumber ?? 0, loss: object["loss"]?.asNumber ?? 0,
      atMs: Int(at))
  }

  private static let maxChanges = 10_000
}
