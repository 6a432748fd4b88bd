package import Primitives

/// Decides when a link carries audio alone, and when video is tried again (docs/congestion.md).
///
/// One instance decides what this host publishes on a link, from its own estimate; another what it
/// asks a sender to leave out, from what it receives. Both enter and leave by the same rules.
/// Feed it every 100 ms or so; it allocates nothing.
package struct FallbackMachine: Sendable {
  package enum Mode: UInt8, Sendable, BitwiseCopyable { case audioAndVideo, audioOnly }

  package enum Reason: UInt8, Sendable, BitwiseCopyable {
    /// The estimate does not hold audio and the smallest video.
    case rate
    /// Of the packets too many are lost.
    case loss
    /// The queue is far too long.
    case delay
    /// Nothing is reported.
    case silence
    /// Probing has shown that video fits again.
    case recovered
  }

  /// What the event tells: the change, and the numbers that it was decided on.
  package struct Change: Equatable, Sendable, BitwiseCopyable {
    package var mode: Mode
    package var reason: Reason
    /// In bit/s.
    package var estimate: Double
    package var needed: Double
    /// 0...1.
    package var loss: Double
  }

  /// What is known of the link at one moment.
  package struct Sighting: Sendable, BitwiseCopyable {
    /// In bit/s on the line.
    package var estimate: Double
    /// Of the packets of the last second or two, beyond what the line itself loses: 0...1.
    package var loss: Double
    /// In microseconds.
    package var queueDelay: Double
    /// A report has come within the last second.
    package var isHeard: Bool
    /// What was really carried lately, in bit/s: growth by formula proves nothing.
    package var deliveryRate: Double
    /// Delays change by themselves, as on LTE: a moment's is no queue.
    package var isVariable: Bool
    /// Somebody else fills the queue: without video it would be no shorter.
    package var isContested: Bool
    /// Whose the queue is, is being found out.
    package var isUndecided: Bool

    package init(
      estimate: Double, loss: Double, queueDelay: Double, isHeard: Bool, deliveryRate: Double,
      isVariable: Bool = false, isContested: Bool = false, isUndecided: Bool = false
    ) {
      self.estimate = estimate
      self.loss = loss
      self.queueDelay = queueDelay
      self.isHeard = isHeard
      self.deliveryRate = deliveryRate
      self.isVariable = isVariable
      self.isContested = isContested
      self.isUndecided = isUndecided
    }
  }

  package let limits: FallbackLimits
  package private(set) var mode = Mode.audioAndVideo
  /// How long video must have been shown to fit before it returns; doubles after a relapse.
  package private(set) var returnTime: Duration
  private var badRateSince: Instant?
  private var badLossSince: Instant?
  private var badDelaySince: Instant?
  private var goodSince: Instant?
  private var silentSince: Instant?
  private var wasContested = false
  private var delayedSince: Instant?
  private var lastChange: Instant?
  /// While in audio-only: when the present probe ends, and when the next begins.
  private var probeEnd: Instant?
  private var nextProbe: Instant?
  private var vainPause = Duration.zero

  package init(_ limits: FallbackLimits) {
    self.limits = limits
    returnTime = limits.returnTime
  }

  // MARK: Inputs

  /// Takes what is known now; returns a change of mode, if there is one.
  package mutating func update(_ sighting: Sighting, now: Instant) -> Change? {
    switch mode {
    case .audioAndVideo: watch(sighting, now: now)
    case .audioOnly: probe(sighting, now: now)
    }
  }

  // MARK: Outputs

  /// What padding (best: redundancy) may bring the link's rate to while it is probed; `nil` while
  /// it is not. Just before the return it is more than that needs, so that video does not come back
  /// as its smallest.
  package func probeRate(now: Instant) -> Double? {
    guard mode == .audioOnly, let probeEnd, now < probeEnd else { return nil }
    return limits.returnRate * (risingTime(now: now) != nil ? limits.riseGain : 1.1)
  }

  /// For how long the probe has gone beyond what a return needs; `nil` while it does not.
  private func risingTime(now: Instant) -> Duration? {
    guard let goodSince else { return nil }
    let time = (now - goodSince) + limits.riseTime - returnTime
    return time >= .zero ? time : nil
  }

  // MARK: With video

  private mutating func watch(_ sighting: Sighting, now: Instant) -> Change? {
    if let lastChange, now - lastChange > limits.settledTime { returnTime = limits.returnTime }
    if sighting.estimate >= limits.needed * 1.05 { badRateSince = nil }
    if sighting.estimate < limits.needed { badRateSince = badRateSince ?? now }
    badLossSince = sighting.loss > limits.mostLoss ? badLossSince ?? now : nil
    let isLate = sighting.queueDelay > limits.mostDelay && !sighting.isContested
    badDelaySince = isLate ? badDelaySince ?? now : nil
    silentSince = sighting.isHeard ? nil : silentSince ?? now
    // What a drain left of the rate says nothing of the share beside others.
    if sighting.isContested, !wasContested { badRateSince = nil }
    wasContested = sighting.isContested
    if let since = badRateSince, now - since >= limits.rateTime, !sighting.isUndecided {
      return enter(.rate, sighting, now: now)
    }
    if let since = badLossSince, now - since >= limits.lossTime {
      return enter(.loss, sighting, now: now)
    }
    if let since = badDelaySince, now - since >= limits.delayTime, !sighting.isUndecided {
      return enter(.delay, sighting, now: now)
    }
    if let since = silentSince, now - since >= limits.silenceTime {
      return enter(.silence, sighting, now: now)
    }
    return nil
  }

  private mutating func enter(_ reason: Reason, _ sighting: Sighting, now: Instant) -> Change {
    if let lastChange, now - lastChange < limits.relapseTime {
      returnTime = min(returnTime * 2, limits.mostReturnTime)
    }
    mode = .audioOnly
    lastChange = now
    goodSince = nil
    delayedSince = nil
    probeEnd = nil
    nextProbe = now + limits.probePause
    vainPause = limits.probePause
    return Change(
      mode: mode, reason: reason, estimate: sighting.estimate, needed: limits.needed,
      loss: sighting.loss)
  }

  // MARK: Without video

  private mutating func probe(_ sighting: Sighting, now: Instant) -> Change? {
    let isContested = sighting.isContested
    let wanted = isContested ? limits.needed * limits.contestedGain : limits.returnRate
    let isShown = min(sighting.estimate, sighting.deliveryRate * 1.05) >= wanted
    let mostDelay = isShown ? limits.mostProbeDelay : limits.mostVainProbeDelay
    delayedSince = sighting.queueDelay > mostDelay ? delayedSince ?? now : nil
    let patience = sighting.isVariable ? limits.variableProbeTime : .zero
    let isLate = delayedSince.map { now - $0 >= patience } ?? false
    let isDelayed = (isLate || sighting.queueDelay > 2 * mostDelay) && !isContested
    // Beside somebody who fills the queue losses are how shares are found.
    let isLossy = sighting.loss > (isContested ? limits.mostLoss : limits.mostReturnLoss)
    let isSpoilt = isLossy && !isContested || !sighting.isHeard
    let isHurt = isDelayed || isSpoilt
    if isContested, probeEnd == nil, !isSpoilt { nextProbe = now }
    if isHurt, !isSpoilt, hasRisen(sighting, now: now) { return leave(sighting, now: now) }
    let holds = isShown && !isHurt && !isLossy
    if let end = probeEnd {
      if isHurt {
        endProbe(now: now)
      } else if holds {
        // As long as it holds the probe goes on, until the return is due.
        goodSince = goodSince ?? now
        probeEnd = max(end, now + .milliseconds(500))
      } else {
        goodSince = nil
        if now >= end { endProbe(now: now) }
      }
    } else if let next = nextProbe, now >= next, !isHurt {
      probeEnd = now + limits.probeTime
    }
    let time = isContested ? limits.contestedReturnTime : returnTime
    guard let since = goodSince, now - since >= time else { return nil }
    return leave(sighting, now: now)
  }

  /// Far more than a return needs was carried before the queue came.
  private func hasRisen(_ sighting: Sighting, now: Instant) -> Bool {
    guard let time = risingTime(now: now), time >= limits.shownTime else { return false }
    return sighting.deliveryRate >= limits.risenGain * limits.returnRate
      && sighting.queueDelay <= limits.mostRisenDelay
  }

  private mutating func endProbe(now: Instant) {
    probeEnd = nil
    let isShown = goodSince.map { now - $0 >= limits.shownTime } ?? false
    goodSince = nil
    if isShown, returnTime == limits.returnTime {
      nextProbe = now + limits.shownProbePause
      return
    }
    // A link whose return was tried in vain is probed less often as well.
    nextProbe = now + min(max(vainPause, returnTime), limits.mostProbePause)
    vainPause = min(vainPause * 1.5, limits.mostVainProbePause)
  }

  private mutating func leave(_ sighting: Sighting, now: Instant) -> Change {
    mode = .audioAndVideo
    lastChange = now
    badRateSince = nil
    badLossSince = nil
    badDelaySince = nil
    silentSince = nil
    return Change(
      mode: mode, reason: .recovered, estimate: sighting.estimate, needed: limits.returnRate,
      loss: sighting.loss)
  }
}
