internal import CEarshot
internal import Earshot
internal import Primitives

/// An event as C gets it: one of the kinds of earshot.h, and texts that nothing of a peer's can
/// bend.
struct EventText {
  var kind: UInt32
  var call: CallID?
  var name: String
  var reason = ""
  var text = ""
  var peer = ""
  var peerName = ""
  var data: [UInt8] = []
  var stream: UInt32 = 0
  var numbers: CallStatistics?

  /// Registration, and what has no kind of its own.
  init(_ event: EndpointEvent) {
    (kind, call, name) = (8, event.callID, "")
    switch event {
    case .registrationChanged(let state):
      (kind, name) = (1, Self.word(state))
      if case .failed(let error) = state { text = Self.clean(error.description) }
      if case .reconnecting(let error?) = state { text = Self.clean(error.description) }
    case .incomingCall(let incoming):
      (kind, name, peer) = (2, "incomingCall", incoming.peer.description)
      peerName = Self.clean(incoming.name ?? "")
      text = Self.clean(incoming.userExtension ?? "")
    case .callStateChanged(_, let state, let why):
      (kind, name, reason) = (3, state.rawValue, why.rawValue)
    case .callProgress(_, let step): fill(step)
    case .statistics(_, let numbers): (kind, name, self.numbers) = (6, "statistics", numbers)
    case .callEnded(_, let report):
      (kind, name, text) = (7, report.outcome.rawValue, Self.clean(report.reason))
      peer = report.peer?.description ?? ""
      peerName = Self.clean(report.peerName ?? "")
    default: (name, text) = (Self.word(event), Self.details(event))
    }
  }

  /// The call goes on under another number: this one is told no more.
  init(replaced call: CallID) {
    (kind, self.call, name) = (EARSHOT_CALL_ENDED.rawValue, call, "replaced")
    text = "Both sides called: the call goes on as the one that was made here."
  }

  /// What was not told because nobody took it.
  init(leftOut count: Int) {
    (kind, call, name, text) = (8, nil, "eventsLeftOut", "\(count)")
  }

  /// Whether a peer, or time, brings such an event without end.
  var isUpToPeer: Bool { (4...6).contains(kind) }

  private mutating func fill(_ step: CallProgress) {
    kind = 4
    switch step {
    // Told by itself: to find its name by reflection takes all of its 64 KiB.
    case .message(let stream, let bytes):
      (kind, name, self.stream, data) = (5, "message", UInt32(stream), bytes)
    case .streamChanged(let change):
      (name, reason) = (change.stream.rawValue, change.reason.rawValue)
      text = "\(change.old.rawValue) to \(change.new.rawValue)"
    case .answered(let who):
      (name, peer) = ("answered", who.id.description)
      peerName = Self.clean(who.name ?? "")
    default: (name, text) = (Self.word(step), Self.details(step))
    }
  }

  /// Every text that may hold what somebody else wrote.
  private static func clean(_ text: String) -> String { Printable.only(text) }

  /// The name of an enumeration's case.
  static func word(_ value: some Any) -> String {
    String("\(value)".prefix { $0 != "(" })
  }

  private static func details(_ value: some Any) -> String {
    let rest = "\(value)".replacing("Earshot.", with: "").drop { $0 != "(" }
    return clean(String(rest.dropFirst().dropLast().prefix(500)))
  }
}
