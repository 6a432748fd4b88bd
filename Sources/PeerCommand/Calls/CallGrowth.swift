package import Earshot
package import Primitives

/// One end of a call brings in a third (docs/protocol/channels.md §10): what is done and when, of
/// the end that does it. Without calls, channels or a clock of its own.
package struct CallGrowth {
  /// What is to be done now.
  package enum Step: Equatable, Sendable {
    /// The third has answered: the channel is offered to it and to the other end.
    case offer
    /// All are in the channel.
    case welcome
    /// The third does not come, or has gone before all were in the channel.
    case giveUp
    /// Somebody was not in the channel in time: the third is let go.
    case letGo
  }

  /// The call with the third, from the first ring until all are together.
  package private(set) var third: CallID?
  /// The channel is offered; until then all are to be in it.
  package private(set) var nextDeadline: Instant?

  package init() {}

  // MARK: - Inputs

  /// The third is called.
  package mutating func ring(_ call: CallID) {
    third = call
    nextDeadline = nil
  }

  /// Nothing comes of it, by our own doing.
  package mutating func cancel() {
    third = nil
    nextDeadline = nil
  }

  package mutating func handleConnected(_ call: CallID, now: Instant) -> Step? {
    guard isRinging, third == call else { return nil }
    nextDeadline = now + Self.patience
    return .offer
  }

  package mutating func handleEnded(_ call: CallID) -> Step? {
    guard third == call else { return nil }
    cancel()
    return .giveUp
  }

  /// - Parameter areTogether: Whether the other end and the third are in the channel.
  package mutating func update(areTogether: Bool, now: Instant) -> Step? {
    guard let until = nextDeadline, areTogether || now >= until else { return nil }
    cancel()
    return areTogether ? .welcome : .letGo
  }

  // MARK: - Getters

  package var isRinging: Bool { third != nil && nextDeadline == nil }

  /// The channel's members are told within a round trip or two; a guess for the worst of lines.
  private static let patience = Duration.seconds(8)
}
