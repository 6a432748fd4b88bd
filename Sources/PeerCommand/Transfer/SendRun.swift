internal import Earshot
internal import Primitives
internal import Reactor
internal import Wire

/// One content on its way: a call, and another one after each that breaks, until the receiver has
/// said what became of it.
final class SendRun {
  private(set) var isOver = false
  private(set) var code = ExitCode.failed
  private let command: SendCommand
  private let transfer: OutgoingTransfer
  private let session: OnlineSession
  private var call: Earshot.CallID?
  private var view: TransferView
  private var rate = TransferRate()
  private var reason = ""
  private var began = SystemClock.now
  /// When the receiver last got something, of a transfer that it wants.
  private var lastProgress: Instant?
  private var attempts = 0
  private var ending = false
  /// The receiver has been busy since: a sender that was killed has a call there for 20 s more.
  private var busySince: Instant?
  /// What the receiver's time runs for.
  private var awaited: OutgoingTransfer.Awaited?
  /// The call is ended to be made anew.
  private var isRenewing = false
  private var lastPlain = 0
  private var deadlines = Deadlines<Timer>()

  enum Timer: CaseIterable, Hashable, Sendable {
    /// Show how far it is, and top up what is under way.
    case status
    /// Call again.
    case retry
    /// The invitation arrived, and nobody has taken it.
    case taking
    /// Nothing was said to the offer, or after all of the content.
    case answer
    /// The end that was asked for did not come.
    case patience
  }

  init(_ command: SendCommand, _ transfer: OutgoingTransfer, _ session: OnlineSession) {
    self.command = command
    self.transfer = transfer
    self.session = session
    // As the receiver will call it.
    let name =
      transfer.offer.kind == .text ? "text" : TransferWords.safeName(transfer.offer.name)
    view = TransferView(name: name, total: transfer.offer.byteCount)
  }

  func begin() async {
    deadlines.set(.status, at: SystemClock.now)
    session.console.say("Calling \(command.targetName) ...")
    await dial()
    session.inbox.wake(at: deadlines.next)
  }

  func handle(_ input: SessionInput) async {
    switch input {
    case .endpoint(.callStateChanged(let id, .connected, _)) where id == call: await offer()
    case .endpoint(.callProgress(let id, let step)) where id == call: await handleStep(step)
    case .endpoint(.callEnded(let id, let report)) where id == call: handleEnd(report)
    case .signal(.user1): break
    case .signal: await interrupt()
    case .wake: await wake()
    default: break
    }
    session.inbox.wake(at: deadlines.next)
  }

  // MARK: - The call

  private func dial() async {
    attempts += 1
    if busySince == nil { view.waiting = "waiting for \(command.targetName)" }
    var options = CallOptions()
    options.userExtension = TransferWords.invitation
    options.ringTimeout = .milliseconds(Int64(command.ringTimeout * 1000))
    do throws(EarshotError) {
      let call = try await session.endpoint.call(command.target, options: options)
      self.call = call.id
      session.isInCall = true
    } catch {
      fail(ExitCode(error.code), "\(error.message) \(error.advice)")
    }
  }

  private func offer() async {
    guard let call else { return }
    busySince = nil
    deadlines.cancel(.taking)
    var stream = DataStreamOptions()
    stream.isBulk = true
    stream.lifetime = DataStreamOptions.lifetimes.upperBound
    let there = await session.endpoint.call(call)
    do throws(EarshotError) {
      try await there.setDataStream(TransferWords.stream, stream)
      try await there.send(transfer.begin(), stream: TransferWords.stream)
      watchReceiver()
    } catch {
      await end(.failed, error.message)
    }
  }

  /// The receiver's time begins with each turn of its own.
  private func watchReceiver() {
    let awaited = call == nil || ending ? nil : transfer.awaited
    guard awaited != self.awaited else { return }
    self.awaited = awaited
    deadlines.cancel(.answer)
    if let awaited {
      deadlines.set(.answer, at: SystemClock.now + transfer.patience(for: awaited))
    }
  }

  private func handleStep(_ step: CallProgress) async {
    switch step {
    case .lookingAgain(let sentence):
      if attempts == 1 { session.console.say(Wording.lookingAgain(sentence)) }
    case .delivered:
      if attempts == 1 { deadlines.set(.taking, at: SystemClock.now + Self.takingTime) }
    case .replaced(let new): call = new
    case .message(TransferWords.stream, let bytes): await handleAnswer(bytes)
    case .messageDelivery(let tag, let isDelivered):
      guard transfer.handleDelivery(tag: tag, isDelivered: isDelivered) else { return }
      // What was given up is offered anew in another call.
      guard isDelivered else {
        isRenewing = true
        return await hangUp("it was not delivered in time")
      }
      lastProgress = SystemClock.now
      await topUp()
      watchReceiver()
    default: break
    }
  }

  private func handleAnswer(_ bytes: [UInt8]) async {
    guard transfer.handle(bytes) else {
      return await end(.failed, TransferWords.sentence(.outOfOrder, from: command.targetName))
    }
    if let result = transfer.result {
      let words = TransferWords.sentence(result, from: command.targetName)
      let advice = TransferWords.advice(result)
      return await end(TransferWords.code(result), advice.isEmpty ? words : "\(words) \(advice)")
    }
    watchReceiver()
    lastProgress = SystemClock.now
    view.waiting = nil
    rate.restart()
    if transfer.offset > 0 {
      session.console.say("Going on at \(TransferWords.size(transfer.offset)).")
    }
    session.lines.write("event") { object in
      object.add("name", "transferBegun")
      object.add("offset", Int(clamping: transfer.offset))
      object.add("bytes", Int(clamping: transfer.offer.byteCount))
    }
    await topUp()
  }

