package import Primitives

/// How a node stands with Redis, and so with the other nodes (docs/protocol/cluster.md §3, §5).
package struct NodeStanding {
  /// What others say gets here.
  var isListening = true
  /// Its clients are told to go, and nobody is let in any more.
  var isLeaving = false
  /// Redis has had a beat of this connection.
  var isKnown = false
  /// No name is given that nobody has: Redis may have lost whose it is.
  private(set) var isFrozen = false
  /// All nodes that Redis had at the last beat, by their hashes: a Redis that has lost them hears
  /// of them again.
  private(set) var others: [[UInt8]] = []
  /// The nodes that channels are shared out among.
  private(set) var homes = ChannelHomes()
  /// When the last beat was sent that Redis had; `nil` = the others have never heard of this node.
  private var beat: Instant?
  /// What the clock of Redis showed at that beat, in ms since 1970.
  private var clock: Int64?

  /// Why all programs here are announced anew.
  enum Finding {
    /// Redis does not know the connection any more, and so nothing of this node.
    case forgotten
    /// The clock of Redis was set forward: to Redis the sessions here end too soon.
    case clockSet
  }

  /// Whether nobody waits for this node any more: new programs would be found by nobody.
  package func isCutOff(now: Instant) -> Bool { beat.map { now - $0 > Self.patience } ?? true }

  /// Whether a program may begin of which Redis is not told: the others must know already that they
  /// do not know all programs here, and must still count on some.
  func takesUntold(now: Instant) -> Bool {
    beat.map { now - $0 > Self.silence && now - $0 <= Self.patience } ?? false
  }

  /// Bits: 1 done, 2 the connection was not known, 4 names are frozen. Then the clock of Redis, all
  /// nodes, and the list of those that have channels.
  mutating func handleBeat(_ reply: SharedReply, sent: Instant) -> Finding? {
    guard let list = reply.list, let bits = list.first?.number, bits & 1 == 1 else { return nil }
    let drift = drift(to: list.dropFirst().first?.number, sent)
    let finding: Finding? =
      !isKnown ? nil : bits & 2 != 0 ? .forgotten : drift > Self.step ? .clockSet : nil
    others = list.dropFirst(2).prefix(Self.nodeLimit).compactMap { $0.bytes }
      .filter { $0.count == Self.hashByteCount }
    homes.handle(
      (list.last?.list ?? []).compactMap(\.bytes).filter { $0.count == Self.hashByteCount },
      isNew: !isKnown || abs(drift) > Self.jolt, sent: sent)
    beat = sent
    isFrozen = bits & 4 != 0
    isKnown = true
    return finding
  }

  /// By how many ms the clock of Redis went ahead of this node's since the last beat.
  private mutating func drift(to now: Int64?, _ sent: Instant) -> Int64 {
    let now = now.flatMap { Self.times.contains($0) ? $0 : nil }
    defer { clock = now }
    guard let now, let clock, let beat else { return 0 }
    return now - clock - (sent - beat).milliseconds
  }

  /// What a beat says: 0 announces its programs, 1 has, 2 leaves, 3 has, and does not hear others.
  /// 4, has left, is said by `SharedStore.leave`.
  func state(isComplete: Bool) -> UInt8 {
    isLeaving ? 0x32 : !isComplete ? 0x30 : isListening ? 0x31 : 0x33
  }

  /// As many as Redis tells of (`RedisScripts`).
  private static let nodeLimit = 64
  private static let hashByteCount = 16
  /// Others call it silent 3 s after a beat; Redis may have had some without an answer, for 2 s.
  private static let silence = Duration.seconds(5)
  /// Others wait for it 300 s from a later moment on: 30 s are for clocks that go at other rates.
  private static let patience = Duration.seconds(270)
  /// Milliseconds by which the clock of Redis may be set forward: clients register anew half an
  /// hour before a session is over.
  private static let step: Int64 = 60_000
  /// Milliseconds by which it may be set before others seem gone: they beat each second, and are
  /// there for 3 s.
  private static let jolt: Int64 = 2000
  /// All that a clock may show, in ms since 1970: as far as records count.
  private static let times: Range<Int64> = 0..<1 << 48
}
