/// What the keys of one channel may cost, and when they change (docs/protocol/sframe.md §6).
package struct GroupKeyLimits: Sendable {
  /// Members beside us. 1,000 of an audience are wanted, at about 0.5 KiB each; the rest is room.
  package var members = 4096
  /// Members whose frames we open. A channel has 17 hosts by default, a large audio room 50.
  package var hosts = 64

  /// Least time between two fresh keys for ordinary leaves: settled in the design, "at most once a
  /// second".
  package var freshInterval: Duration = .seconds(1)
  /// How long a fresh key is handed out before it must be used: the 2 s after which who left hears
  /// nothing, less `freshInterval`, and less 100 ms for timers that come late.
  package var switchDelay: Duration = .milliseconds(900)
  /// The same after a removal or a ban: about one round trip to most members.
  package var removalSwitchDelay: Duration = .milliseconds(250)
  /// Least time between two fresh keys for removals: no reason to go draws more than one a second.
  package var removalInterval: Duration = .seconds(1)
  /// Audience members above which ordinary leaves wait: settled in the design.
  package var largeAudience = 100
  /// Least time between two fresh keys then: 60 s in the design, less `switchDelay` twice.
  package var largeFreshInterval: Duration = .seconds(58)
  /// Least time between two ratchets for joins: two audio frames of 20 ms and a little. The design
  /// gives a newcomer 80 ms beside its round trips.
  package var ratchetInterval: Duration = .milliseconds(50)

  /// Times after which an envelope without a receipt is sent again, one at least; the last one
  /// repeats.
  package var resendDelays: [Duration] =
    [.milliseconds(250), .milliseconds(500)] + Array(repeating: .seconds(1), count: 10)
    + [.seconds(5)]
  /// The same while no more members than `few` have yet to acknowledge. Where each hop loses
  /// a tenth, nine tries in 2 s are all lost once in three million times.
  package var quickResendDelays: [Duration] =
    Array(repeating: .milliseconds(200), count: 10) + Array(repeating: .seconds(1), count: 8)
    + [.seconds(5)]
  /// Members of a small channel: five envelopes a second to each of them are less than the relay
  /// takes of a host (docs/protocol/relay.md §5).
  package var few = 17
  /// How long a receiver waits for an envelope on its way before it asks for the key.
  package var requestDelay: Duration = .milliseconds(300)
  /// Least time between two requests to one sender.
  package var requestInterval: Duration = .seconds(1)
  /// The same in a channel of no more than `few` others, while `requestDelay` is waited for anew.
  package var quickRequestInterval: Duration = .milliseconds(300)
  /// Least time between two envelopes that one member's requests draw.
  package var answerInterval: Duration = .milliseconds(500)

  /// How long a key still opens after a newer one has: a relay keeps 2 s of packets, a round trip
  /// and the jitter buffer take 2 s at the most.
  package var keyLife: Duration = .seconds(4)
  /// How long a generation still opens after the next has come: `keyLife`, and the 2 s until the
  /// sender must use the next one.
  package var generationLife: Duration = .seconds(6)
  /// Generations of one sender that are kept: the one in use, the next, and two that a removal
  /// replaced before they were used.
  package var generations = 4
  /// Keys of one generation that are kept. At `ratchetInterval` they span 0.8 s of joins.
  package var keys = 16
  /// Ratchet steps that are walked for frames of one sender, a second, whether they open or not.
  /// A step takes about 3 µs: 3 ms of each second. Joins take 20 a second at `ratchetInterval`,
  /// and a listener that was away `stepsAhead` at the most.
  package var steps = 1024
  /// Envelopes of one sender that are opened, a second. Opening takes 0.07 ms (`SFramePath`), and
  /// a forgery that three keys are tried on at most 0.2 ms: 4 ms of each second. A sender makes one
  /// a second, and a few for removals.
  package var envelopes = 20
  /// Roster revisions that are remembered, to compare what others state of them.
  package var revisions = 32
  /// Events, and answers to others, that nobody has fetched: four for each host. More are dropped;
  /// whoever gets no answer asks again.
  package var waiting = 256

  /// The last counter of a step, which is also the last that takes 2 bytes: 21 minutes of audio.
  package static let lastCounter: UInt64 = 0xFFFF
  /// The last ratchet step that an envelope may name: 3 years of joins, 50 ms apart.
  package static let lastStep: UInt32 = 1 << 31
  /// How far ahead of the newest known step a frame's step may be, modulo 256. The other 32 values
  /// are behind it: twice the keys that are kept.
  package static let stepsAhead: UInt32 = 223

  package init() {}
}
