package import Earshot
package import Primitives

/// When each sender last said something: a call in which nothing comes holds one of the places of a
/// receiver, and is ended.
package struct TransferSilence: Sendable {
  /// Longer than an outage that a call outlives.
  package static let patience = Duration.seconds(60)

  private var heard: [(call: CallID, at: Instant)] = []

  package init() {}

  /// A call began, or its sender said something.
  package mutating func hear(_ call: CallID, now: Instant) {
    if let index = heard.firstIndex(where: { $0.call == call }) {
      heard[index].at = now
    } else {
      heard.append((call, now))
    }
  }

  /// It is over.
  package mutating func forget(_ call: CallID) { heard.removeAll { $0.call == call } }

  /// Those that have been silent for too long, each once.
  package mutating func takeSilent(now: Instant) -> [CallID] {
    let silent = heard.filter { now >= $0.at + Self.patience }.map(\.call)
    heard.removeAll { silent.contains($0.call) }
    return silent
  }

  /// Others that come do not put off the end of one that says nothing.
  package var nextDeadline: Instant? { heard.map { $0.at + Self.patience }.min() }
}
