import Congestion
import Peer
import Primitives

/// The uplink of an endpoint with several calls: `UplinkBudget`, divided every 50 ms as
/// `PeerMachine` does it.
struct SharedUplink {
  private var budget = UplinkBudget()
  private var ends: [(end: LabEnd, number: Int)] = []
  private var due: UInt64 = 0

  mutating func add(_ end: LabEnd) {
    if let number = budget.addLink() { ends.append((end, number)) }
  }

  mutating func divide(at time: UInt64) {
    guard time >= due else { return }
    due = time + 50_000_000
    for (end, number) in ends {
      let now = end.clock(time)
      guard let need = end.media.uplinkNeed(on: end.association, now: now) else { continue }
      end.association.uplink?.weight = need.weight
      budget.updateLink(number, need, now: now)
    }
    guard let first = ends.first?.end else { return }
    budget.divide(now: first.clock(time))
    for (end, number) in ends { end.association.uplink?.share = budget.share(of: number) }
  }
}
