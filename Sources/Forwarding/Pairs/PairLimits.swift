/// How much a relay forwards for pairs (docs/protocol/relay.md §6), each with its reason.
package struct PairLimits: Sendable {
  /// Pairs of which an end is bound, or was within `life`: 1 KiB each. 0 = none are served.
  package var pairs = 4096
  /// Bound ends of one part of the address space: an office has 64, and no network a quarter.
  package var endsPerPrefix = PrefixShares(host: 64, site: 256, network: 1024)
  /// The same with ends that ended within `life`: all of an office hang up and dial again, and no
  /// network has more than half of the pairs.
  package var keptEndsPerPrefix = PrefixShares(host: 128, site: 512, network: 2048)
  /// Of one end, what has a connection ID that it named: 10 Mbit/s, and the packets of a picture of
  /// 8 Mbit/s in packets of 1200 bytes, thrice. At once 200 ms of that.
  package var named = PairPace(
    packetsPerSecond: 2500, packetBurst: 500, bytesPerSecond: 1_250_000, byteBurst: 256_000)
  /// Of one end, what has another connection ID: the sound of a call. At once 300 ms of `named`:
  /// after a rekey PAIR_BIND may get lost twice, and goes again after 100 and 300 ms.
  package var unnamed = PairPace(
    packetsPerSecond: 100, packetBurst: 750, bytesPerSecond: 25_000, byteBurst: 375_000)
  /// Bytes a second of all ends in one part of the address space; a quarter of them at once.
  package var bytesPerPrefix = PrefixShares(
    host: 5_000_000, site: 10_000_000, network: 20_000_000)
  /// Bytes of all pairs a second: 400 Mbit/s each way; a quarter of them at once.
  package var totalBytesPerSecond: UInt64 = 50_000_000
  /// Answers a second to an end that is bound, and to all others of one part of names and hosts:
  /// an end that binds asks twice.
  package var answersPerSecond: UInt64 = 10
  /// The same at once: two ends that move, and lose some.
  package var answerBurst: UInt64 = 20
  /// Packets that wait to be written: eight times what is read at once.
  package var waiting = 512
  /// Answers that wait.
  package var waitingAnswers = 256
  /// How long a binding holds without being renewed: two renewals of 10 s may be lost.
  package var life = Duration.seconds(30)

  package init() {}
}

/// How much an end of a pair may send.
package struct PairPace: BitwiseCopyable, Sendable {
  package var packetsPerSecond: UInt64
  /// Packets at once.
  package var packetBurst: UInt64
  package var bytesPerSecond: UInt64
  /// Bytes at once.
  package var byteBurst: UInt64
}

/// What a relay did for pairs, and dropped.
package struct PairCounters: Equatable, Sendable {
  /// Packets that left, and their bytes.
  package var packetsForwarded: UInt64 = 0
  package var bytesForwarded: UInt64 = 0
  /// Packets whose connection ID the end has not named.
  package var packetsUnnamed: UInt64 = 0
  /// Packets to an end that is not bound.
  package var packetsUnbound: UInt64 = 0
  /// Packets beyond a pace, and such that found no place.
  package var packetsOverPace: UInt64 = 0
  /// Ends that were bound, and that moved to another address.
  package var bindings: UInt64 = 0
  package var moves: UInt64 = 0
  /// PAIR_BIND with a wrong MAC, or that is none.
  package var bindsForged: UInt64 = 0
  /// With a number that was seen.
  package var bindsReplayed: UInt64 = 0
  /// Without the cookie of their address.
  package var bindsUnproven: UInt64 = 0
  /// For which there was no room.
  package var bindsRefused: UInt64 = 0
  /// Of tickets that have ended.
  package var bindsLate: UInt64 = 0

  package init() {}

  /// Every counter with its name in Prometheus and what it counts.
  package var all: [(name: String, help: String, value: UInt64)] {
    [
      ("pair_packets_forwarded", "Packets of pairs that left.", packetsForwarded),
      ("pair_bytes_forwarded", "Bytes of pairs that left.", bytesForwarded),
      ("pair_packets_unnamed", "Packets of no pair of their sender's.", packetsUnnamed),
      ("pair_packets_unbound", "Packets to an end that is not bound.", packetsUnbound),
      ("pair_packets_over_pace", "Packets beyond the pace of an end or all.", packetsOverPace),
      ("pair_bindings", "Ends of pairs that were bound.", bindings),
      ("pair_moves", "Ends of pairs that came from another address.", moves),
      ("pair_binds_forged", "PAIR_BIND with a wrong MAC.", bindsForged),
      ("pair_binds_replayed", "PAIR_BIND whose number was seen.", bindsReplayed),
      ("pair_binds_unproven", "PAIR_BIND without its address' cookie.", bindsUnproven),
      ("pair_binds_refused", "PAIR_BIND that found no room.", bindsRefused),
      ("pair_binds_late", "PAIR_BIND of tickets that have ended.", bindsLate),
    ]
  }
}
