package import Primitives

/// One uplink for all links of an endpoint: what each of them may use of it (docs/decisions/0024;
/// coupled congestion control, RFC 8699).
///
/// Each link's estimator sees only its own packets. Where several see a queue at once the uplink is
/// what they share; then together they get what they carried together, by weight, and nobody more
/// than its own estimate or its own need.
package struct UplinkBudget: Sendable {
  package struct Link: Sendable, BitwiseCopyable {
    /// Its estimator's, in bit/s.
    package var estimate = 0.0
    package var acknowledged = 0.0
    /// Its estimator sees a queue.
    package var isQueued = false
    /// What it would use, in bit/s.
    package var demand = Double.infinity
    package var weight = 1.0
    /// What it may use: the result.
    package fileprivate(set) var share = 0.0
    fileprivate var lastQueued = Instant.zero
    fileprivate var isUsed = false

    package init() {}
  }

  package static let mostLinks = 32
  private var links: [Link]
  package private(set) var linkCount = 0
  /// What the uplink carries, in bit/s; infinite while no two links meet in it.
  package private(set) var total = Double.infinity
  private var lastUpdate: Instant?
  /// What all of them carried lately, in bit/s.
  private var together = 0.0

  package init() { links = Array(repeating: Link(), count: Self.mostLinks) }

  // MARK: Inputs

  /// Takes another link; its number, or `nil` when there are too many.
  package mutating func addLink() -> Int? {
    guard let index = links.firstIndex(where: { !$0.isUsed }) else { return nil }
    links[index] = Link()
    links[index].isUsed = true
    links[index].share = .infinity
    linkCount += 1
    return index
  }

  /// Forgets a link: what it used is the others' with the next division.
  package mutating func removeLink(_ index: Int) {
    guard isLink(index) else { return }
    links[index] = Link()
    linkCount -= 1
    // One alone has what its own estimator says.
    if linkCount < 2 { total = .infinity }
  }

  private func isLink(_ index: Int) -> Bool {
    index >= 0 && index < links.count && links[index].isUsed
  }

  /// Takes what a link's estimator says.
  package mutating func updateLink(_ index: Int, _ link: Link, now: Instant) {
    guard isLink(index) else { return }
    let before = links[index]
    links[index] = link
    links[index].isUsed = true
    links[index].lastQueued = link.isQueued ? now : before.lastQueued
    // Until the next division it has what the last one gave it.
    links[index].share = min(before.share, link.estimate, link.demand)
  }

  /// Divides what there is; call it after all updates of a moment.
  package mutating func divide(now: Instant) {
    let elapsed = lastUpdate.map { Double(now.nanoseconds(since: $0)) / 1e9 } ?? 0
    let isFirst = lastUpdate == nil
    lastUpdate = now
    var sum = 0.0
    var queued = 0
    for index in links.indices where links[index].isUsed {
      sum += links[index].acknowledged
      if now.nanoseconds(since: links[index].lastQueued) < Self.simultaneous,
        links[index].lastQueued > .zero
      {
        queued += 1
      }
    }
    together = isFirst ? sum : together + (sum - together) * min(1, elapsed / Self.memory)
    if queued >= 2, queued * 2 > linkCount {
      let most = max(together, 1)
      total = total.isFinite ? total + (most - total) * min(1, elapsed / Self.memory) : most
    } else if total.isFinite {
      // Nobody waits any more: there may be more than there was.
      total *= 1 + Self.growth * min(elapsed, 1)
      if total > 2 * max(together, 1) { total = .infinity }
    }
    fill()
  }

  // MARK: Outputs

  /// What a link may use, in bit/s.
  package func share(of index: Int) -> Double {
    isLink(index) ? links[index].share : 0
  }

  // MARK: Water filling

  /// Everybody gets the same times its weight, or what it can use if that is less.
  private mutating func fill() {
    var left = total
    var open = 0.0
    var settled: UInt32 = 0
    for index in links.indices {
      guard links[index].isUsed else {
        settled |= 1 << UInt32(index)
        continue
      }
      links[index].share = 0
      open += links[index].weight
    }
    for _ in 0..<linkCount {
      guard open > 0 else { return }
      let level = left / open
      var isChanged = false
      for index in links.indices where settled & (1 << UInt32(index)) == 0 {
        let most = min(links[index].estimate * Self.reserve, links[index].demand)
        guard !level.isFinite || most <= level * links[index].weight else { continue }
        links[index].share = min(links[index].estimate, links[index].demand)
        settled |= 1 << UInt32(index)
        left -= most
        open -= links[index].weight
        isChanged = true
      }
      if !isChanged {
        for index in links.indices where settled & (1 << UInt32(index)) == 0 {
          links[index].share = max(0, min(level * links[index].weight, links[index].estimate))
        }
        return
      }
    }
  }

  /// Queues seen within this many nanoseconds are one queue.
  private static let simultaneous: UInt64 = 500_000_000
  /// A second, while no queue is seen.
  private static let growth = 1.0
  /// In seconds.
  private static let memory = 0.3
  /// What a link's own estimate leaves of its part is not given to the others at once: in one queue
  /// estimators pull towards equal parts, and those who take would keep it.
  private static let reserve = 1.35
}
