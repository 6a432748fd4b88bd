package import Earshot
internal import Primitives

/// What is printed when a call is over: what was heard, how good it was, and why.
package enum EndTable {
  /// What a report does not know of the other side.
  package struct Peer {
    /// The name on the card that was dialled.
    package var cardName: String?
    /// Whether the short code was confirmed in this call.
    package var isConfirmed = false

    package init() {}
  }

  /// - Parameters:
  ///   - prediction: What a probe had said, against what was.
  ///   - members: What is said of further members of a channel that the call became.
  package static func text(
    _ report: CallReport, savedTo file: String?, videoSavedTo videoFile: String? = nil,
    prediction: String? = nil, with peer: Peer = Peer(),
    members: [(title: String, text: String)] = []
  ) -> String {
    let rows =
      rows(report, savedTo: file, videoSavedTo: videoFile, prediction: prediction, with: peer)
      + members
    guard let basis = report.statistics?.received.mosBasis else { return text(rows) }
    // The page and the summary have all of it.
    let short = basis.split(separator: ", ").prefix(2).joined(separator: ", ")
    return text(rows.map { ($0.title, $0.text.replacing("(\(basis))", with: "(\(short))")) })
  }

  static func text(_ rows: [(title: String, text: String)]) -> String {
    rows.map { title, text in
      "  " + title + String(repeating: " ", count: max(1, 11 - title.count)) + text
    }
    .joined(separator: "\n")
  }

  /// What is known of the received sound alone.
  static func received(
    _ numbers: CallStatistics, savedTo file: String?
  ) -> [(title: String, text: String)] {
    numbers.received.totalSamplesReceived > 0
      ? heard(numbers, file) : [("heard", "nothing: no packet came")]
  }

  package static func rows(
    _ report: CallReport, savedTo file: String?, videoSavedTo videoFile: String? = nil,
    prediction: String? = nil, with peer: Peer = Peer()
  ) -> [(title: String, text: String)] {
    let isMissed = report.role == .callee && report.outcome == .timeout
    let ending =
      isMissed
      ? "missed: It rang here, and nobody answered in time."
      : "\(report.outcome.rawValue): \(report.reason)"
    var rows = [(title: "call", text: ending)]
    rows.append(("with", words(of: peer, report)))
    if report.timeline.connectedMs != nil {
      rows.append(("lasted", lasted(report)))
    }
    if let attempt = report.pathAttempt { rows += PathWords.rows(attempt) }
    guard let numbers = report.statistics else { return rows }
    if numbers.received.totalSamplesReceived > 0 { rows += heard(numbers, file) }
    if numbers.sent.packetsSent > 0 { rows.append(("sent", sent(numbers))) }
    rows += VideoMessages.rows(numbers, savedTo: videoFile)
    if let path = numbers.path {
      let changes =
        path.changes == 0
        ? "" : ", moved \(path.changes) time\(path.changes == 1 ? "" : "s")"
      rows.append(("path", "\(path.kind.rawValue), \(path.local) to \(path.remote)\(changes)"))
    }
    if let prediction { rows.append(("predicted", prediction)) }
    return rows
  }

  private static func words(of peer: Peer, _ report: CallReport) -> String {
    let id = report.peer.map { "\($0)" }
    let dialled = named(report) ?? peer.cardName.map { "\($0) (by its card)" }
    let name = dialled ?? id ?? "nobody"
    let isKnown = report.trust == .pinned || report.trust == .verified || peer.isConfirmed
    let rest = dialled == nil ? nil : isKnown ? report.peer.map(Wording.short) : id
    // Whom nobody answered for: nothing is known of them.
    let trust: String? =
      switch report.trust {
      case _ where report.peer == nil: nil
      case _ where peer.isConfirmed && report.trust != .changed: "verified"
      case .verified: "verified"
      case .pinned: "the same identity as before"
      case .new: "never met before"
      case .changed: "NOT the identity of before"
      }
    return [name, rest, trust].compactMap(\.self).joined(separator: ", ")
  }

  private static func named(_ report: CallReport) -> String? {
    report.peerName.map { name in
      switch report.nameTrust {
      case .claimed: "somebody who says that it is \(name)"
      case .rendezvous: "\(name) (by this rendezvous)"
      case .known, nil: name
      }
    }
  }

  private static func lasted(_ report: CallReport) -> String {
    var text = Timestamp.clock(seconds: (report.durationMs + 500) / 1000)
    if let accepted = report.timeline.acceptedMs, let connected = report.timeline.connectedMs {
      text += ", connected \(max(0, connected - accepted)) ms after the answer"
    }
    return text
  }

  private static func heard(
    _ numbers: CallStatistics, _ file: String?
  ) -> [(title: String, text: String)] {
    let received = numbers.received
    let seconds = numbers.audio?.inbound.audibleDuration ?? 0
    var rows: [(title: String, text: String)] = []
    let saved = file.map { ", saved in \($0)" } ?? ""
    rows.append(
      (
        "heard", "\(Wording.decimal(seconds)) s at \(Wording.bitrate(received.bitrateBps))\(saved)"
      ))
    rows.append(("how good", good(numbers)))
    if let worst = QualityLine.worst(numbers) { rows.append(("worst", worst)) }
    var why = self.why(received)
    why += ", made up \(Wording.percent(received.concealedFraction)) of the sound"
    why += ", jitter \(Wording.milliseconds(received.jitterMs))"
    rows.append(("why", why))
    if let delay = delay(numbers) { rows.append(("delay", delay)) }
    return rows
  }

  /// What was lost on the line, what repaired it, and what was left.
  private static func why(_ received: CallStatistics.Inbound) -> String {
    let all = received.packetsReceived + received.packetsLost
    var text = "lost \(received.packetsLost) of \(all) packets"
    text += " (\(Wording.percent(received.lostFraction)))"
    guard received.packetsLost > 0 else { return text }
    if received.recoveredByFec > 0 { text += ", \(received.recoveredByFec) restored by FEC" }
    if received.recoveredByRetransmission > 0 {
      text += ", \(received.recoveredByRetransmission) sent again in time"
    }
    text += ", \(received.residualLost) not repaired"
    text += " (\(Wording.percent(received.residualLostFraction)))"
    return text
  }

  private static func good(_ numbers: CallStatistics) -> String {
    var parts: [String] = []
    if let mos = numbers.received.mos { parts.append("MOS \(Wording.decimal(mos)) of 5") }
    if numbers.qualityRx > 0 {
      parts.append("the line in was \(Wording.grade(numbers.qualityRx))")
    }
    let text = parts.joined(separator: ", ")
    return numbers.received.mosBasis.map { "\(text) (\($0))" } ?? text
  }

  private static func delay(_ numbers: CallStatistics) -> String? {
    var parts: [String] = []
    if let ear = numbers.received.mouthToEarMs {
      parts.append("mouth to ear about \(Wording.milliseconds(ear.p50))")
    }
    if let rtt = numbers.rttMs {
      parts.append(
        "round trip \(Wording.milliseconds(rtt.p50)) (95 %: \(Wording.milliseconds(rtt.p95)))")
    }
    if let buffer = numbers.received.jitterBufferDelayMs {
      parts.append("jitter buffer \(Wording.milliseconds(buffer.p50))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private static func sent(_ numbers: CallStatistics) -> String {
    var text = "\(numbers.sent.packetsSent) packets, \(Wording.bitrate(numbers.sent.bitrateBps))"
    text += reported(numbers)
    if numbers.qualityTx > 0 { text += ", the line out was \(Wording.grade(numbers.qualityTx))" }
    if let overhead = numbers.overheadBytesPerAudioPacket {
      text += ", \(Wording.decimal(overhead)) bytes a packet above the sound"
    }
    return text
  }

  /// What the other side has reported of the sound sent to it, and how much it has not.
  private static func reported(_ numbers: CallStatistics) -> String {
    guard let remote = numbers.audio?.remote, remote.packetsExpected > 0 else {
      guard let lost = numbers.sent.lostFraction else { return "" }
      return ", the other side lost \(Wording.percent(lost)) of all packets"
    }
    let share = Double(remote.packetsLost) / Double(remote.packetsExpected)
    var text = ", the other side lost \(remote.packetsLost) of \(remote.packetsExpected)"
    text += " (\(Wording.percent(share)))"
    if remote.packetsLost > 0 { text += ", \(remote.residualLost) not repaired" }
    let unknown = numbers.sent.packetsSent - remote.packetsExpected
    if unknown > unreported { text += ", and said nothing of the other \(unknown)" }
    return text
  }

  /// Packets that the last report need not know of: reports may be two seconds apart.
  private static let unreported = 150
}
