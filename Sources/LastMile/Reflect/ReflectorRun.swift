package import Primitives
package import Wire

/// What a reflector does for one prober: counts, answers, reports, and sends trains while it is
/// asked to (docs/protocol/probe.md §2, §3). Knows no address: its owner sends to the proven one of
/// the session, and drops the run when that changes.
package struct ReflectorRun: Sendable {
  package let run: UInt32
  private let limits: ReflectorLimits
  /// IP and UDP headers of a packet, in bytes.
  private let overhead: Int
  private let began: Instant
  private var lastRequest: Instant
  private var number: UInt32
  private var answer: ProbeAnswerFrame?
  private var arrivals = ArrivalTable()
  private var reported: UInt32 = 0
  private var wantsReport = false
  /// From the first unreported arrival to its report; `nil` = none but those asked for.
  private var reportDelay: Duration?
  private var echoes: [(sequence: UInt32, at: Instant)] = []

  private var pacer = TrainPacer()
  private var train: UInt8 = 0
  /// What a train may have now.
  private var allowed: UInt64
  /// `receivedCount` of the last request that let the rate double, or that began the train.
  private var confirmed: UInt32 = 0
  private var nextSequence: UInt32 = 0
  private var byteLimit: UInt64
  /// Bytes of IP packets sent.
  package private(set) var bytesSent: UInt64 = 0
  package private(set) var isOver = false
  /// The prober ended it.
  private var hasLeft = false
  /// Why it is over, if not so.
  private var ending = ProbeAnswerFrame.Status.over

  package init(
    _ request: ProbeRequestFrame, limits: ReflectorLimits, overhead: Int, now: Instant
  ) {
    run = request.run
    self.limits = limits
    self.overhead = overhead
    began = now
    lastRequest = now
    number = request.number
    allowed = UInt64(limits.firstRate)
    byteLimit = UInt64(min(limits.bytes, request.byteBudget))
    answer = ProbeAnswerFrame(
      run: request.run, number: request.number, status: .accepted, rateLimit: limits.rate,
      byteLimit: UInt32(clamping: byteLimit),
      timeLimit: UInt16(clamping: limits.time.milliseconds / 100))
    take(reportInterval: request.reportInterval)
  }

  // MARK: - Inputs

  package mutating func handle(_ request: ProbeRequestFrame, now: Instant) {
    guard request.run == run else { return }
    if isOver { return repeatEnding(request, now: now) }
    if request.number == number, nextSequence == 0 {
      lastRequest = now
      return repeatAnswer()
    }
    guard Int32(bitPattern: request.number &- number) > 0 else { return }
    number = request.number
    lastRequest = now
    reported = max(reported, min(request.reportedEnd, arrivals.end))
    if request.wantsReport { wantsReport = true }
    take(reportInterval: request.reportInterval)
    if request.isOver {
      isOver = true
      hasLeft = true
      return
    }
    // Until a packet came, the prober may not have our answer.
    if arrivals.receivedCount == 0 { repeatAnswer() }
    steer(request, now: now)
  }

  /// Who goes on to ask for a run that is over is told so again; who has ended it is not.
  private mutating func repeatEnding(_ request: ProbeRequestFrame, now: Instant) {
    guard !hasLeft, !request.isOver else { return }
    lastRequest = now
    answer = ProbeAnswerFrame(run: run, number: request.number, status: ending)
  }

  private mutating func repeatAnswer() {
    answer = ProbeAnswerFrame(
      run: run, number: number, status: .accepted, rateLimit: limits.rate,
      byteLimit: UInt32(clamping: byteLimit),
      timeLimit: UInt16(clamping: limits.time.milliseconds / 100))
  }

  private mutating func take(reportInterval: UInt8) {
    reportDelay = reportInterval == 0 ? nil : .milliseconds(10 * Int64(reportInterval))
  }

  /// Begins a train, or goes on with it, at what was asked for and may be.
  private mutating func steer(_ request: ProbeRequestFrame, now: Instant) {
    let received = min(request.receivedCount, nextSequence)
    if request.train == train, pacer.rate > 0, received >= confirmed &+ limits.packetsToDouble {
      allowed = min(max(allowed, min(2 * allowed, 4 * pacer.rate)), UInt64(limits.rate))
      confirmed = received
    }
    let rate = min(UInt64(request.rate), allowed)
    if request.rate == 0 {
      pacer.stop()
    } else if request.train != train {
      train = request.train
      confirmed = received
      pacer.start(
        rate: rate, payloadByteCount: Int(request.payloadByteCount), overhead: overhead,
        count: Int(request.trainLimit), now: now)
    } else {
      pacer.change(rate: rate, overhead: overhead, now: now)
    }
  }

  package mutating func handle(_ packet: ProbePacketFrame, ecn: UInt8, now: Instant) {
    guard packet.run == run, !isOver else { return }
    arrivals.record(packet.sequence, ecn: ecn, at: now)
    if packet.isEcho, echoes.count < limits.echoes { echoes.append((packet.sequence, now)) }
  }

  /// Ends trains that nobody follows, and the run when its time is up.
  package mutating func handleTimeout(now: Instant) {
    if now >= lastRequest + limits.patience {
      if pacer.remaining > 0 { allowed = min(allowed, UInt64(limits.firstRate)) }
      pacer.stop()
    }
    if now >= lastRequest + limits.silence || now >= began + limits.time { isOver = true }
  }

  // MARK: - Commands

  /// Ends the run with a word to the prober, for instance because a call has priority.
  package mutating func end(_ status: ProbeAnswerFrame.Status) {
    guard !isOver else { return }
    pacer.stop()
    ending = status
    answer = ProbeAnswerFrame(run: run, number: number, status: status)
  }

  /// Ends the run without a word: its prober is somewhere else now. It is told when it asks.
  package mutating func stop() {
    pacer.stop()
    answer = nil
    wantsReport = false
    isOver = true
  }

  /// A run that is over is remembered for a while, so that what comes late does not begin it anew.
  package func isForgotten(now: Instant) -> Bool {
    isOver && answer == nil && now >= lastRequest + limits.silence
  }

  // MARK: - Outputs

  /// Writes the frames of the next packet behind the header that is there; `false` when nothing is
  /// due. `tagByteCount` bytes will follow.
  @_lifetime(packet: copy packet)
  package mutating func writeFrames(
    into packet: inout OutputSpan<UInt8>, tagByteCount: Int, now: Instant
  ) -> Bool {
    if let answer {
      answer.write(to: &packet)
      self.answer = nil
      if answer.status != .accepted { isOver = true }
      return note(packet.count + tagByteCount)
    }
    guard !isOver else { return false }
    if isReportDue(now: now) {
      let room = packet.freeCapacity - tagByteCount
      arrivals.writeReport(
        run: run, from: reported, isAskedFor: wantsReport, sentCount: nextSequence, room: room,
        into: &packet)
      wantsReport = false
      return note(packet.count + tagByteCount)
    }
    let isTrain = pacer.isDue(now: now) && now < lastRequest + limits.patience
    guard isTrain || (!echoes.isEmpty && pacer.remaining == 0) else { return false }
    writePacket(isTrain: isTrain, tagByteCount: tagByteCount, into: &packet, now: now)
    return note(packet.count + tagByteCount)
  }

  @_lifetime(packet: copy packet)
  private mutating func writePacket(
    isTrain: Bool, tagByteCount: Int, into packet: inout OutputSpan<UInt8>, now: Instant
  ) {
    var frame = ProbePacketFrame(
      run: run, sequence: nextSequence, sent: UInt32(truncatingIfNeeded: now.nanoseconds / 1000))
    nextSequence &+= 1
    if !echoes.isEmpty {
      let echo = echoes.removeFirst()
      frame.isEcho = true
      frame.answered = echo.sequence
      frame.delay = UInt32(clamping: now.nanoseconds(since: echo.at) / 1000)
    }
    var length = ProbePacketFrame.payloadByteCounts.lowerBound
    if isTrain {
      _ = pacer.take(now: now)
      frame.train = train
      length = pacer.payloadByteCount
    }
    frame.write(to: &packet, filling: length - tagByteCount)
  }

  /// Counts what is written; at the end of the budget the run is over.
  private mutating func note(_ payloadByteCount: Int) -> Bool {
    bytesSent += UInt64(payloadByteCount + overhead)
    let next = UInt64(max(pacer.payloadByteCount, Datagram.maximumByteCount) + overhead)
    if bytesSent + 2 * next > byteLimit { end(.budgetSpent) }
    return true
  }

  private func isReportDue(now: Instant) -> Bool {
    if wantsReport { return true }
    return reportDeadline.map { $0 <= now } ?? false
  }

  private var reportDeadline: Instant? {
    guard let reportDelay else { return nil }
    return arrivals.oldestUnreported.map { $0 + reportDelay }
  }

  /// Whether a last word is still to be said.
  package var hasWords: Bool { answer != nil }

  /// Whether `writeFrames` would write something.
  package func hasWordsDue(now: Instant) -> Bool {
    if answer != nil { return true }
    if isOver { return false }
    let isTrain = pacer.isDue(now: now) && now < lastRequest + limits.patience
    return isTrain || isReportDue(now: now) || (!echoes.isEmpty && pacer.remaining == 0)
  }

  package var nextDeadline: Instant? {
    if answer != nil || (wantsReport && !isOver) { return .zero }
    guard !isOver else { return lastRequest + limits.silence }
    var next = earliest(pacer.nextDeadline, reportDeadline)
    if !echoes.isEmpty, pacer.remaining == 0 { next = .zero }
    if pacer.remaining > 0 { next = earliest(next, lastRequest + limits.patience) }
    return earliest(next, min(lastRequest + limits.silence, began + limits.time))
  }
}
