internal import Earshot
internal import Primitives

/// What an events file tells: one line an event, with the time since the first, and how each call
/// ended.
package struct EventStory {
  /// The most lines that are told; a file of 64 MiB may have a million.
  package static let maxLines = 100_000

  private var lines: [String] = []
  private var untold = 0
  private var unreadable = 0
  private var statistics = 0
  private var begin: Double?
  /// How many probes, and the last one.
  private var probes = 0
  private var probe: LineReport?

  /// `nil` when not one line is an event of ours.
  package init?(_ text: EventText) {
    let unreadable = text.forEachObject { object in
      if let type = object["type"]?.asString {
        appendLine(object, type)
      } else {
        self.unreadable += 1
      }
    }
    self.unreadable += unreadable
    guard !lines.isEmpty || statistics > 0 else { return nil }
  }

  private mutating func appendLine(_ object: JSONValue, _ type: String) {
    let at = clock(object["ts"]?.asString)
    guard lines.count < Self.maxLines || type == "stats" else {
      untold += 1
      return
    }
    switch type {
    case "schema": lines.append("\(at)written as \(Self.short(object["schema"]))")
    case "listening": lines.append("\(at)listening at \(Self.short(object["address"]))")
    case "event": lines.append(at + Self.event(object))
    case "stats": statistics += 1
    case "probe": appendProbe(object, at)
    case "summary": lines += Self.summary(object).map { at + $0 }
    default: lines.append("\(at)\(Self.plain(type))")
    }
  }

  private mutating func appendProbe(_ object: JSONValue, _ at: String) {
    probes += 1
    probe = LineReport(probeLine: object)
    lines.append(at + "probe: " + (probe?.rating.sentence ?? "it cannot be read"))
  }

  private static func event(_ object: JSONValue) -> String {
    var text = short(object["name"])
    // The state of the call is the name of its event.
    var known = ["type", "ts", "name", "callId"]
    if object["state"]?.asString == text { known.append("state") }
    guard case .object(let members) = object else { return text }
    let details = members.filter { !known.contains($0.key) }
      .map { "\(plain($0.key)) \(short($0.value))" }
    if !details.isEmpty { text += ": " + details.joined(separator: ", ") }
    return text
  }

  static func summary(_ object: JSONValue) -> [String] {
    if object["callId"] == nil, let target = object["target"] {
      return ["the probe of \(short(target)) ended: \(short(object["outcome"]))"]
    }
    var lines = ["the call ended: \(short(object["outcome"])), \(short(object["reason"]))"]
    if let duration = object["durationMs"]?.asNumber, duration > 0 {
      lines.append("it lasted \(Wording.decimal(duration / 1000)) s")
    }
    let received = object["audio"]?["received"]
    if let lost = received?["lostFraction"]?.asNumber {
      var text = "lost \(Wording.percent(lost)) of what was sent to this side"
      if let residual = received?["residualLostFraction"]?.asNumber {
        text += ", \(Wording.percent(residual)) not repaired"
      }
      if let made = received?["concealedFraction"]?.asNumber {
        text += ", \(Wording.percent(made)) of the sound was made up"
      }
      if let mos = received?["mos"]?.asNumber { text += ", MOS \(Wording.decimal(mos)) of 5" }
      lines.append(text)
    }
    if let rtt = object["network"]?["rttMs"]?["p50"]?.asNumber {
      lines.append("the round trip took \(Wording.milliseconds(rtt))")
    }
    return lines
  }

  /// A value on one line, without control letters, at most 120 letters of it.
  private static func short(_ value: JSONValue?) -> String {
    guard let value else { return "?" }
    return plain(value.asString ?? value.text)
  }

  private static func plain(_ text: String) -> String {
    String(Printable.only(text).prefix(120))
  }

  /// Seconds since the first line.
  private mutating func clock(_ timestamp: String?) -> String {
    guard let seconds = timestamp.flatMap(Self.secondOfDay) else { return "        ?  " }
    let start = begin ?? seconds
    begin = start
    // Over midnight.
    let elapsed = seconds >= start ? seconds - start : seconds - start + 86_400
    let whole = Int(elapsed)
    let text =
      "\(whole).\(String(1000 + Int(((elapsed - Double(whole)) * 1000).rounded()) % 1000).dropFirst())"
    return String(repeating: " ", count: max(0, 9 - text.count)) + text + "  "
  }

  /// When a line was written; `nil` for one that does not say.
  static func secondOfDay(of line: JSONValue) -> Double? {
    line["ts"]?.asString.flatMap(secondOfDay)
  }

  private static func secondOfDay(_ timestamp: String) -> Double? {
    let time = timestamp.split(separator: "T").last?.prefix { $0 != "Z" } ?? ""
    let parts = time.split(separator: ":").map { Double($0) }
    guard parts.count == 3, let hours = parts[0], let minutes = parts[1], let seconds = parts[2],
      [hours, minutes, seconds].allSatisfy({ $0.isFinite && (0..<100).contains($0) })
    else { return nil }
    return hours * 3600 + minutes * 60 + seconds
  }

  package var text: String {
    var lines = lines
    if untold > 0 { lines.append("\(untold) more lines; give a part of the file to see them") }
    if statistics > 0 { lines.append("\(statistics) lines of statistics") }
    if unreadable > 0 { lines.append("\(unreadable) lines cannot be read: the file may be cut") }
    let text = lines.joined(separator: "\n")
    // Of several the page has all at a glance.
    guard probes == 1, let probe else { return text }
    return text + "\n\n" + ProbeTable.text(probe, probe.rating)
  }
}
