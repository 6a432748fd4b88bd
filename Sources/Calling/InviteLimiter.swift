package import Primitives

/// How often one caller, and all callers together, may make us open an invitation: each costs two
/// key agreements, and may ring.
///
/// Per caller 5 at once and then one a second. Familiar callers (`Familiars`) together 32 at once
/// and then 10 a second. Strangers together 32 at once, as many as there may be calls: members of
/// all its channels may call a program that has just come. Then 3 a second: each costs RINGING and
/// up to three REJECTs, and beyond that nothing is spent on them. A refused attempt counts too, up
/// to 5 s: whoever floods is not heard until it pauses.
package struct InviteLimiter: Sendable {
  private struct Caller {
    let id: PeerID
    /// When the caller's allowance is whole again (GCRA's theoretical arrival time).
    var wholeAt: Instant
  }

  private enum Rate {
    static let perCaller = Duration.seconds(1)
    static let burst = Duration.seconds(5)
    static let longestDebt = Duration.seconds(10)
    /// Of all familiar callers: 10 a second.
    static let familiars = Duration.milliseconds(100)
    /// Of all strangers: 3 a second.
    static let strangers = Duration.nanoseconds(333_333_333)
    /// How many more at once.
    static let burstInAll = 32
  }

  /// The one not heard of for the longest stands first.
  private var callers: [Caller] = []
  private var strangersWholeAt = Instant.zero
  private var familiarsWholeAt = Instant.zero

  package init() {}

  package mutating func admits(_ caller: PeerID, isFamiliar: Bool, now: Instant) -> Bool {
    var entry = Caller(id: caller, wholeAt: now)
    if let index = callers.firstIndex(where: { $0.id == caller }) {
      entry = callers.remove(at: index)
    } else if callers.count >= CallLimits.callers {
      callers.removeFirst()
    }
    let wholeAt = max(entry.wholeAt, now) + Rate.perCaller
    entry.wholeAt = min(wholeAt, now + Rate.longestDebt)
    callers.append(entry)
    guard wholeAt <= now + Rate.burst else { return false }
    let before = isFamiliar ? familiarsWholeAt : strangersWholeAt
    let pace = isFamiliar ? Rate.familiars : Rate.strangers
    let together = max(before, now) + pace
    guard together <= now + pace * Rate.burstInAll else { return false }
    if isFamiliar { familiarsWholeAt = together } else { strangersWholeAt = together }
    return true
  }
}
