package import Primitives
package import Wire

/// What a reflector does for one prober: counts, answers, reports, and sends trains while it is
/// asked to (docs/protocol/probe.md §2, §3). Knows no address: its owner sends to the proven one of
/// the session, and drops the run when that changes.
package struct ReflectorRun: Sendable {
  /// How far it is.
  private enum State: Sendable, BitwiseCopyable {
    case running
    /// This side ended it; a prober that goes on to ask is told why.
    case ended(ProbeAnswerFrame.Status)
    /// The prober ended it.
    case left
  }

  package let run: UInt32
  private let limits: ReflectorLimits
  /// IP and UDP headers of a packet, in bytes.
  private let overhead: Int
  private let began: Instant
  private let byteLimit: UInt64
  private var state = State.running
  private var lastRequest: Instant
  private var number: UInt32
  private var answer: ProbeAnswerFrame?
  private var reports = ArrivalReports()
  private var echoes: [(sequence: UInt32, at: Instant)] = []
  private var train: GrantedTrain
  private var nextSequence: UInt32 = 0
  /// Bytes of IP packets sent.
  package private(set) var bytesSent: UInt64 = 0

  /// - Parameter granted: Bit/s that other runs may have.
  package init(
    _ request: ProbeRequestFrame, limits: ReflectorLimits, overhead: Int, granted: UInt64 = 0,
    now: Instant
  ) {
    run = request.run
    byteLimit = UInt64(min(limits.bytes, request.byteBudget))
    var limits = limits
    limits.rate = limits.rate(forBytes: byteLimit, granted: granted)
    self.limits = limits
    self.overhead = overhead
    began = now
    lastRequest = now
    number = request.number
    train = GrantedTrain(limits)
    reports.setInterval(request.reportInterval)
    answer = acceptance
  }

  /// What its trains may have, in bit/s.
  package var rateLimit: UInt32 { limits.rate }

  package var isOver: Bool {
    switch state {
    case .running: false
    case .ended, .left: true
    }
  }

  // MARK: - Inputs

  package mutating func handle(_ request: ProbeRequestFrame, now: Instant) {
    guard request.run == run else { return }
    switch state {
    case .running: break
    case .ended(let reason): return repeatEnding(reason, to: request, now: now)
    case .left: return
    }
    if request.number == number, nextSequence == 0 {
      lastRequest = now
      answer = acceptance
      return
    }
    guard Int32(bitPattern: request.number &- number) > 0 else { return }
    number = request.number
    lastRequest = now
    reports.handle(request)
    if request.isOver {
      state = .left
      return
    }
    // Until a packet came, the prober may not have our answer.
    if reports.arrivals.receivedCount == 0 { answer = acceptance }
    train.steer(request, sentCount: nextSequence, limits: limits, overhead: overhead, now: now)
  }

  /// Who goes on to ask for a run that is over is told so again.
  private mutating func repeatEnding(
    _ reason: ProbeAnswerFrame.Status, to request: ProbeRequestFrame, now: Instant
  ) {
    guard !request.isOver else { return }
    lastRequest = now
    answer = ProbeAnswerFrame(run: run, number: request.number, status: reason)
  }

  private var acceptance: ProbeAnswerFrame {
    ProbeAnswerFrame(
      run: run, number: number, status: .accepted, rateLimit: limits.rate,
      byteLimit: UInt32(clamping: byteLimit),
      timeLimit: UInt16(clamping: limits.time.milliseconds / 100))
  }

  package mutating func handle(_ packet: ProbePacketFrame, ecn: UInt8, now: Instant) {
    guard packet.run == run, !isOver else { return }
    reports.record(packet.sequence, ecn: ecn, at: now)
    if packet.isEcho, echoes.count < limits.echoes { echoes.append((packet.sequence, now)) }
  }

  /// Ends trains that nobody follows, and the run when its time is up.
  package mutating func handleTimeout(now: Instant) {
    if now >= lastRequest + limits.patience { train.lapse(limits) }
    guard now >= lastRequest + limits.silence || now >= began + limits.time else { return }
    if !isOver { state = .ended(.over) }
  }

  // MARK: - Commands

  /// Ends the run with a word to the prober, for instance because a call has priority.
  package mutating func end(_ status: ProbeAnswerFrame.Status) {
    guard !isOver else { return }
    train.stop()
    state = .ended(status)
    answer = ProbeAnswerFrame(run: run, number: number, status: status)
  }

  /// Ends the run without a word: its prober is somewhere else now. It is told when it asks.
  package mutating func stop() {
    train.stop()
    answer = nil
    if !isOver { state = .ended(.over) }
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
      return countSent(packet.count + tagByteCount)
    }
    guard !isOver else { return false }
    if reports.isDue(now: now) {
      reports.write(
        run: run, sentCount: nextSequence, room: packet.freeCapacity - tagByteCount,
        into: &packet)
      return countSent(packet.count + tagByteCount)
    }
    let isTrain = isTrainDue(now: now)
    guard isTrain || isEchoDue else { return false }
    writePacket(isTrain: isTrain, tagByteCount: tagByteCount, into: &packet, now: now)
    return countSent(packet.count + tagByteCount)
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
      train.countSent(now: now)
      frame.train = train.id
      length = train.pacer.payloadByteCount
    }
    frame.write(to: &packet, filling: length - tagByteCount)
  }

  /// Counts what is written; at the end of the budget the run is over.
  private mutating func countSent(_ payloadByteCount: Int) -> Bool {
    bytesSent += UInt64(payloadByteCount + overhead)
    let next = UInt64(max(train.pacer.payloadByteCount, Datagram.maximumByteCount) + overhead)
    if bytesSent + 2 * next > byteLimit { end(.budgetSpent) }
    return true
  }

  private func isTrainDue(now: Instant) -> Bool {
    train.pacer.isDue(now: now) && now < lastRequest + limits.patience
  }

  /// Echoes wait while a train is sent: they ride in it.
  private var isEchoDue: Bool { !echoes.isEmpty && train.pacer.remaining == 0 }

  /// Whether a last word is still to be said.
  package var hasWords: Bool { answer != nil }

  /// Whether `writeFrames` would write something.
  package func hasWordsDue(now: Instant) -> Bool {
    if answer != nil { return true }
    if isOver { return false }
    return isTrainDue(now: now) || reports.isDue(now: now) || isEchoDue
  }

  package var nextDeadline: Instant? {
    if answer != nil || (reports.isAskedFor && !isOver) { return .zero }
    guard !isOver else { return lastRequest + limits.silence }
    var next = earliest(train.pacer.nextDeadline, reports.deadline)
    if isEchoDue { next = .zero }
    if train.pacer.remaining > 0 { next = earliest(next, lastRequest + limits.patience) }
    return earliest(next, min(lastRequest + limits.silence, began + limits.time))
  }
}
