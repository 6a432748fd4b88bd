import Primitives

/// Keeps a short queue at the bottleneck: the rate of a loaded direction follows what the packets
/// that came out say of its service, and the delay that they gathered.
struct LoadControl: Sendable {
  /// What the line seems to carry, in bit/s.
  private(set) var centre: Double
  /// What is sent now, in bit/s.
  private(set) var rate: Double
  private let ceiling: Double
  private let floor: Double
  /// Delay without a queue at this pace, in ns.
  private let base: Double
  private let loss: Double
  /// What jitter alone may seem to be of a queue, in ns.
  private let noise: Double
  private let firstAdvance: Double
  /// The longest queue seen before, in ns: the bottleneck may hold no more.
  private let full: Double
  /// Where the queue last began to stand, as an index of the entries given.
  private var busyFrom: Int?
  /// Packets whose mean says how long the queue is.
  private let window: Int
  /// ns of queue that are aimed at.
  private var target = firstTarget
  private var lastChange: Instant
  /// How much the next step goes up, as a share: more, the longer no queue shows.
  private var advance: Double
  /// The queue overflowed: then loss says nothing of the line.
  private(set) var hasOverflowed = false

  init(
    centre: Double, ceiling: Double, base: Double, spread: Double = 0, loss: Double, full: Double,
    opening: Double, packetBits: Double = 0, now: Instant
  ) {
    let packets = packetBits > 0 ? Self.windowTime * centre / packetBits : 0
    window = max(Self.leastWindow, Int(packets))
    noise = Self.noiseShare * spread
    self.centre = centre
    self.ceiling = ceiling
    floor = centre / 4
    // The more the line loses, the further off may the ramp have been.
    firstAdvance = Self.leastAdvance + 0.4 * min(0.2, loss)
    advance = firstAdvance
    self.base = base
    self.loss = loss
    self.full = full
    lastChange = now
    rate = min(ceiling, centre * opening)
  }

  /// - Parameter entries: All packets of the loaded part so far, in the order of sending.
  mutating func update(_ entries: ArraySlice<TestPackets.Entry>, roundTrip: Double, now: Instant) {
    guard let queue = newestQueue(entries) else { return }
    let isFull = full < Self.shortQueue && queue > max(2 * Self.busyAbove, 0.75 * full)
    if isFull || loses(entries), now >= lastChange + .nanoseconds(Int64(roundTrip)) {
      hasOverflowed = true
      busyFrom = nil
      centre = max(floor, centre * Self.retreat)
      lastChange = now
    } else if queue > Self.busyAbove + noise {
      advance = firstAdvance
      busyFrom = busyFrom ?? max(entries.startIndex, entries.endIndex - window)
      if let served = served(entries) { centre = min(max(floor, served), ceiling) }
    } else {
      if queue < Self.idleBelow + noise { busyFrom = nil }
      let patience = Duration.nanoseconds(Int64(roundTrip) + 100_000_000)
      if busyFrom == nil, now >= lastChange + patience {
        centre = min(ceiling, centre * (1 + advance))
        advance = min(2 * advance, Self.longestAdvance)
        lastChange = now
      }
    }
    // A queue that is too short may be none at all: it is filled faster than it is drained.
    let time = queue < target ? 0.6 * (Self.settling + roundTrip) : Self.settling + roundTrip
    let pull = (target - queue) / time
    rate = max(floor, min(ceiling, centre * (1 + min(0.12, max(-0.2, pull)))))
  }

  /// Mean delay of what came last, above the base, in ns.
  private func newestQueue(_ entries: ArraySlice<TestPackets.Entry>) -> Double? {
    var sum = 0.0
    var count = 0
    for entry in entries.reversed() where entry.isReceived {
      sum += Double(entry.delay)
      count += 1
      if count == window { break }
    }
    return count >= 8 ? sum / Double(count) - base : nil
  }

  /// Whether the last settled packets were lost far more often than the line loses by itself.
  private func loses(_ entries: ArraySlice<TestPackets.Entry>) -> Bool {
    guard let last = entries.lastIndex(where: \.isReceived) else { return false }
    let settled = entries[entries.startIndex...last].suffix(2 * window)
    let count = Double(settled.count)
    guard count >= Double(window) else { return false }
    let lost = Double(settled.count { !$0.isReceived }) / count
    return lost > loss + 3 * (loss * (1 - loss) / count).squareRoot() + 0.06
  }

  /// Bits a second at which packets were served since the queue stands, lost ones included: what
  /// can be sent without the queue's growing. A queue that overflows serves no more than what came
  /// out, and what the line loses by itself.
  private mutating func served(_ entries: ArraySlice<TestPackets.Entry>) -> Double? {
    guard let busyFrom else { return nil }
    var sent: [(x: Double, y: Double)] = []
    var received: [(x: Double, y: Double)] = []
    var first: TestPackets.Entry?
    for index in busyFrom..<entries.endIndex where entries[index].isReceived {
      let start = first ?? entries[index]
      first = start
      let arrival = Double(entries[index].arrival - start.arrival)
      sent.append((Double(index), arrival))
      received.append((Double(received.count), arrival))
    }
    guard let first, let last = sent.last, sent.count >= window,
      last.y >= Self.shortestFit, let overSent = LineFit(sent),
      let overReceived = LineFit(received), overSent.slope > 0, overReceived.slope > 0
    else { return nil }
    let bits = Double(first.byteCount) * 8e9
    let most = bits / overReceived.slope / max(0.2, 1 - loss)
    let bySent = bits / overSent.slope
    if bySent > most * Self.overflow {
      hasOverflowed = true
      target = max(Self.leastTarget, target * 0.9)
      return most * 0.98
    }
    return min(bySent, most * 1.03)
  }

  private static let firstTarget = 12e6
  private static let leastTarget = 6e6
  /// So much more sent than served cannot be chance.
  private static let overflow = 1.08
  /// Of the delays' standard deviation, for the mean of a window of neighbours.
  private static let noiseShare = 0.35
  private static let busyAbove = 5e6
  private static let idleBelow = 3e6
  /// ns in which an error of the queue is made good, beside the round trip.
  private static let settling = 200e6
  /// A queue of so many ns may overflow before it is seen.
  private static let shortQueue = 80e6
  private static let shortestFit = 120e6
  /// Packets, and s at the rate of the line.
  private static let leastWindow = 24
  private static let windowTime = 0.02
  private static let leastAdvance = 0.07
  private static let longestAdvance = 0.25
  private static let retreat = 0.94
}
