import Congestion
import Primitives
import Testing

@Suite struct UplinkBudgetTests {
  private func link(
    _ estimate: Double, acknowledged: Double, isQueued: Bool, demand: Double = .infinity,
    weight: Double = 1
  ) -> UplinkBudget.Link {
    var link = UplinkBudget.Link()
    link.estimate = estimate
    link.acknowledged = acknowledged
    link.isQueued = isQueued
    link.demand = demand
    link.weight = weight
    return link
  }

  /// What links with these numbers say, and 50 ms later the division.
  private func pass(
    _ budget: inout UplinkBudget, _ now: inout Instant, _ links: [Int: UplinkBudget.Link]
  ) {
    now = now + .milliseconds(50)
    for (number, link) in links { budget.updateLink(number, link, now: now) }
    budget.divide(now: now)
  }

  @Test func `links that do not meet have what they estimate`() {
    var budget = UplinkBudget()
    let now = Instant(nanoseconds: 1_000_000_000)
    for index in 0..<3 {
      let number = budget.addLink()
      #expect(number == index)
      budget.updateLink(index, link(1e6, acknowledged: 5e5, isQueued: false), now: now)
    }
    budget.divide(now: now)
    #expect(budget.total == .infinity)
    #expect((0..<3).allSatisfy { budget.share(of: $0) == 1e6 })
  }

  @Test func `links in one queue share what they carried, by weight and need`() {
    var budget = UplinkBudget()
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<3 { _ = budget.addLink() }
    for _ in 0..<100 {
      now = now + .milliseconds(50)
      budget.updateLink(0, link(2e6, acknowledged: 8e5, isQueued: true, weight: 2), now: now)
      budget.updateLink(1, link(2e6, acknowledged: 6e5, isQueued: true), now: now)
      budget.updateLink(2, link(2e6, acknowledged: 1e5, isQueued: true, demand: 1e5), now: now)
      budget.divide(now: now)
    }
    #expect(abs(budget.total - 1.5e6) < 1e3)
    #expect(budget.share(of: 2) == 1e5)
    #expect(abs(budget.share(of: 0) - 2 * budget.share(of: 1)) < 1)
    #expect(abs((0..<3).map { budget.share(of: $0) }.reduce(0, +) - budget.total) < 1)
  }

  /// Estimators in one queue pull towards equal parts: what the first does not take yet stays there
  /// for it.
  @Test func `what one leaves of its part is kept for it, within reason`() {
    var budget = UplinkBudget()
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<2 { _ = budget.addLink() }
    for (first, second) in [(1.1e6, 0.7e6), (0.4e6, 1.56e6)] {
      for _ in 0..<100 {
        pass(
          &budget, &now,
          [
            0: link(first, acknowledged: 1e6, isQueued: true, weight: 2),
            1: link(1.9e6, acknowledged: 1.1e6, isQueued: true),
          ])
      }
      #expect(budget.share(of: 0) == first)
      #expect(abs(budget.share(of: 1) - second) < 1e3, "\(budget.share(of: 1))")
    }
  }

  @Test func `who leaves makes room, and its place is taken again`() {
    var budget = UplinkBudget()
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<3 { _ = budget.addLink() }
    let third = link(2e6, acknowledged: 5e5, isQueued: true)
    for _ in 0..<50 { pass(&budget, &now, [0: third, 1: third, 2: third]) }
    #expect(abs(budget.share(of: 1) - 5e5) < 1)
    budget.removeLink(0)
    budget.removeLink(0)
    budget.removeLink(-1)
    budget.removeLink(99)
    #expect(budget.linkCount == 2 && budget.share(of: 0) == 0)
    let half = link(2e6, acknowledged: 7.5e5, isQueued: true)
    pass(&budget, &now, [1: half, 2: half])
    #expect(abs(budget.share(of: 1) - budget.total / 2) < 1)
    budget.removeLink(2)
    #expect(budget.total == .infinity)
    #expect(budget.addLink() == 0 && budget.share(of: 0) == .infinity)
  }

  @Test func `a note between two divisions takes nothing away`() {
    var budget = UplinkBudget()
    let now = Instant(nanoseconds: 1_000_000_000)
    _ = budget.addLink()
    #expect(budget.share(of: 0) == .infinity)
    budget.updateLink(0, link(1e6, acknowledged: 5e5, isQueued: false), now: now)
    budget.divide(now: now)
    budget.updateLink(0, link(8e5, acknowledged: 5e5, isQueued: false), now: now)
    #expect(budget.share(of: 0) == 8e5)
  }

  @Test func `what more there is, is found within two seconds`() {
    var budget = UplinkBudget()
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<2 { _ = budget.addLink() }
    for step in 0..<80 {
      let links = (0..<2).map { index in
        link(3e6, acknowledged: min(budget.share(of: index), 5e5), isQueued: step < 40)
      }
      pass(&budget, &now, [0: links[0], 1: links[1]])
      if step == 39 { #expect(abs(budget.total - 1e6) < 1e4) }
    }
    #expect(budget.total == .infinity)
  }

  @Test func `never more than the estimate, the need or the whole`() {
    var random = RandomSource(seed: 5)
    var budget = UplinkBudget()
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<UplinkBudget.mostLinks { _ = budget.addLink() }
    let none = budget.addLink()
    #expect(none == nil)
    for _ in 0..<2_000 {
      now = now + .milliseconds(20)
      var links: [UplinkBudget.Link] = []
      for index in 0..<UplinkBudget.mostLinks {
        let estimate = random.unit() * 3e6
        links.append(
          link(
            estimate, acknowledged: estimate * random.unit(), isQueued: random.unit() < 0.6,
            demand: random.unit() * 4e6, weight: 0.5 + random.unit()))
        budget.updateLink(index, links[index], now: now)
      }
      budget.divide(now: now)
      var sum = 0.0
      for (index, link) in links.enumerated() {
        let share = budget.share(of: index)
        #expect(share >= 0 && share <= min(link.estimate, link.demand) * (1 + 1e-9))
        sum += share
      }
      #expect(sum <= budget.total * (1 + 1e-9) || budget.total == .infinity)
    }
    #expect(budget.share(of: 99) == 0)
  }
}