  /// Hands over as much as the call takes.
  private func topUp() async {
    guard let call, !ending else { return }
    let there = await session.endpoint.call(call)
    do throws(ReactorError) {
      while let message = try transfer.nextMessage() {
        do throws(EarshotError) {
          let tag = try await there.send(message, stream: TransferWords.stream)
          transfer.didSend(message, tag: tag)
        } catch {
          return  // Enough waits; the next delivery asks again.
        }
      }
    } catch {
      await end(.file, "Cannot \(error.action) \(command.file ?? ""): \(error.reason).")
    }
  }

  // MARK: - The end

  private func handleEnd(_ report: CallReport) {
    call = nil
    session.isInCall = false
    watchReceiver()
    deadlines.cancel(.taking)
    if ending { return isOver = true }
    let now = SystemClock.now
    if report.outcome == .busy, now - (busySince ?? now) < Self.busyTime {
      return retry("busy", at: now + Self.busyPause)
    }
    let isBroken = isRenewing || [.lost, .unreachable, .timeout].contains(report.outcome)
    isRenewing = false
    guard isBroken, let lastProgress,
      now - lastProgress < .milliseconds(Int64(command.retryFor * 1000))
    else { return fail(report) }
    retry(report.outcome.rawValue, at: now + Self.pause)
  }

  private func retry(_ why: String, at time: Instant) {
    if why == "busy" { busySince = busySince ?? SystemClock.now }
    let words = "\(command.targetName): \(why); calling again"
    if view.waiting != words { session.console.log(.warning, words) }
    view.waiting = words
    deadlines.set(.retry, at: time)
  }

  private func fail(_ report: CallReport) {
    let who = command.targetName
    let words =
      switch report.outcome {
      case .timeout: "Nobody took it at \(who). Is earshot receive running there?"
      case .completed: "\(who) ended the call."
      default: report.reason
      }
    let code = ExitCode(report)
    fail(code == .done ? .refused : code, words)
    if let error = report.error { session.console.complain(CommandFailure(error)) }
  }

  private func fail(_ code: ExitCode, _ words: String) {
    self.code = code
    reason = words
    isOver = true
    session.console.clear()
    session.console.sayFailed("Not sent: \(words)", brief: words)
  }

  /// What became of it is known: the call is of no more use.
  private func end(_ code: ExitCode, _ words: String) async {
    guard !ending else { return }
    self.code = code
    reason = words
    ending = true
    watchReceiver()
    session.console.clear()
    if code == .done {
      session.console.say("\(view.name): \(words)")
    } else {
      session.console.sayFailed("Not sent: \(words)", brief: words)
    }
    await hangUp("")
  }

  private func hangUp(_ words: String) async {
    guard let call else { return isOver = true }
    deadlines.set(.patience, at: SystemClock.now + .seconds(5))
    await session.endpoint.call(call).hangUp(reason: words)
  }

  private func interrupt() async {
    guard !ending else { return isOver = true }
    await end(.interrupted, "It was interrupted; the same command goes on where it was.")
    if call == nil { isOver = true }
  }

  // MARK: - Time

  private func wake() async {
    let now = SystemClock.now
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .status:
        if view.waiting == nil { await topUp() }
        showStatus(now)
        if !ending { deadlines.set(.status, at: now + Self.statusInterval) }
      case .retry: await dial()
      case .taking:
        session.console.say(
          "The invitation is at \(command.targetName); earshot receive has not taken it yet.")
      case .answer:
        let what = awaited == .result ? "whether it has stored what it got" : "what to send"
        await end(
          .failed, "\(command.targetName) did not say \(what); it may be of another version.")
      case .patience: isOver = ending || isOver
      }
    }
  }

  private func showStatus(_ now: Instant) {
    guard !ending, !isOver else { return }
    view.done = transfer.delivered
    if view.waiting == nil { rate.append(transfer.delivered, at: Double(now.nanoseconds) / 1e9) }
    view.rate = rate.bitsPerSecond
    session.console.show(view)
    let second = Int((now - began).milliseconds / 1000)
    guard second - lastPlain >= (session.lines.isEmpty ? 10 : 2) else { return }
    lastPlain = second
    if !session.console.hasRegion, session.lines.isEmpty { session.console.say(view.plainLine) }
    session.lines.write("event") { object in
      object.add("name", "transferProgress")
      object.add("bytes", Int(clamping: view.done))
      object.add("bitrateBps", view.rate)
    }
  }

  func writeSummary() {
    let seconds = Double((SystemClock.now - began).milliseconds) / 1000
    session.lines.write("summary") { object in
      object.add("outcome", code == .done ? "completed" : "failed")
      object.add("reason", reason)
      object.add("result", transfer.result.map { "\($0)" })
      object.add("to", command.targetName)
      object.add("file", transfer.offer.kind == .file ? transfer.offer.name : nil)
      object.add("bytes", Int(clamping: transfer.offer.byteCount))
      object.add("resumedAt", Int(clamping: transfer.offset))
      object.add("attempts", attempts)
      object.add("durationMs", Int(seconds * 1000))
    }
  }

  private static let pause = Duration.seconds(1)
  private static let busyPause = Duration.seconds(2)
  private static let busyTime = Duration.seconds(30)
  /// After an invitation has arrived `earshot receive` takes it within a round trip.
  private static let takingTime = Duration.milliseconds(700)
  private static let statusInterval = Duration.milliseconds(200)
}
