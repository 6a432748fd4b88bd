package import Primitives
package import Wire

/// What a simulated user does about a call.
package struct Habits: Sendable {
  package enum Answer: Sendable { case never, accept(after: Duration), reject(after: Duration) }

  package var answer = Answer.accept(after: .seconds(1))
  /// How long the other side may be away, of calls both ways.
  package var absence = Duration.zero
  /// What the other side is told that this one understands.
  package var abilities = CallAbilities.moreWords
  /// How long its invitations may ring; `nil` = without end.
  package var ringTimeout: Duration? = .seconds(15)
  /// Cancels an invitation that is not accepted by then; `nil` = leaves that to the ring timeout.
  package var patience: Duration?
  /// Hangs up so long after the call was accepted; `nil` = leaves that to the other side.
  package var talk: Duration?

  package init() {}

  /// A user of whom one can say little.
  package static func random(_ random: inout RandomSource) -> Habits {
    var habits = Habits()
    switch random.below(20) {
    case 0..<2: habits.answer = .accept(after: .zero)
    case 2..<14: habits.answer = .accept(after: random.duration(.zero ... .seconds(4)))
    case 14..<15: habits.answer = .accept(after: random.duration(.seconds(13) ... .seconds(16)))
    case 15..<18: habits.answer = .reject(after: random.duration(.zero ... .seconds(4)))
    default: habits.answer = .never
    }
    if random.happens(0.25) { habits.patience = random.duration(.zero ... .seconds(5)) }
    habits.talk = random.duration(.zero ... .seconds(8))
    return habits
  }
}
