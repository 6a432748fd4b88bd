package import Congestion
package import Messaging
package import Primitives
package import SecureSession
package import Wire

/// A session and what runs inside every session, whoever is at the other end: acknowledgement,
/// reliable messages, pings. The rendezvous is one, and each peer in a call.
///
/// Routing only: each frame goes to the part that owns it; frames that mean something only in a
/// call are left to `CallLink`. A class, because optional values that cannot be copied are moved as
/// a whole at each use; one `CallLink` or `RendezvousLink` owns it.
package final class Association {
  var session: Session
  var messages: MessageChannel
  var recorder: FeedbackRecorder
  package internal(set) var history = SentPacketHistory(capacity: 1024)
  /// Where media goes out: how much of it the path carries.
  package var uplink: Uplink?
  /// Whether `uplink` is there. A test of `uplink` itself would copy all of it.
  private(set) var hasUplink = false
  private(set) var roundTrips = DurationHistogram()

  /// When a packet last opened.
  private(set) var lastReceived: Instant
  private var pings: PingSchedule
  /// Whether media may be sent.
  private var consent: MediaConsent
  /// How often something of ours was answered: PONGs, and reports that tell of an arrival.
  private(set) var answerCount: UInt64 = 0
  /// CLOSE: how often it is still to be sent, and when next (session.md §8).
  private var closing: (frame: CloseFrame, text: [UInt8], left: Int, next: Instant)?
  /// How long the packets of this path may be.
  var packetSize = PacketSizeSearch()
  /// Packets with frames that do not parse; at 16 the session is closed (frames.md).
  private var violations = 0
  /// The other side said CLOSE, or broke the protocol, or the keys are too old.
  private(set) var endedBy: Ending?
  /// The other side's view of our address, from PONG.
  private(set) var observedAddress: SocketAddress?
  private(set) var pongsReceived = 0

  enum Ending: Equatable { case remoteClose(code: CloseCode), violation, expired }

  package init(
    _ session: consuming Session, _ recorder: FeedbackRecorder = FeedbackRecorder(),
    limits: MessageLimits, pingAfter: UInt64, now: Instant
  ) {
    self.session = session
    messages = MessageChannel(limits: limits)
    self.recorder = recorder
    pings = PingSchedule(pingAfter: pingAfter, now: now)
    lastReceived = now
    consent = MediaConsent(now: now)
  }

  /// From now on media goes out.
  func begin(_ uplink: Uplink) {
    self.uplink = uplink
    hasUplink = true
  }

  /// In nanoseconds: smoothed, and the least seen; `nil` before it was measured.
  package var roundTrip: (smoothed: UInt64, minimum: UInt64)? {
    let estimator = history.roundTrip
    return estimator.hasSample ? (estimator.smoothed, estimator.minimum) : nil
  }

  /// Nanoseconds of own silence after which a PING goes.
  var pingAfter: UInt64 {
    get { pings.pingAfter }
    set { pings.pingAfter = newValue }
  }

  /// CLOSE was said as often as it is to be.
  func hasClosed() -> Bool { closing?.left == 0 }

  /// When the other side has been silent for too long: `wait` ns after the answer to a PING is due.
  func silenceDeadline(after wait: UInt64, atLeast least: UInt64 = 5_000_000_000) -> Instant? {
    guard closing == nil else { return nil }
    let answered = lastReceived.nanoseconds &+ max(pingAfter, least)
    return Instant(nanoseconds: answered &+ wait)
  }

  /// Whether a probe may use it: nobody has begun to say CLOSE.
  func carriesProbes() -> Bool { closing == nil }

  func hasMessagesUnderWay() -> Bool { !messages.isIdle }

  func maySendMedia(now: Instant) -> Bool { closing == nil && consent.isGiven(now: now) }

  /// Whether what is sent now arrives, as far as the peer's reports say.
  func isHeard(now: Instant) -> Bool { consent.isFresh(now: now) }

  func owns(_ id: ConnectionID) -> Bool { session.owns(id) }

  // MARK: - Inputs

  /// Opens a DATA packet in place; `nil` if it does not open.
  @_lifetime(bytes: copy bytes)
  package func open(_ bytes: inout MutableSpan<UInt8>, now: Instant) -> OpenedPacket? {
    do throws(SessionError) {
      return try session.open(&bytes, now: now)
    } catch {
      return nil  // Counted by the session.
    }
  }

  /// Takes a frame that means the same in every session; `false` if it does not.
  package func handle(
    _ frame: Frame, in packet: Span<UInt8>, from source: SocketAddress, now: Instant
  ) -> Bool {
    switch frame {
    case .padding, .skipped: break
    case .probeRequest, .probeAnswer, .probePacket, .probeReport: return false
    case .ping(let ping): pings.handlePing(ping, from: source)
    case .pong(let pong):
      observedAddress = pong.observed
      pongsReceived &+= 1
      answerCount &+= 1
      consent.handleAnswer(now: now)
    case .feedback(let feedback): handle(feedback, in: packet, now: now)
    case .message(let message, let bytes): handle(message, packet.bytes(at: bytes), now: now)
    case .credit(let credit): messages.handle(credit)
    // Whatever ended it before: the other side needs nothing more.
    case .close(let close, _): endedBy = .remoteClose(code: close.code)
    case .audio, .audioReport, .audioRequest, .video, .videoNack, .pathChallenge, .pathResponse,
      .signal, .echoRequest, .echo, .channelAudio, .channelCopy, .channelSource, .channelKey,
      .channelWho, .channelCard, .channelPicture, .channelWants, .channelLow,
      .channelUnsent:
      return false
    }
    return true
  }

  /// Notes an opened packet after its frames.
  ///
  /// - Parameter byteCount: the datagram's, where media comes: the more, the sooner the report.
  package func didReceive(
    _ opened: OpenedPacket, byteCount: Int = 0, demand: FeedbackDemand, marks: DatagramMarks,
    now: Instant
  ) {
    lastReceived = now
    consent.handlePacket(now: now)
    recorder.record(
      opened.number, at: now, isCongestionExperienced: marks.isCongestionExperienced,
      demand: demand, byteCount: byteCount)
  }

  /// The peer sent media, or answered: nothing need be asked for a while.
  package func recordProof(now: Instant) { pings.recordProof(now: now) }

  /// A path check was answered by the path that media takes.
  func handlePathAnswer(now: Instant) { consent.handleAnswer(now: now) }

  /// A frame did not parse.
  func countViolation() {
    violations += 1
    if violations >= Self.violationLimit { endedBy = endedBy ?? .violation }
  }

  private func handle(_ feedback: FeedbackFrame, in packet: Span<UInt8>, now: Instant) {
    do throws(WireError) {
      try history.handle(feedback, in: packet, now: now)
    } catch {
      return countViolation()
    }
    uplink?.handleReport(hasNews: history.hasNews, overdue: history.overdue, now: now)
    if let sample = history.latestSample {
      roundTrips.add(sample)
      messages.updateProbeTimeout(history.roundTrip.probeTimeout)
    }
    settleOutcomes(now: now)
    // That nothing comes proves no path, and says nothing of what it carries.
    guard history.hasNews else { return }
    consent.handleAnswer(now: now)
    answerCount &+= 1
    uplink?.finishReport(
      roundTrip: history.latestSample, bytesInFlight: history.bytesInFlight, now: now)
    if let interval = uplink?.reportInterval { recorder.leastInterval = interval }
  }

  private func handle(_ message: MessageFrame, _ bytes: Span<UInt8>, now: Instant) {
    do throws(MessageFault) {
      try messages.handle(message, bytes: bytes, now: now)
    } catch {
      endedBy = endedBy ?? .violation
    }
  }

  private func settleOutcomes(now: Instant) {
    while let outcome = history.poll() {
      if packetSize.handle(outcome, now: now) { uplink?.handle(outcome) }
      guard outcome.packet.hasMessages else { continue }
      switch outcome.fate {
      case .acknowledged, .acknowledgedLate: messages.packetAcknowledged(outcome.packet.number)
      case .lost: messages.packetLost(outcome.packet.number)
      }
    }
  }

  /// Does what is due inside the session, except the rekey, which its owner carries.
  package func handleTimeout(now: Instant) {
    history.handleTimeout(now: now)
    settleOutcomes(now: now)
    messages.handleTimeout(now: now)
    guard closing == nil else { return }
    uplink?.setBulk(messages.hasBulk)
    if messages.hasBulk { checkUplink(now: now) }
    if now >= pings.nextQuestion(isInCall: hasUplink) { pings.isWanted = true }
    if hasUplink, consent.pollPing(now: now) { pings.isWanted = true }
  }

  // MARK: - Pacing

  /// Whether a packet of this class may leave now; always where no media goes out.
  func admits(_ sendClass: SendClass, now: Instant) -> Bool {
    uplink?.gate.admits(sendClass, bytesInFlight: history.bytesInFlight, now: now) ?? true
  }

  /// When it may leave.
  func admission(of sendClass: SendClass) -> Instant {
    uplink?.gate.admission(of: sendClass, bytesInFlight: history.bytesInFlight, now: .zero) ?? .zero
  }

  func checkUplink(now: Instant) {
    uplink?.check(bytesInFlight: history.bytesInFlight, now: now)
  }

  // MARK: - Commands

  func ping() { pings.isWanted = true }

  /// The keys are too old.
  func expire() { endedBy = endedBy ?? .expired }

  /// Says CLOSE three times, 50 ms apart; nothing else is sent from now on.
  func close(code: CloseCode, text: String = "", now: Instant) {
    guard closing == nil else { return }
    messages.failAll()
    closing = (CloseFrame(code: code), Array(text.utf8.prefix(128)), 3, now)
  }

  var isClosing: Bool { closing != nil }

  // MARK: - Outputs

  /// Writes the next packet that is not media; `false` when there is none.
  ///
  /// - Parameter limit: The most bytes that it may have, at least 128.
  @_lifetime(packet: copy packet)
  package func writePacket(
    into packet: inout OutputSpan<UInt8>, limit: Int = Datagram.maximumByteCount,
    random: inout RandomSource, now: Instant
  ) -> Bool {
    if closing != nil { return writeClose(into: &packet, now: now) }
    let reports = recorder.isDue(now: now)
    let speaks = messages.hasFramesToSend && admits(.message, now: now)
    guard reports || pings.hasFrames || speaks || messages.mustGrant else { return false }
    Session.beginPacket(&packet)
    var elicits = false
    pings.takePong()?.write(to: &packet)
    if reports || (recorder.hasUnreported && speaks) {
      _ = recorder.writeReport(into: &packet, room: min(Self.reportRoom, limit / 2), now: now)
      messages.takeCredit()?.write(to: &packet)
    } else if messages.mustGrant {
      messages.takeCredit()?.write(to: &packet)
    }
    if pings.isWanted {
      PingFrame(token: random.next()).write(to: &packet)
      pings.isWanted = false
      elicits = true
    }
    let room = limit - SealedPacket.tagByteCount - packet.count
    let hasMessages = speaks && messages.writeFrames(into: &packet, room: room)
    guard packet.count > SealedPacket.headerByteCount else { return abandon(&packet) }
    // A PING is long enough to earn a RESET from a rendezvous that was restarted (session.md §8),
    // and PONG with the challenge from one that sees us at another address (rendezvous.md §2).
    if elicits { packet.append(zeros: max(0, Self.leastPingByteCount - packet.count)) }
    return seal(&packet, elicits: elicits || hasMessages, hasMessages: hasMessages, now: now)
  }

  /// Writes the next packet of bulk, which goes behind everything else; `false` when none may
  /// leave.
  @_lifetime(packet: copy packet)
  package func writeBulk(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard closing == nil, messages.hasBulkToSend, consent.isGiven(now: now) else { return false }
    uplink?.setBulk(true)
    guard admits(.bulk, now: now) else { return false }
    Session.beginPacket(&packet)
    let room = Datagram.maximumByteCount - SealedPacket.tagByteCount - packet.count
    guard messages.writeBulkFrames(into: &packet, room: room) else { return abandon(&packet) }
    return seal(&packet, elicits: true, hasMessages: true, isBulk: true, now: now)
  }

  /// When `writeBulk` may have something to write, or the path is to be looked at for it.
  ///
  /// - Parameter canSend: Whether there is an address to send to.
  func bulkDeadline(canSend: Bool) -> Instant? {
    guard closing == nil, messages.hasBulk, let check = uplink?.nextCheck else { return nil }
    guard canSend, messages.hasBulkToSend, consent.isGiven(now: check) else { return check }
    return earliest(check, admission(of: .bulk))
  }

  /// Seals a packet whose frames are there; its number is then in the history.
  ///
  /// - Parameter looksAside: It may go another way than the call: what becomes of it says nothing
  ///   of the call's.
  @_lifetime(packet: copy packet)
  func seal(
    _ packet: inout OutputSpan<UInt8>, elicits: Bool, hasMessages: Bool, isBulk: Bool = false,
    looksAside: Bool = false, now: Instant
  ) -> Bool {
    do throws(SessionError) {
      let number = try session.seal(&packet, now: now)
      if hasMessages { messages.didSend(number, now: now) }
      if looksAside {
        history.skip(number)
      } else {
        history.record(
          SentPacket(
            number: number, sent: now, byteCount: packet.count, elicitsFeedback: elicits,
            hasMessages: hasMessages))
      }
      uplink?.recordSent(byteCount: packet.count, hasMessages: hasMessages && !isBulk, now: now)
      settleOutcomes(now: now)
      pings.recordSealed(elicits: elicits, now: now)
      return true
    } catch {
      if error == .closed { endedBy = endedBy ?? .expired }
      return abandon(&packet)
    }
  }

  @_lifetime(packet: copy packet)
  private func abandon(_ packet: inout OutputSpan<UInt8>) -> Bool {
    packet.removeAll()
    return false
  }

  @_lifetime(packet: copy packet)
  private func writeClose(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard let closing, closing.left > 0, closing.next <= now else { return false }
    Session.beginPacket(&packet)
    // What came last is acknowledged, because nothing will be after this.
    if recorder.hasUnreported {
      _ = recorder.writeReport(into: &packet, room: Self.reportRoom, now: now)
    }
    closing.frame.write(closing.text.span, to: &packet)
    self.closing?.left -= 1
    self.closing?.next = now + .milliseconds(50)
    return seal(&packet, elicits: false, hasMessages: false, now: now)
  }

  /// When `handleTimeout` or `writePacket` next has something to do; the session's own timers
  /// included.
  ///
  /// - Parameter canSend: Whether there is an address to send to. Without one, what only sending
  ///   could settle is no reason to wake up: it would be due again at once, for ever.
  package func wakeUp(canSend: Bool = true) -> Instant? {
    if let closing { return canSend && closing.left > 0 ? closing.next : nil }
    guard canSend, endedBy == nil else {
      return earliest(earliest(messages.nextDeadline, history.nextDeadline), session.nextDeadline)
    }
    var deadline = earliest(messages.nextDeadline, history.nextDeadline)
    deadline = earliest(deadline, recorder.nextDeadline)
    deadline = earliest(deadline, session.nextDeadline)
    if hasUplink {
      deadline = earliest(deadline, consent.nextPing)
      if messages.hasFramesToSend { deadline = earliest(deadline, admission(of: .message)) }
    }
    return earliest(deadline, pings.nextQuestion(isInCall: hasUplink))
  }

  /// What it measured, as plain values.
  struct Numbers {
    var estimator: RoundTripEstimator
    var roundTrips: DurationHistogram
    var quality: PathQuality
    var failedOpenings: UInt64
    var replays: UInt64
    var epoch: UInt32
    var arrivals: ArrivalCount
  }

  var numbers: Numbers {
    Numbers(
      estimator: history.roundTrip, roundTrips: roundTrips, quality: history.quality,
      failedOpenings: session.failureCount, replays: session.replayCount, epoch: session.epoch,
      arrivals: recorder.arrivals)
  }

  /// Header, PING and padding, so that with its tag the packet has 62 bytes.
  private static let leastPingByteCount = 46
  private static let violationLimit = 16
  /// What is left to other frames of a packet beside a report: a report of 255 entries takes 555.
  private static let reportRoom = 600
}
