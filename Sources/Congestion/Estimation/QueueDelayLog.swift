/// How long each packet of a call waited in queues, for its report: above the base delay as it is
/// known up to 30 s later.
///
/// Whoever comes into a full queue takes it for the path at first. Once the queue is seen to drain,
/// what was measured before counts from the lower base. Nothing is allocated.
struct QueueDelayLog: Sendable, BitwiseCopyable {
  /// Those whose base does not change any more.
  private var settled = DurationHistogram()
  /// The others: how far above `reference`, and how far below it.
  private var above = DurationHistogram()
  private var below = DurationHistogram()
  /// The base delay when they began, µs with the difference of the clocks; `nil` before the first.
  private var reference: Int64?
  /// The least since, µs.
  private var least: Int64 = 0
  /// When the first of them arrived, and the one that brought `least`; on the receiver's clock, µs.
  private var began: Int64 = 0
  private var fell: Int64 = 0

  /// Takes one packet that arrived.
  ///
  /// - Parameter base: the base delay with that packet, µs.
  mutating func add(_ packet: ArrivedPacket, base: Int64) {
    if reference == nil || base > least || packet.arrival &- began > Self.memory {
      settle()
      (reference, least, began) = (base, base, packet.arrival)
    } else if base < least {
      (least, fell) = (base, packet.arrival)
    } else if packet.arrival &- fell > Self.calm {
      refer()
    }
    let offset = packet.delay &- (reference ?? base)
    if offset >= 0 {
      above.add(Self.nanoseconds(offset))
    } else {
      below.add(Self.nanoseconds(0 &- offset))
    }
  }

  /// The base has fallen: what is far below the old one would be counted coarsely.
  private mutating func refer() {
    guard let reference, reference &- least > Self.tolerance else { return }
    (above, below, self.reference) = (open, DurationHistogram(), least)
  }

  /// The base delay is another one from now on: what was before keeps its own.
  mutating func settle() {
    settled = whole
    (above, below, reference) = (DurationHistogram(), DurationHistogram(), nil)
  }

  /// Of all packets.
  var whole: DurationHistogram {
    var whole = settled
    whole.add(open) { $0 }
    return whole
  }

  /// Of those whose base may still change, from the base as it is now.
  private var open: DurationHistogram {
    let fall = Self.nanoseconds((reference ?? least) &- least)
    var open = DurationHistogram()
    open.add(above) { $0 + fall }
    open.add(below) { fall - min($0, fall) }
    return open
  }

  /// A peer may report any times of arrival.
  private static func nanoseconds(_ microseconds: Int64) -> UInt64 {
    UInt64(min(max(0, microseconds), longest)) * 1_000
  }

  /// Of the base delay, µs: as long as `BaseDelayFilter` remembers.
  private static let memory: Int64 = 30_000_000
  /// Since the base fell, and by how much at the least, until delays count from the new one, µs.
  private static let calm: Int64 = 200_000
  private static let tolerance: Int64 = 1_000
  /// What a histogram holds, µs.
  private static let longest: Int64 = 65_000_000
}
