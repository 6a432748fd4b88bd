internal import Earshot
internal import Primitives
internal import Reactor
internal import Wire

/// What a receiver does with its calls: each is a transfer of its own.
final class ReceiveRun {
  /// Transfers at once.
  static let mostTransfers = 16
  /// What a receiver lets a sender have under way.
  private static let windowByteCount = 4 << 20
  private(set) var isOver = false
  private(set) var code = ExitCode.done
  private let command: ReceiveCommand
  private let folder: DropFolder
  private let session: OnlineSession
  private var transfers: [Earshot.CallID: Coming] = [:]
  private var silence = TransferSilence()
  /// Bytes that got their names.
  private var storedByteCount: UInt64 = 0
  private var filesStored = 0
  private var textsShown = 0
  /// One is through, and its call is to end (`--once`).
  private var last: (call: Earshot.CallID, code: ExitCode)?
  private var deadlines = Deadlines<Timer>()
  private var shown: Earshot.CallID?

  private enum Timer: CaseIterable, Hashable, Sendable {
    case status
    /// What earlier attempts left is read for its hash.
    case reading
    /// Calls in which nothing is said are ended.
    case idle
    /// The end of the last call is not waited for any longer.
    case patience
  }

  /// A call that is one.
  private struct Coming {
    let transfer: IncomingTransfer
    let who: String
    var rate = TransferRate()
    var isTold = false
    var isAnnounced = false
  }

  init(_ command: ReceiveCommand, _ folder: DropFolder, _ session: OnlineSession) {
    self.command = command
    self.folder = folder
    self.session = session
  }

  func handle(_ input: SessionInput) async {
    switch input {
    case .endpoint(.incomingCall(let call)): await answer(call)
    case .endpoint(.callProgress(let id, .message(TransferWords.stream, let bytes))):
      await handleMessage(bytes, of: id)
    case .endpoint(.callEnded(let id, let report)): handleEnd(id, report)
    case .endpoint(.registrationChanged):
      if let failure = session.contact.failure {
        session.console.complain(CommandFailure(failure))
        code = ExitCode(failure.code)
        isOver = true
      }
    case .signal(.user1): break
    case .signal: await leave()
    case .wake: await wake()
    default: break
    }
    session.inbox.wake(at: deadlines.next)
  }

  // MARK: - Calls

  /// A call that is no transfer is refused at once, for this program alone: `earshot answer` of the
  /// same identity may take it.
  private func answer(_ call: IncomingCall) async {
    let there = await session.endpoint.call(call.id)
    do throws(EarshotError) {
      guard call.userExtension == TransferWords.invitation else {
        session.console.log(.info, "\(Wording.who(call)) calls; earshot answer takes calls")
        return try await there.leaveToOthers(reason: TransferWords.takesFilesOnly)
      }
      guard command.senders.admits(call) else {
        session.console.log(
          .warning,
          "\(Wording.who(call)) may not send (--from). Import its card, or call it, to let it.")
        return try await there.reject(reason: "it takes files from its contacts alone")
      }
      var options = CallOptions()
      options.remembersPeer = false
      transfers[call.id] = Coming(
        transfer: IncomingTransfer(
          from: call.peer, into: folder, room: { [unowned self] in room },
          takeOver: { [unowned self] in takeOver($0) },
          show: { [session] in
            session.console.sayContent(TransferWords.shown($0, from: Wording.name(call)))
          }),
        who: Wording.name(call))
      try await there.accept(options)
      silence.hear(call.id, now: SystemClock.now)
      scheduleIdle()
    } catch {
      transfers[call.id] = nil
      silence.forget(call.id)
      session.console.log(.info, error.message)
    }
  }

  /// Bytes that may still be taken; `nil` where no file may. What asks has its part already.
  private var room: UInt64? {
    let parts = folder.holdings(
      prefix: IncomingTransfer.partPrefix, suffix: IncomingTransfer.partSuffix)
    guard filesStored + parts.files <= command.mostFiles else { return nil }
    let promised = transfers.values.reduce(0) { $0 + $1.transfer.promised }
    let used = storedByteCount + parts.bytes + promised
    return command.quota - min(used, command.quota)
  }

  private func takeOver(_ part: String) {
    for coming in transfers.values where coming.transfer.partName == part {
      coming.transfer.abandon()
    }
  }

  private func handleMessage(_ bytes: [UInt8], of id: Earshot.CallID) async {
    guard let coming = transfers[id] else { return }
    silence.hear(id, now: SystemClock.now)
    await reply(coming.transfer.handle(bytes), in: coming, id)
  }

  /// Reads a piece of what each that has come again left earlier: whoever else comes, and signals,
  /// are served between the pieces.
  private func readOn(_ now: Instant) async {
    for (id, coming) in transfers where coming.transfer.isReading {
      silence.hear(id, now: now)
      await reply(coming.transfer.readOn(), in: coming, id)
    }
  }

  private func reply(
    _ answer: TransferMessage?, in coming: Coming, _ id: Earshot.CallID
  ) async {
    if coming.transfer.isReading {
      return deadlines.set(.reading, at: SystemClock.now)
    }
    let call = await session.endpoint.call(id)
    if !coming.isAnnounced, let offer = coming.transfer.offer, coming.transfer.result == nil {
      transfers[id]?.isAnnounced = true
      await announce(offer, coming, id, call)
    }
    if let answer {
      do throws(EarshotError) {
        try await call.send(answer.bytes, stream: TransferWords.stream)
      } catch {
        session.console.log(.info, error.message)
      }
    }
    if coming.transfer.result != nil { announceResult(of: id) }
  }

