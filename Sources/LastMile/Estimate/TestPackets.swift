package import Wire

/// Every test packet of one direction: when it was sent and when it arrived. Times are nanoseconds
/// of two clocks that need not agree.
package struct TestPackets: Sendable {
  /// What a packet was sent for.
  package enum Part: UInt8, Sendable, BitwiseCopyable {
    case idle, ramp, steady, loaded
    /// Echoes after the last load.
    case last
  }

  package struct Entry: Sendable, BitwiseCopyable {
    /// Of the sender's clock; of a lost packet that we did not send ourselves, its neighbour's.
    package var sent: Int64
    /// Of the receiver's clock.
    package var arrival: Int64 = .min
    /// IP packet, in bytes.
    package var byteCount: UInt16
    package var part: Part
    package var train: UInt8
    /// Whether `sent` was measured.
    package var hasSent = true
    /// Of the IP header as it came here (RFC 3168 §5); of what we sent, as it left.
    package var ecn = ECNField.capable

    package var isReceived: Bool { arrival != .min }
    /// Delay in an arbitrary zero.
    package var delay: Int64 { arrival - sent }
  }

  package private(set) var entries: [Entry] = []
  package private(set) var receivedCount = 0
  package var duplicated = 0
  package var reordered = 0
  /// Came with Congestion Experienced, and without an ECN-capable mark.
  package var marked = 0
  package var bleached = 0
  /// More are not kept: the byte budget of the highest rate is some 22 000 packets.
  package static let limit = 65_536

  package init() {}

  /// A packet that this host sent.
  package mutating func append(_ entry: Entry) {
    guard entries.count < Self.limit else { return }
    entries.append(entry)
  }

  /// A packet that the other end reported; its train, if that is news.
  package mutating func noteArrival(_ sequence: UInt32, at arrival: Int64) -> UInt8? {
    let index = Int(sequence)
    guard index < entries.count, !entries[index].isReceived else { return nil }
    entries[index].arrival = arrival
    receivedCount += 1
    return entries[index].train
  }

  /// The counts of a report, each of which only grows.
  package mutating func raiseCounts(to report: ProbeReportFrame) {
    duplicated = max(duplicated, Int(report.duplicateCount))
    reordered = max(reordered, Int(report.reorderedCount))
    marked = max(marked, Int(report.markedCount))
    bleached = max(bleached, Int(report.bleachedCount))
  }

  /// Takes a train's packets for another part than they were sent for.
  package mutating func reassign(train: UInt8, to part: Part) {
    for index in entries.indices where entries[index].train == train { entries[index].part = part }
  }

  /// The longest delay that five packets in a row had on average, in an arbitrary zero: what the
  /// queues of the line can hold at least.
  package var longestDelay: Double? {
    var window: [Int64] = []
    var longest: Double?
    for entry in entries where entry.isReceived {
      window.append(entry.delay)
      if window.count > 5 { window.removeFirst() }
      guard window.count == 5 else { continue }
      let mean = Double(window.reduce(0, +)) / 5
      longest = max(longest ?? mean, mean)
    }
    return longest
  }

  /// A packet that the other end sent and that came here. Numbers in between are lost so far.
  package mutating func noteReceived(_ sequence: UInt32, _ entry: Entry) {
    let index = Int(sequence)
    guard index < Self.limit else { return }
    if index < entries.count {
      if entries[index].isReceived {
        duplicated += 1
        return
      }
      reordered += 1
      entries[index] = entry
    } else {
      fill(upTo: index, like: entry)
      entries.append(entry)
    }
    receivedCount += 1
  }

  /// What was lost is taken for a part of what came after it, unless what came before it was the
  /// longer train.
  private mutating func fill(upTo index: Int, like entry: Entry) {
    var lost = entry
    lost.arrival = .min
    lost.hasSent = false
    if let last = entries.last, last.train != entry.train { lost = missing(after: last) }
    while entries.count < index { entries.append(lost) }
  }

  private func missing(after last: Entry) -> Entry {
    var lost = last
    lost.arrival = .min
    lost.hasSent = false
    return lost
  }

  /// The other end says that it sent so many.
  package mutating func noteSentCount(_ count: UInt32) {
    guard let last = entries.last else { return }
    let lost = missing(after: last)
    while entries.count < min(Int(count), Self.limit) { entries.append(lost) }
  }

  /// The received packets' least delay; `nil` when none came.
  package func leastDelay(where matches: (Entry) -> Bool) -> Int64? {
    var least: Int64?
    for entry in entries where entry.isReceived && matches(entry) {
      least = min(least ?? .max, entry.delay)
    }
    return least
  }

  /// What the least delay would be in a test without end: the least that was seen, less the mean
  /// step between the five least. Without jitter that is nothing; with it, they lie about as far
  /// from each other as the least does from its limit.
  package func limitingDelay(where matches: (Entry) -> Bool) -> Int64? {
    let delays = entries.filter { $0.isReceived && matches($0) }.map(\.delay).sorted()
    guard let least = delays.first else { return nil }
    guard delays.count >= 5 else { return least }
    return least &- (delays[4] &- least) / 4
  }
}
