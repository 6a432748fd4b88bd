/// Counts losses and how they cluster.
struct LossCount: Sendable {
  private var sent = 0
  private var lost = 0
  private var bursts = 0
  private var wasLost = false

  mutating func add(_ entry: TestPackets.Entry) {
    sent += 1
    if !entry.isReceived {
      lost += 1
      if !wasLost { bursts += 1 }
    }
    wasLost = !entry.isReceived
  }

  var estimate: ShareEstimate? { ShareEstimate(hits: lost, of: sent) }
  var meanBurst: Double? { bursts > 0 ? Double(lost) / Double(bursts) : nil }
}
