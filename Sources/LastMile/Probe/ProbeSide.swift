import Primitives
import Wire

/// One direction of a probe: its packets, and how far its ramp and its load have come.
struct ProbeSide: Sendable {
  /// A train: asked for of the other end, or sent from here.
  struct Train: Sendable {
    var id: UInt8
    var rate: Double
    var payloadByteCount: Int
    var count: Int
    var part: TestPackets.Part
    var began: Instant
    /// When it should have been sent.
    var ends: Instant
    /// Index of its first packet; for the other end's trains a lower bound.
    var first: Int
  }

  let direction: LineDirection
  let isProbed: Bool
  let expected: Double
  var packets = TestPackets()
  /// The newest train; an ended one stays until the next.
  var train: Train?
  /// Where lost packets of trains belong.
  var parts: [UInt8: TestPackets.Part] = [:]
  var sizes: [UInt8: Int] = [:]
  /// What the next train of the ramp will have, in bit/s; `nil` when the ramp is over.
  var nextRampRate: Double?
  /// What the ramp showed.
  var rough: Double?
  var isSaturated = false
  var control: LoadControl?
  /// Index of the first packet of the loaded part.
  var loadedFrom = 0

  init(_ direction: LineDirection, plan: ProbePlan) {
    self.direction = direction
    isProbed = plan.probes(direction)
    expected = Double(plan.expected(direction))
    let isRamped = isProbed && plan.measuresBandwidth
    nextRampRate = isRamped ? max(Self.firstRate, expected / 16) : nil
    if let rate = nextRampRate { nextRampRate = min(rate, expected) }
  }

  /// Share of packets lost while nothing of ours is in the way.
  var idleLoss: Double {
    var sent = 0
    var lost = 0
    for entry in packets.entries where entry.part == .idle || entry.part == .steady {
      sent += 1
      if !entry.isReceived { lost += 1 }
    }
    return sent > 0 ? Double(lost) / Double(sent) : 0
  }

  /// Whether nothing more can be learned of the newest train: all of it came, or what came last
  /// is some time ago.
  func isSettled(_ train: Train, roundTrip: Duration, now: Instant) -> Bool {
    let over = train.ends + roundTrip
    guard now >= train.ends else { return false }
    if now >= over + .milliseconds(700) { return true }
    let received = entries(of: train).count { $0.isReceived }
    if received >= train.count { return true }
    guard now >= over + Self.grace, now >= lastNews + Self.grace else { return false }
    return received * 2 >= train.count || now >= over + .milliseconds(350)
  }

  /// When something of this direction last arrived, or was reported.
  var lastNews = Instant.zero

  /// The packets of a train, up to the last that came: of those after it nothing is known yet.
  func entries(of train: Train) -> [TestPackets.Entry] {
    let own = packets.entries[min(train.first, packets.entries.count)...].filter {
      $0.train == train.id
    }
    guard let last = own.lastIndex(where: \.isReceived) else { return [] }
    return Array(own[...last])
  }

  /// Mean delay in the steady part, else the idle one's, in ns: what the bottleneck adds when no
  /// queue stands.
  var base: Double? {
    for part in [TestPackets.Part.steady, .idle] {
      var sum = 0.0
      var count = 0
      for entry in packets.entries where entry.part == part && entry.isReceived {
        sum += Double(entry.delay)
        count += 1
      }
      if count >= 8 { return sum / Double(count) }
    }
    return nil
  }

  /// Bytes of UDP payload of a train's packets: 8 ms at its rate.
  static func payloadByteCount(rate: Double, overhead: Int) -> Int {
    let wanted = Int(rate * 0.008 / 8) - overhead
    return min(Datagram.maximumByteCount, max(250, wanted))
  }

  private static let firstRate = 250_000.0
  private static let grace = Duration.milliseconds(90)
}
