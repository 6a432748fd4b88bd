/// The times and choices that calls keep to (docs/protocol/calling.md §3, §4).
package struct CallPolicy: Hashable, Sendable {
  /// When the two sides begin to look for a path.
  package enum Preparation: Hashable, Sendable {
    /// While it rings: the first frame comes a round trip earlier, and the caller learns the
    /// callee's addresses before it has accepted.
    case onRinging
    /// Not before the callee has accepted.
    case onAccept
    /// While it rings if the caller is no stranger to the callee; a stranger learns no address
    /// before the answer.
    case onRingingOfFamiliars
  }

  package static let standard = CallPolicy()

  package var preparation = Preparation.onRinging
  /// Calls at once, each with another peer; one more is answered "busy". Values outside
  /// 1...`CallLimits.mostCalls` are clamped.
  package var mostCalls = 1 {
    didSet { mostCalls = min(max(mostCalls, 1), CallLimits.mostCalls) }
  }
  /// Calls that have become channels, or are about to: each has room for its members as well.
  package private(set) var channelRooms: Set<ObjectIdentifier> = []
  /// From INVITE until the answer; `nil` = as long as the two users like.
  package var ringTimeout: Duration? = .seconds(15)
  /// The callee's own limit, so that a caller who asked for no timeout and is gone does not ring
  /// for ever (3 minutes as RFC 3261 §16.6, timer C).
  package var maximumRing = Duration.seconds(180)
  /// The same for a caller that was neither pinned nor called before.
  package var maximumRingOfStrangers = Duration.seconds(30)
  /// From ACCEPT until the first frame is heard: a timer of its own.
  package var connectTimeout = Duration.seconds(10)
  /// Whether a call is connected only when the other side was heard.
  package var waitsForFirstFrame = true
  /// Nothing heard for so long: the user is told.
  package var interruptedAfter = Duration.seconds(4)
  /// Nothing heard for so long: the connection counts as lost; tries to get it back go on.
  package var connectionLostAfter = Duration.seconds(10)
  /// Nothing heard for so long: the call ends.
  package var lostAfter = Duration.seconds(20)
  /// The longest that a call waits for the other side beyond that, where both allow it.
  package static let longestRejoin = Duration.seconds(1200)
  /// An invitation of the same caller while the first one rings replaces it only after so long: a
  /// caller who floods is heard once, one whose program was restarted can call again.
  package var recallAfter = Duration.seconds(3)
  /// An invitation of a peer that we are in a call with takes that call's place when nothing was
  /// heard in it for so long, and sound had come until then; else after `interruptedAfter`.
  package var deadAfter = Duration.milliseconds(1500)
  /// Repeated signals of an ended call are answered for so long.
  package var answersEndedFor = Duration.seconds(60)

  package init() {}

  /// Calls at once with the room that channels take.
  package var callLimit: Int {
    min(CallLimits.mostCalls, max(mostCalls, CallLimits.channelCalls * channelRooms.count))
  }

  /// A call becomes a channel, or ceases to be one.
  package mutating func setRoom(_ isNeeded: Bool, of channel: ObjectIdentifier) {
    if isNeeded { channelRooms.insert(channel) } else { channelRooms.remove(channel) }
  }

  func preparesOnRinging(isFamiliar: Bool) -> Bool {
    switch preparation {
    case .onRinging: true
    case .onAccept: false
    case .onRingingOfFamiliars: isFamiliar
    }
  }
}

/// How many of everything at most.
package enum CallLimits {
  /// Calls at once, whatever the policy says.
  package static let mostCalls = 32
  /// Calls of a channel that a call became: a mesh of 8 members, and one who is invited.
  package static let channelCalls = 8
  /// Call IDs that start nothing again, for 5 minutes.
  package static let seenCalls = 1024
  /// Ended calls whose repeated signals are answered; the oldest makes room.
  package static let endedCalls = 128
  /// Strangers whose last word is repeated at the same time; for one more, the oldest one's ends.
  /// With three a second each gets the repetitions of 2 s.
  package static let strangersToldAtOnce = 6
  /// Signals of an ended call that are answered to a stranger: four repetitions of INVITE, and four
  /// of CANCEL or TIMEOUT.
  package static let answersToStranger = 8
  /// Callers whose rate is remembered; the one not heard of for the longest makes room.
  package static let callers = 256
  /// A signal older, or further ahead, than this starts nothing, in ms.
  package static let ageMilliseconds: UInt64 = 60_000
  /// How long a call ID starts nothing again.
  package static let seenFor = Duration.seconds(300)
}
