import Calling
import Congestion
import Foundation
import LastMile
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Every event that each side of a scenario is told, in order, held against a file of the folder
/// `Golden`: another event, one less or one more fails, and so does a time that differs by more
/// than 0.5 s. `EARSHOT_RECORD=1` writes the file anew, to be reviewed.
final class EventOrder {
  private let scenario: String
  private var lines: [String] = []
  private var calls: [CallID] = []

  /// - Parameter scenario: the file's name: number and words.
  init(_ scenario: String) {
    self.scenario = scenario
    lines.append("scenario \(scenario)")
  }

  /// What everybody in a world was told since a moment.
  func record(_ title: String, _ world: CallWorld, since start: Instant) {
    lines += ["", "== \(title)"]
    var names: [String] = []
    for peer in world.peers {
      let name = String(peer.name.description.prefix { $0 != "-" })
      names.append(name)
      let count = names.count { $0 == name }
      append(count == 1 ? name : "\(name), program \(count)", peer.events, since: start)
    }
  }

  /// The same, of one side whose events somebody else has kept.
  func record(_ title: String, of name: String, _ events: [KeptEvent], since start: Instant) {
    lines += ["", "== \(title)"]
    append(name, events, since: start)
  }

  /// The same, of a program that has put its events in words. Of equal ones in a row the first
  /// stands for all.
  func record(_ title: String, _ programs: [SimulatedProgram], since start: Instant) {
    lines += ["", "== \(title)"]
    for program in programs {
      let told = program.told.filter { $0.at >= start }
      lines.append(told.isEmpty ? "\(program.name) is told nothing" : program.name)
      var rest = told[...]
      while let first = rest.first {
        let count = rest.prefix { $0.text == first.text }.count
        rest.removeFirst(count)
        append(first.text + (count == 1 ? "" : " (\(count) in a row)"), at: first.at - start)
      }
    }
  }

  private func append(_ text: String, at time: Duration) {
    let tenths = (time.milliseconds + 50) / 100
    let words = "\(tenths / 10).\(tenths % 10)"
    lines.append(String(repeating: " ", count: max(0, 8 - words.count)) + "\(words) s  \(text)")
  }

  typealias KeptEvent = (at: Instant, event: PeerEvent)

  private func append(_ name: String, _ events: [KeptEvent], since start: Instant) {
    let told = events.filter { $0.at >= start }
    lines.append(told.isEmpty ? "\(name) is told nothing" : name)
    for entry in told {
      if let text = text(of: entry.event) { append(text, at: entry.at - start) }
    }
  }

  // MARK: - The file

  func expectGolden(_ location: SourceLocation = #_sourceLocation) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "Golden/\(scenario).txt")
    if ProcessInfo.processInfo.environment["EARSHOT_RECORD"] != nil {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
      return
    }
    let golden = try String(contentsOf: file, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    for (index, line) in lines.enumerated() where index < golden.count {
      guard !Self.agree(line, golden[index]) else { continue }
      Issue.record(
        """
        \(scenario).txt, line \(index + 1)
        expected: \(golden[index])
        told:     \(line)
        \(lines.joined(separator: "\n"))
        """, sourceLocation: location)
      return
    }
    #expect(
      lines.count == golden.count, "\(lines.joined(separator: "\n"))", sourceLocation: location)
  }

  /// Whether two lines are the same event within 0.5 s, or the same words.
  static func agree(_ one: String, _ other: String) -> Bool {
    guard let (first, event) = parts(one), let (second, expected) = parts(other) else {
      return one == other
    }
    return event == expected && abs(first - second) <= 0.5
  }

  private static func parts(_ line: String) -> (seconds: Double, event: Substring)? {
    guard line.hasPrefix(" "), let mark = line.range(of: " s  "),
      let seconds = Double(line[..<mark.lowerBound].drop { $0 == " " })
    else { return nil }
    return (seconds, line[mark.upperBound...])
  }

  // MARK: - The words

