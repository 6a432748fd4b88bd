internal import Earshot
internal import Plotting

/// The page of `inspect --report`: of a call's events file its rates, queue, loss, the times of
/// audio alone and what happened; of a probe's what the probes found.
package struct EventPlots {
  private var samples: [LinePlots.Sample] = []
  private var changes: [FallbackChange] = []
  /// What happened, by the clock of the day, and what the statistics' time is less than that.
  private var moments: [(name: String, at: Double)] = []
  private var offset: Double?
  private var probes = ProbeSeries()
  /// When the last one ended, by the clock of the day, and how long after the first.
  private var lastProbe: Double?
  private var sinceFirst = 0.0

  private init(_ text: EventText) {
    _ = text.forEachObject { object in
      switch object["type"]?.asString {
      case "stats": handleStatistics(object)
      case "event": handleEvent(object)
      case "probe": handleProbe(object)
      default: break
      }
    }
  }

  /// A page; `nil` when the file has neither statistics nor probes.
  package static func html(_ text: EventText, origin: PageOrigin? = nil) -> String? {
    let plots = EventPlots(text)
    return plots.call(origin) ?? plots.probe(origin)
  }

  private func call(_ origin: PageOrigin?) -> String? {
    guard let last = samples.last else { return nil }
    let marks = offset.map { offset in
      moments.map { (name: $0.name, at: Self.passed(from: offset, to: $0.at)) }
        .filter { $0.at <= last.seconds }
    }
    var plots = LinePlots.plots(samples, LinePlots.spans(changes, until: last.seconds))
    for index in plots.indices { plots[index].marks = marks ?? [] }
    let drawings = plots.map(\.svg).joined()
    return Page.html(
      title: "Earshot: an events file", heading: "A call by its events", origin: origin,
      CallMarks.markup(marks ?? [])
        + (drawings.isEmpty ? "<p>Nothing was measured of the line.</p>\n" : drawings))
  }

  private func probe(_ origin: PageOrigin?) -> String? {
    guard probes.count > 0 else { return nil }
    return Page.html(
      title: "Earshot: probes", heading: "Probes by their events", origin: origin,
      "<pre>\(Markup.escaped(probes.text))</pre>\n"
        + ProbePage.plots(probes).map(\.svg).joined())
  }

  // MARK: - Lines

  private mutating func handleStatistics(_ object: JSONValue) {
    guard let sample = LinePlots.Sample(line: object), samples.count < CallRun.maxSamples else {
      return
    }
    samples.append(sample)
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