  private func announce(
    _ offer: TransferOffer, _ coming: Coming, _ id: Earshot.CallID, _ call: Call
  ) async {
    guard offer.kind == .file else { return }
    let rest =
      coming.transfer.received > 0
      ? ", going on at \(TransferWords.size(coming.transfer.received))" : ""
    session.console.say(
      "\(coming.who) sends \(coming.transfer.name) (\(TransferWords.size(offer.byteCount))\(rest))."
    )
    session.lines.write("event") { object in
      object.add("name", "transferBegun")
      object.add("from", coming.who)
      object.add("file", coming.transfer.name)
      object.add("bytes", Int(clamping: offer.byteCount))
      object.add("offset", Int(clamping: coming.transfer.received))
    }
    do throws(EarshotError) {
      try await call.setReceiveWindow(Self.windowByteCount)
    } catch {
      session.console.log(.info, error.message)
    }
    shown = id
    deadlines.set(.status, at: SystemClock.now)
  }

  // MARK: - The end

  /// Says once what became of a transfer.
  private func announceResult(of id: Earshot.CallID) {
    guard let coming = transfers[id], !coming.isTold, let result = coming.transfer.result else {
      return
    }
    transfers[id]?.isTold = true
    let transfer = coming.transfer
    if shown == id { session.console.clear() }
    if transfer.isTextLost {
      session.remember("A text of \(coming.who) could not be shown: nothing takes standard output.")
    } else if transfer.text != nil {
      count(transfer)
    } else if result == .stored {
      count(transfer)
      session.console.say("\(coming.who): \(transfer.name) is here, whole.")
    } else {
      session.console.log(.warning, Self.complaint(coming, result))
    }
    session.lines.write("event") { object in
      object.add("name", "transferEnded")
      object.add("from", coming.who)
      object.add("result", "\(result)")
      object.add("file", transfer.offer?.kind == .file ? transfer.name : nil)
      object.add("text", transfer.text)
      object.add("bytes", Int(clamping: transfer.received))
    }
    guard command.isOnce, last == nil, result == .stored else { return }
    last = (id, .done)
    deadlines.set(.patience, at: SystemClock.now + .seconds(5))
  }

  private func count(_ transfer: IncomingTransfer) {
    guard transfer.result == .stored else { return }
    if transfer.text != nil {
      textsShown += 1
    } else {
      filesStored += 1
      storedByteCount += transfer.received
    }
  }

  private static func complaint(_ coming: Coming, _ result: TransferResult) -> String {
    let name =
      coming.transfer.name.isEmpty
      ? "what \(coming.who) sends" : "\(coming.transfer.name) of \(coming.who)"
    switch result {
    case .stored: return "\(name) is here"
    case .unwanted: return "\(name) is not taken"
    case .tooLong:
      let parts = "one of more than 16 of this sender that broke off (.earshot-*.part)"
      return "\(name) is more than --quota or --most-files leaves, or \(parts)"
    case .nameTaken: return "\(name) is not taken: a file of that name is there"
    case .notWritable: return "\(name) cannot be written: \(coming.transfer.fault?.reason ?? "")"
    case .damaged: return "\(name) is not what was offered; what came of it is removed"
    case .alreadyComing: return "\(name) comes by another call"
    case .outOfOrder: return "\(name) does not come as the protocol says"
    }
  }

  private func handleEnd(_ id: Earshot.CallID, _ report: CallReport) {
    if shown == id { session.console.clear() }
    if let coming = transfers.removeValue(forKey: id), !coming.isTold, coming.transfer.offer != nil
    {
      session.console.log(
        .warning,
        "\(coming.transfer.name) of \(coming.who) stopped at "
          + "\(TransferWords.size(coming.transfer.received)); it goes on when it is sent again")
    }
    silence.forget(id)
    session.tellOfImpostor(report)
    if last?.call == id { isOver = true }
  }

  private func leave() async {
    guard !isOver else { return }
    isOver = true
    for id in transfers.keys {
      await session.endpoint.call(id).hangUp(reason: "the receiver stops")
    }
  }

  private func endIdle(_ now: Instant) async {
    for id in silence.takeSilent(now: now) {
      await session.endpoint.call(id).hangUp(reason: "nothing came")
    }
    scheduleIdle()
  }

  private func scheduleIdle() {
    if let next = silence.nextDeadline { deadlines.set(.idle, at: next) }
  }

  private func wake() async {
    let now = SystemClock.now
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .patience: isOver = true
      case .status: showStatus(now)
      case .reading: await readOn(now)
      case .idle: await endIdle(now)
      }
    }
  }

  private func showStatus(_ now: Instant) {
    guard let id = shown, let coming = transfers[id], coming.transfer.result == nil,
      let offer = coming.transfer.offer
    else { return }
    transfers[id]?.rate.append(coming.transfer.received, at: Double(now.nanoseconds) / 1e9)
    var view = TransferView(name: "\(coming.who): \(coming.transfer.name)", total: offer.byteCount)
    view.done = coming.transfer.received
    view.rate = transfers[id]?.rate.bitsPerSecond
    session.console.show(view)
    deadlines.set(.status, at: now + .milliseconds(200))
  }

  func writeSummary() {
    session.lines.write("summary") { object in
      object.add("outcome", code == .done ? "completed" : "failed")
      object.add("files", filesStored)
      object.add("texts", textsShown)
      object.add("bytes", Int(clamping: storedByteCount))
    }
  }
}
