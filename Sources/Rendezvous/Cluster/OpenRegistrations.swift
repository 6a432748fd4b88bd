import Primitives
import Wire

/// What registrations must know from RESP until their first DATA packet has come, or cannot come
/// any more. Two programs of one identity that register at once share it.
struct OpenRegistrations {
  private struct Entry {
    var facts: RegistrationFacts
    /// Of the command that brought them last.
    var number: UInt64
    /// Registrations that may still have their first packet.
    var count: Int
  }

  private var entries: [PeerID: Entry] = [:]
  /// In the order in which they came.
  private(set) var order = BoundedQueue<(id: PeerID, number: UInt64, period: UInt64)>(limit: limit)
  private var period: UInt64 = 0

  var count: Int { entries.count }

  subscript(id: PeerID) -> RegistrationFacts? {
    get { entries[id]?.facts }
    set { if let newValue { entries[id]?.facts = newValue } }
  }

  /// - Parameter facts: `nil` where what Redis said cannot be read.
  mutating func insert(_ facts: RegistrationFacts?, of id: PeerID, _ number: UInt64) {
    guard let facts else {
      entries[id] = nil
      return popClosed()
    }
    while !order.append((id, number, period)) { popOldest() }
    let count = entries[id]?.count ?? 0
    entries[id] = Entry(facts: facts, number: number, count: count + 1)
  }

  /// One of the identity's registrations has had its first packet.
  mutating func close(_ id: PeerID) {
    if let count = entries[id]?.count, count > 1 {
      entries[id]?.count = count - 1
    } else {
      entries[id] = nil
    }
    popClosed()
  }

  private mutating func popClosed() {
    while let first = order.first, entries[first.id]?.number != first.number {
      _ = order.popFirst()
    }
  }

  /// A second has passed.
  mutating func endPeriod() {
    period &+= 1
    while let first = order.first, period &- first.period > Self.life { popOldest() }
  }

  private mutating func popOldest() {
    guard let oldest = order.popFirst() else { return }
    if entries[oldest.id]?.number == oldest.number { entries[oldest.id] = nil }
  }

  /// More than `ServerLimits` lets wait.
  private static let limit = 65_536
  /// Seconds: twice as long as a session waits for its first packet (`ServerLimits.confirmation`).
  private static let life: UInt64 = 10
}
