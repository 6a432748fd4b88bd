package import Congestion
package import Primitives

/// One uplink for all calls of an endpoint: what each may use of it (docs/decisions/0024). With one
/// call nothing here does anything.
struct UplinkSharing {
  private var budget = UplinkBudget()
  private var nextDivision = Instant.zero

  /// Whether two calls or more have media.
  private func isNeeded(by links: [CallLink]) -> Bool {
    guard links.count >= 2 else { return false }
    var count = 0
    for link in links where link.usesUplink { count += 1 }
    return count >= 2
  }

  /// Divides the uplink anew, every 50 ms.
  mutating func divide(among links: [CallLink], now: Instant) {
    guard isNeeded(by: links) else { return end(links) }
    guard now >= nextDivision else { return }
    nextDivision = now + Self.interval
    for link in links {
      guard let association = link.association,
        let need = link.media.uplinkNeed(on: association, now: now)
      else {
        remove(link)
        continue
      }
      link.media.budgetNumber = link.media.budgetNumber ?? budget.addLink()
      // What the queue leaves each estimator has the same proportions.
      association.uplink?.weight = need.weight
      if let number = link.media.budgetNumber { budget.updateLink(number, need, now: now) }
    }
    budget.divide(now: now)
    for link in links {
      guard let number = link.media.budgetNumber else { continue }
      link.association?.uplink?.share = budget.share(of: number)
    }
  }

  /// A call alone has what its own estimator says.
  private mutating func end(_ links: [CallLink]) {
    guard budget.linkCount > 0 else { return }
    for link in links { remove(link) }
  }

  /// What the call used is the others' from now on.
  mutating func remove(_ link: CallLink) {
    link.association?.uplink?.share = .infinity
    link.association?.uplink?.weight = 1
    guard let number = link.media.budgetNumber.take() else { return }
    budget.removeLink(number)
  }

  /// When `divide` next has something to do.
  func nextDeadline(_ links: [CallLink]) -> Instant? {
    isNeeded(by: links) ? nextDivision : nil
  }

  private static let interval = Duration.milliseconds(50)
}

extension CallLink {
  /// Whether media of this call goes out.
  var usesUplink: Bool { media.mayStart && association?.hasUplink == true }
}

extension CallMedia {
  /// What this call would use of the uplink; `nil` when no media goes out.
  package func uplinkNeed(on association: Association, now: Instant) -> UplinkBudget.Link? {
    guard mayStart, let own = association.uplink else { return nil }
    var need = UplinkBudget.Link()
    need.estimate = own.estimator.estimate
    need.acknowledged = own.estimator.acknowledgedRate
    need.isQueued = own.estimator.isQueued
    need.weight = min(max(uplinkWeight, 0.1), 10)
    // What can wait takes all that there is.
    need.demand =
      own.hasBulk ? .infinity : max(Self.audioNeed, 2 * own.audioRate)
    guard let video, video.isEnabled, video.isWanted || video.isTested(now: now) else {
      return need
    }
    let settings = video.settings
    guard !own.hasBulk else { return need }
    need.demand =
      video.isPublishing
      ? Double(video.mostBitsPerSecond) * 1.2 + 2 * settings.audioLineRate
      : max(need.demand, settings.fallbackLimits.needed * Self.roomToReturn)
    return need
  }

  /// Audio with all its copies, bit/s.
  private static let audioNeed = 150_000.0
  /// What a probe of the way back to video must be able to show (`FallbackMachine`).
  private static let roomToReturn = 1.7
}

extension Uplink {
  /// What audio may take beside video, IP and UDP included, in whole bit/s: copies of audio go
  /// before video, but do not push it out.
  func audioAllowance(beside video: VideoLink?) -> Int {
    let estimate = min(audioAllowance, Self.mostAllowance)
    guard let video, video.isPublishing else { return Int(estimate) }
    let least = video.settings.audioLineRate
    let rest = estimate - video.settings.fallbackLimits.needed + least
    return Int(max(least, min(estimate * Self.audioShare, rest)))
  }

  /// Of the estimate, beside video.
  private static let audioShare = 0.6
  /// Bit/s: a number that fits.
  private static let mostAllowance = 1e9
}
