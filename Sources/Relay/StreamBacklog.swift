package import Primitives

/// Keeps what waits for a slow stream short: a packet may join the queue if it will leave soon, at
/// the rate at which the stream took bytes lately.
///
/// A datagram that cannot leave is lost, and the sender hears of it. A stream would keep it, and
/// all that comes behind it would be late by as much. So the newest packet is lost here instead.
package struct StreamBacklog: Sendable {
  /// How much had left at one moment.
  private struct Checkpoint: Sendable {
    var at: Instant
    var left: UInt64
  }

  /// A quarter of a second of media is late already; two round trips of a long way are not.
  package static let longestWait = Duration.milliseconds(200)
  /// A rate is not known before.
  private static let shortestMeasurement: UInt64 = 50_000_000

  /// Where each packet ends, in bytes since the start, and when it joined.
  private var marks: [(end: UInt64, at: Instant)] = []
  private var first = 0
  private var total: UInt64 = 0
  /// Between one and two times `longestWait` ago, unless the queue was empty since.
  private var earlier = Checkpoint(at: .zero, left: 0)
  private var later = Checkpoint(at: .zero, left: 0)
  /// Packets that were left out.
  package private(set) var droppedCount: UInt64 = 0

  package init() {}

  /// Whether a packet may join, while `unsent` bytes have not left this host.
  package mutating func admits(unsent: Int, now: Instant) -> Bool {
    let left = total - min(total, UInt64(max(0, unsent)))
    while first < marks.count, marks[first].end <= left { first += 1 }
    let present = Checkpoint(at: now, left: left)
    if first == marks.count {
      marks.removeAll(keepingCapacity: true)
      first = 0
      earlier = present
      later = present
      return true
    }
    if now >= later.at + Self.longestWait {
      earlier = later
      later = present
    }
    let isSoon = now < marks[first].at + Self.longestWait && willLeaveSoon(unsent, present)
    guard isSoon, marks.count - first < Self.packetLimit else {
      droppedCount += 1
      return false
    }
    return true
  }

  private func willLeaveSoon(_ unsent: Int, _ present: Checkpoint) -> Bool {
    let elapsed = present.at.nanoseconds(since: earlier.at)
    let drained = present.left - min(present.left, earlier.left)
    guard elapsed >= Self.shortestMeasurement, drained > 0 else { return true }
    let wait = Double(unsent) * Double(elapsed) / Double(drained)
    return wait < Double(Self.longestWait.milliseconds) * 1e6
  }

  /// A packet of so many bytes has joined.
  package mutating func append(byteCount: Int, now: Instant) {
    total += UInt64(byteCount)
    if first > Self.packetLimit {
      marks.removeFirst(first)
      first = 0
    }
    marks.append((total, now))
  }

  /// Twice what 20 Mbit/s are in packets of 1200 bytes in 200 ms.
  private static let packetLimit = 1024
}