  /// `nil` for what says nothing to a user: a card to keep, media to fetch.
  private func text(of event: PeerEvent) -> String? {
    switch event {
    case .registration(.registered): "registration: registered"
    case .registration(let step): "registration: \(step)"
    case .rendezvousIdentified, .rendezvousNodes, .nameReceipt, .link(_, .audioArrived),
      .link(_, .videoArrived):
      nil
    case .calling(let event): text(of: event)
    case .link(let call, let step): "\(name(of: call)): \(Self.text(of: step))"
    case .unresolved(let call, let failure): "\(name(of: call)): unresolved, \(failure)"
    case .token(let step): "token: \(step)"
    case .relay(let event): "relay: \(Self.kind(of: "\(event)"))"
    case .relaysOffered: "relays offered"
    case .relayStream: "relay stream"
    case .probe(let progress): "probe: \(progress.word)"
    case .channel(_, let event): "channel: \(Self.kind(of: "\(event)"))"
    case .memberChecked(_, let uid, let fault): "member \(uid): \(fault.map { "\($0)" } ?? "good")"
    }
  }

  private func text(of event: CallEvent) -> String {
    switch event {
    case .incoming(let call, _): "\(name(of: call)): incoming"
    case .delivered(let call): "\(name(of: call)): delivered"
    case .stateChanged(let call, let state, let cause): "\(name(of: call)): \(state), \(cause)"
    case .replaced(let old, let new): "\(name(of: old)): replaced by \(name(of: new))"
    case .interrupted(let call): "\(name(of: call)): interrupted"
    case .connectionLost(let call): "\(name(of: call)): connection lost"
    case .away(let call, let limit): "\(name(of: call)): away, \(limit)"
    case .rejoined(let call, let absence):
      "\(name(of: call)): rejoined after \(absence.milliseconds / 1_000) s"
    case .resumed(let call): "\(name(of: call)): resumed"
    case .remoteMediaChanged(let call, let state):
      "\(name(of: call)): remote media \(Self.text(of: state))"
    case .ended(let end):
      """
      \(name(of: end.callID)): ended, \(end.outcome), \(end.cause), \
      connected for \((end.durationMilliseconds + 500) / 1_000) s
      """
    case .refused(let call, _, let reason): "\(name(of: call)): refused, \(reason)"
    }
  }

  private static func text(of step: LinkStep) -> String {
    switch step {
    case .lookingAgain(let failure): "looking again, \(failure)"
    case .peerFound: "peer found"
    case .invitation(let notice): "invitation, \(notice.userExtension ?? "no user data")"
    case .answered(let words): "answered, \(words ?? "no user data")"
    case .pathReady(let kind, _): "path ready, \(kind)"
    case .pathChanged(let kind, _): "path changed, \(kind)"
    case .shortCode: "short code"
    case .publishFallback(let change):
      "publish fallback, \(change.mode), \(change.reason)"
    case .subscribeFallback(let change, let isSmall):
      "subscribe fallback, \(change.mode), \(change.reason)\(isSmall ? ", low pictures" : "")"
    case .remoteWants(let state): "remote wants \(text(of: state))"
    case .said(let message): "said, \(kind(of: "\(message)"))"
    case .messageReceived(let stream, let bytes, _): "message of \(bytes.count) bytes, \(stream)"
    case .messagesMissed(let stream, let missed, let cached):
      "messages missed, \(stream): \(missed), cached \(cached)"
    case .messageFinished(_, let isDelivered): "message \(isDelivered ? "delivered" : "lost")"
    case .mediaMayFlow: "media may flow"
    case .mediaMustStop: "media must stop"
    case .audioArrived: "audio arrived"
    case .videoArrived: "video arrived"
    case .firstFrameSent: "first frame sent"
    case .firstFrameReceived: "first frame received"
    }
  }

  /// The name of a case without what it brings.
  private static func kind(of text: String) -> Substring { text.prefix { $0 != "(" } }

  private static func text(of state: MediaState) -> String {
    let words = [
      state.contains(.audio) ? "audio" : nil, state.contains(.video) ? "video" : nil,
      state.contains(.smallVideo) ? "low pictures" : nil,
    ].compactMap(\.self)
    return words.isEmpty ? "nothing" : words.joined(separator: ", ")
  }

  private func name(of call: CallID) -> String {
    if !calls.contains(call) { calls.append(call) }
    return "call \((calls.firstIndex(of: call) ?? 0) + 1)"
  }
}
