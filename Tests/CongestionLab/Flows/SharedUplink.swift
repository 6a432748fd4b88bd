import Congestion
import Primitives

/// The uplink of an endpoint with several links: `UplinkBudget`, divided every 50 ms.
struct SharedUplink {
  private var budget = UplinkBudget()
  /// By flow, the link's number in the budget.
  private var numbers: [Int: Int] = [:]
  private var due: UInt64 = 0

  mutating func note(_ flow: MediaFlow, at time: UInt64) {
    let now = Instant(nanoseconds: time)
    if numbers[flow.index] == nil { numbers[flow.index] = budget.addLink() }
    guard let number = numbers[flow.index] else { return }
    budget.note(number, flow.uplinkLink, now: now)
    guard time >= due else { return }
    due = time + 50_000_000
    budget.divide(now: now)
  }

  func share(of flow: Int) -> Double {
    guard let number = numbers[flow] else { return .infinity }
    return budget.share(of: number)
  }
}
