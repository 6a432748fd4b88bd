package import Primitives
package import Wire

/// Chooses how a sender spends its bits, from what the receiver reports and what the path allows.
///
///     none ──first loss──▶ light ──15 % of the last seconds──▶ heavy
///       ▲                   │ ▲                                 │ │
///       │                   │ └──────── 10 s below 11 % ────────┘ │
///       └───── none where six were to be expected, 4 s or more ───┘
///
/// Up within one report: a first loss after a calm gets two copies, and the calm before it counts
/// no more (docs/decisions/0142). Down when it is plain that no more come. A call begins at `light`
/// with one low-rate copy: nobody knows the path yet, and a second and a half of that is cheaper
/// than the first losses. Where losses are few and alone, each packet carries a parity of two
/// earlier ones (docs/decisions/0017); where they are more, the packet after carries the frame as
/// it was first sent, and the ones after that a low-rate copy; where they come in runs, low-rate
/// copies spread over 140 ms outlast the run (Benchmarks/audio has the measurements). A copy costs
/// what it costs the frames themselves: the whole stays within a multiple of the bitrate, and in
/// what the uplink allows: how much the path carries is not judged here (docs/decisions/0104).
package struct RedundancyPolicy: Sendable {
  /// How much the path loses.
  package enum Level: Int, Comparable, Sendable {
    case none, light, heavy

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// What the user asked for, and the most that may be spent.
  package struct Limits: Equatable, Sendable {
    /// Of the frames themselves where nothing is lost, in bits a second.
    package var bitrate: Int
    package var frameLength: FrameLength
    /// Of all payload, copies and repetitions included, in bits a second; `nil` for what the
    /// level allows: 2.2 times the bitrate, 3 times where a sixth and more is lost.
    package var payloadBitrate: Int?
    /// Whether copies are made at all.
    package var makesCopies = true

    package init(bitrate: Int = 32_000, frameLength: FrameLength = .milliseconds20) {
      self.bitrate = bitrate
      self.frameLength = frameLength
    }
  }

  package private(set) var level = Level.light
  /// Whether losses come in runs.
  package private(set) var isBursty = false
  /// Whether so little is lost that a parity brings nearly all of it back: below 7 % it leaves no
  /// more lost than two copies do, at half their bits.
  package private(set) var isSparse = true
  package private(set) var plan: RedundancyPlan
  package private(set) var history = LossHistory()

  /// Losses began less than three seconds ago.
  private var isFresh = false
  private var limits: Limits
  private var lastLoss: Instant?
  /// When losses began after none had come for `quiet`.
  private var onset: Instant?
  /// What was lost then: it says in what runs losses come, and not how many.
  private var first: (lost: Int, runs: Int) = (0, 0)
  /// From the last loss to none taken for the end of all: nanoseconds.
  private var quiet = Self.memory
  /// The least of it, longer where losses came back.
  private var leastQuiet = Self.shortQuiet
  private var firstReport: Instant?
  private var lastHeavy: Instant?
  private var lastBurst: Instant?
  /// What the uplink grants this stream, IP and UDP included, in bits a second.
  private var allowance = PathConditions.unlimited

  package init(_ limits: Limits) {
    self.limits = limits
    plan = RedundancyPlan(frameLength: limits.frameLength, bitrate: limits.bitrate)
    plan = choosePlan()
  }

  /// Takes a report of the receiver.
  ///
  /// - Parameter allowance: what congestion control grants this stream, IP and UDP included.
  /// - Returns: whether the plan changed.
  package mutating func handle(
    _ report: AudioReportFrame, allowance: Int = PathConditions.unlimited, now: Instant
  ) -> Bool {
    let share = history.appendReport(report, now: now)
    firstReport = firstReport ?? now
    self.allowance = allowance
    if share.lost > 0 { noteLoss(share, now) }
    adaptLevel(now)
    adaptBursts(now)
    adaptSparseness(now)
    isFresh = onset.map { now.nanoseconds(since: $0) < Self.freshness } ?? false
    let before = plan
    plan = choosePlan()
    return plan != before
  }

  /// The uplink allows less than the plan takes: that does not wait for a report.
  ///
  /// - Returns: whether the plan changed.
  package mutating func limit(to allowance: Int) -> Bool {
    guard allowance < self.allowance, allowance < Self.wireBitrate(of: plan) else { return false }
    self.allowance = allowance
    let before = plan
    plan = choosePlan()
    return plan != before
  }

  /// The user asks for another rate or frame length; what was learnt of the path stays.
  package mutating func setEncoding(bitrate: Int, frameLength: FrameLength) {
    limits.bitrate = bitrate
    limits.frameLength = frameLength
    plan = choosePlan()
  }

  // MARK: - How much is lost

  private mutating func noteLoss(_ share: LossHistory.Share, _ now: Instant) {
    if onset == nil || level == .none { beginTrouble(with: share, now) }
    lastLoss = now
    quiet = max(leastQuiet, quietTime(now))
  }

  /// A calm says nothing of the losses that follow it: they are taken for many until they are
  /// known. Those that are back within half a minute are taken for what they were.
  private mutating func beginTrouble(with share: LossHistory.Share, _ now: Instant) {
    let isBack = lastLoss.map { now.nanoseconds(since: $0) < Self.longCalm } ?? false
    leastQuiet = isBack ? min(leastQuiet * 2, Self.memory) : Self.shortQuiet
    onset = now
    level = .light
    history.forget()
    first = (min(share.lost, share.bursts * Self.longestRun), share.bursts)
    if isBack { return }
    isSparse = false
    isBursty = false
  }

  /// So long that six runs of losses would have come, as they came so far: by chance one in 400 is
  /// waited for so long.
  private func quietTime(_ now: Instant) -> UInt64 {
    guard let onset else { return Self.memory }
    let span = min(max(now.nanoseconds(since: onset), Self.leastSpan), Self.memory)
    let all = history.recent(frames: .max, within: Self.memory, now: now)
    return min(span * Self.missedRuns / UInt64(max(1, all.bursts)), Self.memory)
  }

  private mutating func adaptLevel(_ now: Instant) {
    if let lastLoss, now.nanoseconds(since: lastLoss) > quiet {
      level = .none
      return
    }
    let second = history.recent(frames: 50, within: Self.shortMemory, now: now)
    // Runs of losses scatter more than lone ones: it takes longer to be sure of their share.
    let frames = isBursty ? 450 : 250
    let seconds = history.recent(frames: frames, within: Self.memory, now: now)
    let all = history.recent(frames: .max, within: Self.memory, now: now)
    let isHeavy =
      (seconds.expected >= frames * 9 / 10 && seconds.fraction >= Self.heavyShare)
      || (seconds.expected < frames * 9 / 10 && isSurelyHeavy(seconds))
      || (second.expected >= 50 && second.fraction >= (isBursty ? 0.5 : 0.3))
    if isHeavy { lastHeavy = now }
    if isHeavy {
      level = .heavy
    } else if second.lost > 0 || all.fraction >= 0.004 {
      let mayLeave = lastHeavy.map { now.nanoseconds(since: $0) > Self.memory } ?? true
      if level != .heavy || (mayLeave && all.fraction < 0.11) { level = .light }
    } else if lastLoss == nil, let firstReport, now.nanoseconds(since: firstReport) > Self.trial {
      level = .none
    }
  }

  /// Of few frames more are lost, by 0.87 standard deviations, than `heavyShare` makes: 20 % are
  /// known within a second, and 10 % are seldom taken for them.
  private func isSurelyHeavy(_ share: LossHistory.Share) -> Bool {
    // Runs scatter: five of them say little.
    guard share.expected >= (isBursty ? Self.sureFrames : Self.fewestFrames) else { return false }
    let run = max(1, share.meanBurst * (1 - min(share.fraction, 0.9)))
    let excess = Double(share.lost) - Self.heavyShare * Double(share.expected)
    return excess > 0
      && excess * excess * 4 / 3
        >= Self.heavyShare * (1 - Self.heavyShare) * Double(share.expected) * run
  }

  private mutating func adaptBursts(_ now: Instant) {
    let all = history.recent(frames: .max, within: Self.memory, now: now)
    let isRecent = onset.map { now.nanoseconds(since: $0) < Self.memory } ?? false
    let lost = all.lost + (isRecent ? first.lost : 0)
    let runs = all.bursts + (isRecent ? first.runs : 0)
    // Independent losses come in runs of 1 / (1 - p).
    let excess = Double(lost) / Double(max(1, runs)) * (1 - min(all.fraction, 0.9))
    if lost >= 3, excess >= 1.5 {
      lastBurst = now
      isBursty = true
    } else if let lastBurst,
      now.nanoseconds(since: lastBurst) > Self.memory || lost >= 8 && excess < 1.25
    {
      isBursty = false
    }
  }

  private mutating func adaptSparseness(_ now: Instant) {
    let all = history.recent(frames: .max, within: Self.memory, now: now)
    if all.lost > all.expected * 75 / 1000 + 1 {
      isSparse = false
    } else if all.expected >= Self.sureFrames, all.lost <= all.expected * 60 / 1000 {
      isSparse = true
    }
  }

  // MARK: - What a plan takes

  /// What packets cost beside their bodies: session, frame and seal 28 bytes, IPv4 and UDP 28.
  package static func headerBitrate(_ length: FrameLength) -> Int {
    56 * 8 * 1000 / length.milliseconds
  }

  /// IP and UDP included.
  package static func wireBitrate(of plan: RedundancyPlan) -> Int {
    plan.payloadBitrate + plan.copyCount * copyHeaderBitrate(plan.frameLength)
      + headerBitrate(plan.frameLength)
  }

  private static func copyHeaderBitrate(_ length: FrameLength) -> Int {
    2 * 8 * 1000 / length.milliseconds
  }

  // MARK: - The plan

  private func choosePlan() -> RedundancyPlan {
    var length = limits.frameLength
    var payload = limits.payloadBitrate ?? limits.bitrate * (level == .heavy ? 30 : 22) / 10
    if allowance < PathConditions.unlimited {
      length = frameLength(wire: allowance)
      payload = min(payload, allowance - Self.headerBitrate(length))
    }
    payload = max(payload, Self.leastBitrate)
    var plan = RedundancyPlan(frameLength: length, bitrate: min(limits.bitrate, payload))
    guard limits.makesCopies, level != .none else { return plan }
    if lastLoss == nil {
      // Nobody knows the path yet: one cheap copy, and no more than a line of 64 kbit/s carries.
      let first = min(payload, Self.firstPayload) - plan.copyBitrate
      let rest = first - Self.copyHeaderBitrate(length)
      let scale = max(1, length.milliseconds / 20)
      plan.copiesFollowFrames = true
      if rest >= Self.goodBitrate { set(&plan, rest, low: [1], scale) }
      return plan
    }
    addCopies(to: &plan, payload: payload)
    return plan
  }

  /// Packets of 20 ms below 48 kbit/s would be more header than sound; those of 10 ms are sent
  /// where the frames fit at their full rate beside their headers.
  private func frameLength(wire: Int) -> FrameLength {
    let short = limits.bitrate + Self.headerBitrate(.milliseconds10)
    let needed: FrameLength =
      wire < 28_000
      ? .milliseconds60
      : wire < 48_000 ? .milliseconds40 : wire < short ? .milliseconds20 : .milliseconds10
    let isStep = plan.frameLength.rawValue > needed.rawValue
    // Back only when there is room to stay there.
    let limit =
      switch plan.frameLength {
      case .milliseconds60: 36_000
      case .milliseconds40: 60_000
      case .milliseconds20, .milliseconds10: short * 5 / 4
      }
    let chosen = isStep && wire < limit ? plan.frameLength : needed
    return chosen.rawValue > limits.frameLength.rawValue ? chosen : limits.frameLength
  }

  private func addCopies(to plan: inout RedundancyPlan, payload: Int) {
    let header = Self.copyHeaderBitrate(plan.frameLength)
    let room = payload - header * (level == .heavy ? 3 : 2)
    let scale = max(1, plan.frameLength.milliseconds / 20)
    if isBursty {
      plan.copyBitrate = level == .heavy ? 16_000 : 13_500
      let spread = [2, 4, 7]
      if room - 3 * plan.copyBitrate - header >= Self.goodBitrate {
        set(&plan, payload - 3 * (plan.copyBitrate + header), low: spread, scale)
        let shared = (payload - 2 * plan.copyBitrate - 3 * header) / 2
        if level == .heavy, shared >= plan.bitrate * 9 / 10 {
          plan.bitrate = min(plan.bitrate, shared)
          replaceFirst(in: &plan)
        }
        return
      }
      return setCheap(&plan, payload, header, [3, 7], scale)
    }
    // Where a parity does not fit, so little loss costs less than a copy of each frame would.
    if level == .light, isSparse, setParity(&plan, payload, scale) { return }
    plan.copyBitrate = level == .heavy ? 16_000 : 11_000
    // Which kind of loss it is nobody knows yet: a copy 60 ms later outlasts a run of three.
    let lows = level == .heavy ? [2, 3] : isFresh ? [3] : [2]
    let shared = room - lows.count * plan.copyBitrate
    guard shared / 2 >= Self.goodBitrate else {
      if level == .light, isSparse || setParity(&plan, payload, scale) { return }
      return setCheap(&plan, payload, header, [1, 2], scale)
    }
    // Behind one lost frame the decoder is where the frames are: a copy of few bits will do.
    plan.copiesFollowFrames = level == .light
    plan.bitrate = min(plan.bitrate, shared / 2)
    plan.add(RedundancyPlan.Copy(distance: 1, isLowRate: false))
    for distance in lows { plan.add(low: distance, scale) }
  }

  /// The XOR of the frames 20 and 60 ms before: a lone lost frame is back with the next packet, and
  /// of two that follow each other both are back within 60 ms, exactly as they were sent.
  private func setParity(_ plan: inout RedundancyPlan, _ payload: Int, _ scale: Int) -> Bool {
    let far = max(2, (3 + scale - 1) / scale)
    let room = payload - Self.parityHeaderBitrate(plan.frameLength)
    let rest = room * 100 / (100 + RedundancyPlan.parityShare)
    guard rest >= Self.parityBitrate else { return false }
    plan.bitrate = min(plan.bitrate, rest)
    plan.add(RedundancyPlan.Copy(parityOf: 1, and: far))
    return true
  }

  /// Its header of three bytes, and four to spare for its lead.
  private static func parityHeaderBitrate(_ length: FrameLength) -> Int {
    8 * 8 * 1000 / length.milliseconds
  }

  /// Two low-rate copies, or one, or none: what is left is the frames' own.
  private func setCheap(
    _ plan: inout RedundancyPlan, _ payload: Int, _ header: Int, _ distances: [Int], _ scale: Int
  ) {
    plan.copyBitrate = 12_000
    plan.copiesFollowFrames = !isBursty
    for count in (1...distances.count).reversed() {
      let rest = payload - count * (plan.copyBitrate + header)
      guard rest >= Self.fairBitrate else { continue }
      return set(&plan, rest, low: Array(distances.prefix(count)), scale)
    }
  }

  private func set(_ plan: inout RedundancyPlan, _ bitrate: Int, low: [Int], _ scale: Int) {
    plan.bitrate = min(limits.bitrate, bitrate)
    for distance in low { plan.add(low: distance, scale) }
  }

  private func replaceFirst(in plan: inout RedundancyPlan) {
    let copies = (0..<plan.copyCount).map { plan.copy($0) }
    plan.removeCopies()
    for (index, copy) in copies.enumerated() {
      plan.add(RedundancyPlan.Copy(distance: copy.distance, isLowRate: index > 0))
    }
  }

  /// Ten seconds.
  private static let memory: UInt64 = 10_000_000_000
  private static let missedRuns: UInt64 = 6
  /// Half a second, four, and thirty.
  private static let leastSpan: UInt64 = 500_000_000
  private static let shortQuiet: UInt64 = 4_000_000_000
  private static let longCalm: UInt64 = 30_000_000_000
  /// Three seconds.
  private static let freshness: UInt64 = 3_000_000_000
  private static let fewestFrames = 30
  /// In frames: what is longer is an outage, which says no more of runs.
  private static let longestRun = 5
  private static let heavyShare = 0.155
  /// Three seconds.
  private static let shortMemory: UInt64 = 3_000_000_000
  /// A second and a half.
  private static let trial: UInt64 = 1_500_000_000
  private static let firstPayload = 38_000
  /// Three seconds of 20 ms frames.
  private static let sureFrames = 150
  /// Below these frames themselves sound bad, and worse than copies can mend.
  private static let goodBitrate = 22_000
  private static let parityBitrate = 16_000
  private static let fairBitrate = 13_000
  private static let leastBitrate = 8_000
}

extension RedundancyPlan {
  /// A low-rate copy at `distance` frames of 20 ms, in frames of `scale` times that; none where
  /// there is one already.
  fileprivate mutating func add(low distance: Int, _ scale: Int) {
    let frames = (distance + scale - 1) / scale
    guard !(0..<copyCount).contains(where: { copy($0).distance == frames }) else { return }
    add(Copy(distance: frames, isLowRate: true))
  }
}
