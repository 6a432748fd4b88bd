/// How well a path carries packets: counters over its whole life, and loss over the last reports.
package struct PathQuality: Sendable, BitwiseCopyable {
  package private(set) var packetsSent: UInt64 = 0
  package private(set) var bytesSent: UInt64 = 0
  package private(set) var packetsAcknowledged: UInt64 = 0
  package private(set) var bytesAcknowledged: UInt64 = 0
  /// Declared lost and not reported since.
  package private(set) var packetsLost: UInt64 = 0
  package private(set) var bytesLost: UInt64 = 0
  /// Declared lost, and reported afterwards.
  package private(set) var spuriousLosses: UInt64 = 0
  package private(set) var congestionMarks: UInt64 = 0

  /// Runs of packets lost one after another.
  package private(set) var burstCount: UInt64 = 0
  package private(set) var longestBurst: UInt64 = 0
  private var packetsInBursts: UInt64 = 0
  private var presentBurst: UInt64 = 0

  /// Packets whose fate each of the last reports decided.
  private static let reportCount = 16
  private var settled = InlineArray<16, UInt32>(repeating: 0)
  private var lost = InlineArray<16, UInt32>(repeating: 0)
  private var present = 0

  package init() {}

  /// Loss as a fraction over the last 16 reports; `nil` before anything was reported.
  package var lossFraction: Double? {
    var all: UInt64 = 0
    var gone: UInt64 = 0
    for index in 0..<Self.reportCount {
      all += UInt64(settled[index])
      gone += UInt64(lost[index])
    }
    return all == 0 ? nil : Double(gone) / Double(all)
  }

  /// Mean number of packets in a run of losses; `nil` without losses.
  package var meanBurst: Double? {
    burstCount == 0 ? nil : Double(packetsInBursts) / Double(burstCount)
  }

  // MARK: What SentPacketHistory notes

  mutating func noteSent(byteCount: Int) {
    packetsSent += 1
    bytesSent += UInt64(clamping: byteCount)
  }

  mutating func noteAcknowledged(byteCount: Int, isCongestionExperienced: Bool) {
    packetsAcknowledged += 1
    bytesAcknowledged += UInt64(clamping: byteCount)
    if isCongestionExperienced { congestionMarks += 1 }
    settled[present] &+= 1
  }

  mutating func noteLost(byteCount: Int) {
    packetsLost += 1
    bytesLost += UInt64(clamping: byteCount)
    settled[present] &+= 1
    lost[present] &+= 1
  }

  /// A packet that counted as lost was reported after all.
  mutating func noteSpurious(byteCount: Int) {
    spuriousLosses += 1
    packetsLost -= 1
    bytesLost -= UInt64(clamping: byteCount)
    packetsAcknowledged += 1
    bytesAcknowledged += UInt64(clamping: byteCount)
  }

  mutating func noteReport() {
    present = (present + 1) % Self.reportCount
    settled[present] = 0
    lost[present] = 0
  }

  /// The packets' fates in the order in which they were sent.
  mutating func noteInOrder(isLost: Bool) {
    guard isLost else {
      presentBurst = 0
      return
    }
    presentBurst += 1
    if presentBurst == 1 { burstCount += 1 }
    packetsInBursts += 1
    longestBurst = max(longestBurst, presentBurst)
  }
}
