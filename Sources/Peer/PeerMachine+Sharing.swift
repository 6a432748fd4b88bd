package import Congestion
package import Primitives

/// One uplink for all calls of an endpoint: what each may use of it (docs/decisions/0024). With one
/// call nothing here does anything.
extension PeerMachine {
  /// Whether two calls or more have media.
  var sharesUplink: Bool {
    guard links.count >= 2 else { return false }
    var count = 0
    for link in links where link.usesUplink { count += 1 }
    return count >= 2
  }

  /// Divides the uplink anew, every 50 ms.
  mutating func shareUplink(now: Instant) {
    guard sharesUplink else { return endSharing() }
    guard now >= nextDivision else { return }
    nextDivision = now + Self.divisionInterval
    for link in links {
      guard let association = link.association,
        let need = link.media.uplinkNeed(on: association, now: now)
      else {
        leave(link)
        continue
      }
      link.media.budgetNumber = link.media.budgetNumber ?? uplink.addLink()
      // What the queue leaves each estimator has the same proportions.
      association.uplink?.weight = need.weight
      if let number = link.media.budgetNumber { uplink.updateLink(number, need, now: now) }
    }
    uplink.divide(now: now)
    for link in links {
      guard let number = link.media.budgetNumber else { continue }
      link.association?.uplink?.share = uplink.share(of: number)
    }
  }

  /// A call alone has what its own estimator says.
  private mutating func endSharing() {
    guard uplink.linkCount > 0 else { return }
    for link in links { leave(link) }
  }

  /// What the call used is the others' from now on.
  mutating func leave(_ link: CallLink) {
    link.association?.uplink?.share = .infinity
    link.association?.uplink?.weight = 1
    guard let number = link.media.budgetNumber.take() else { return }
    uplink.removeLink(number)
  }

  static var divisionInterval: Duration { .milliseconds(50) }
}

extension CallLink {
  /// Whether media of this call goes out.
  var usesUplink: Bool { media.mayStart && association?.uplink != nil }
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
    need.demand = max(Self.audioNeed, 2 * own.audioRate)
    guard let video, video.isEnabled, video.isWanted || video.isTested(now: now) else {
      return need
    }
    let settings = video.settings
    need.demand =
      video.isPublishing
      ? Double(settings.mostBitsPerSecond) * 1.2 + 2 * settings.audioLineRate
      : max(need.demand, settings.fallbackLimits.needed * Self.roomToReturn)
    return need
  }

  /// Audio with all its copies, bit/s.
  private static let audioNeed = 150_000.0
  /// What a probe of the way back to video must be able to show (`FallbackMachine`).
  private static let roomToReturn = 1.7
}
