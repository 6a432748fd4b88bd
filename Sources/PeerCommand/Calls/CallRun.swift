package import Earshot
internal import MediaFiles
internal import Primitives
internal import Reactor

/// One call, at either end, from its invitation to its report: turns what happens into lines, the
/// live region, and what keys and signals ask for.
package final class CallRun {
  /// Statistics kept for the report: ten hours of them.
  package static let maxSamples = 18_000
  /// Seconds after which plain output says again how it goes.
  private static let plainPeriod = 10

  package private(set) var id: CallID
  package internal(set) var report: CallReport?
  package private(set) var samples: [CallStatistics] = []
  /// What a probe of the peer had said, against what was.
  package internal(set) var prediction: String?
  /// Whether it waits for the own answer.
  package private(set) var isRinging: Bool
  private(set) var ending = Ending.none
  let session: OnlineSession
  let sound: SoundOptions
  let role: CallReport.Role
  /// What is played and saved, once that is known.
  private(set) var ends: OpenedSound?
  var view = CallView()
  private var began = SystemClock.now
  private var connected: Instant?
  var deadlines = Deadlines<Timer>()
  private var lastPlain = 0
  var codes = CallCodes()
  var marks = CallMarks()
  /// Who else is there, or comes.
  var company = CallCompany()
  /// What of the files has been said to have failed.
  var toldFaults: Set<String> = []
  /// The name or ID that is being typed; `nil` when keys are commands.
  var typed: String?

  /// How the end was asked for.
  enum Ending {
    case none
    /// By a key, or because the time or the file is over.
    case asked
    /// By a signal.
    case signalled
    /// By another one, before the end had come.
    case aborted
  }

  enum Timer: CaseIterable, Hashable, Sendable {
    /// Draw the region again.
    case status
    /// `--duration` is over.
    case duration
    /// What was played last has been heard.
    case tail
    /// A signal that follows another one at once is the same.
    case impatience
    /// The end that was asked for did not come.
    case patience
    /// `--ring-for` of an incoming call.
    case ring
    /// Nothing has come of the present step for a second.
    case wait
    /// The channel that the call has become has something to do.
    case room
  }

  package init(
    _ id: CallID, _ session: OnlineSession, _ sound: SoundOptions, role: CallReport.Role,
    peer: String
  ) {
    self.id = id
    self.session = session
    self.sound = sound
    self.role = role
    isRinging = role == .callee
    view.peer = peer
    view.state = role == .caller ? "calling" : "rings"
    if role == .caller { wait(for: "an answer of \(peer)'s host") }
    if session.console.hasRegion { deadlines.set(.status, at: began) }
    arm()
  }

  /// Plays and saves by these.
  package func use(_ ends: OpenedSound) {
    self.ends = ends
    view.hasVideo = ends.video?.source != nil
    view.isMuted = sound.startsMuted
  }

  /// Whether a signal has asked for the end.
  package var wasSignalled: Bool { ending == .signalled || ending == .aborted }

  /// Whether a second one did, before the end had come.
  package var hasAborted: Bool { ending == .aborted }

  package func ask(_ question: String) { view.hint = question }

  package func ring(for seconds: Double) {
    deadlines.set(.ring, at: SystemClock.now + .milliseconds(Int64(seconds * 1000)))
    arm()
  }

  private func arm() { session.inbox.wake(at: deadlines.next) }

  /// Says what is waited for, if nothing comes of it within a second; `nil` ends the wait.
  private func wait(for what: String?) {
    view.awaited = what
    deadlines.cancel(.wait)
    if what != nil { deadlines.set(.wait, at: SystemClock.now + OnlineSession.quietWait) }
  }

  /// What an input asks of whoever holds the call.
  package enum Verdict {
    case goOn
    /// `--ring-for` is over.
    case ringOver
  }

  package func handle(_ input: SessionInput) async -> Verdict {
    var verdict = Verdict.goOn
    switch input {
    case .endpoint(let event): await handleEvent(event)
    case .key(let key): await handleKey(key)
    case .signal(.user1): await showStatistics()
    case .signal(let signal): await handleSignal(signal)
    case .sourceEnded: sourceEnded()
    case .probe, .opened, .diagnosed, .media: break  // Each runs in a command of its own.
    case .channelToken, .lines: break  // Of `earshot join`.
    case .token: break  // The session has handed it over.
    case .wake: if await wake() { verdict = .ringOver }
    }
    tellFaults()
    finishIfOver()
    if let due = company.room?.nextDeadline { deadlines.set(.room, at: due) }
    arm()
    return verdict
  }

  // MARK: - Answering

  package func accept(_ options: CallOptions) async {
    deadlines.cancel(.ring)
    do throws(EarshotError) {
      try await session.endpoint.call(id).accept(options)
      isRinging = false
    } catch {
      // Of a call that is over, or that another program of this identity took, is told next.
      if error.code != .callState { session.console.log(.warning, error.message) }
    }
  }

  package func refuse(_ reason: String) async {
    deadlines.cancel(.ring)
    isRinging = false
    do throws(EarshotError) {
      try await session.endpoint.call(id).reject(reason: reason)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  // MARK: - Events

  private func handleEvent(_ event: EndpointEvent) async {
    await company.room?.handle(event)
    switch event {
    case .callStateChanged(let call, let state, _) where call == id: await enter(state)
    case .callProgress(let call, let step) where call == id: showProgress(step)
    case .callProgress(let call, .shortCode(let letters)): showCode(letters, of: call)
    case .statistics(let call, let numbers) where call == shownCall: handleStatistics(numbers)
    case .audioQualityChanged(let call, let change) where call == shownCall:
      session.console.say(QualityLine.text(change))
    case .callEnded(let call, let report) where call == id: handleEnd(report)
    default: break
    }
  }

  private func enter(_ state: CallState) async {
    switch state {
    case .calling: break
    case .connecting:
      await openRoom()
      view.state = "connecting"
      view.hint = ""
      wait(for: "a path to \(view.peer)")
      deadlines.cancel(.ring)
    case .connected:
      connected = SystemClock.now
      view.state = "connected"
      wait(for: nil)
      view.hint = session.inbox.hasKeys ? Self.keys(view) : ""
      // A short ID ends in an ellipsis.
      let end = view.peer.hasSuffix("…") ? "" : "."
      session.console.say("Connected with \(view.peer)\(end)")
      if let duration = sound.duration {
        deadlines.set(.duration, at: SystemClock.now + .milliseconds(Int64(duration * 1000)))
      }
      await inviteAll()
    case .ended: if company.room?.isOpen != true { deadlines.cancelAll() }
    }
  }

  /// Whoever was dialled by ID is that ID, which does not say that somebody verified it.
  private func words(of peer: CallPeer) -> String {
    role == .caller && peer.name == nil ? "\(peer.id)" : Wording.who(peer)
  }

  private func showProgress(_ step: CallProgress) {
    let console = session.console
    marks.append(step, now: SystemClock.now)
    if let words = VideoMessages.sentence(step) { console.sayOfOthers(words) }
    switch step {
    case .lookingAgain(let sentence): console.say(Wording.lookingAgain(sentence))
    case .delivered:
      view.state = "ringing"
      wait(for: nil)
      console.say("\(view.peer) has the invitation; it rings.")
    case .answered(let who):
      console.say("\(words(of: who)) answered.")
    case .pathReady(let kind, let remote): console.log(.info, "path \(kind.rawValue) to \(remote)")
    case .pathChanged(let kind, let remote):
      console.sayOfOthers("Media moved to another path: \(kind.rawValue), \(remote).")
    case .shortCode(let letters):
      showCode(letters, of: id)
    case .interrupted: console.say("Nothing has been heard for 4 s.")
    case .connectionLost: console.say("Nothing has been heard for 10 s; it is still being tried.")
    case .away(let absence):
      let left = Wording.duration(absence)
      console.say("Nothing has been heard for 20 s; the call waits, \(left) in all (--rejoin).")
    case .resumed: console.say("It is heard again.")
    case .rejoined(let absence):
      console.say("The call goes on after \(Wording.duration(absence)).")
    case .remoteAudioMuted(let isMuted):
      view.isRemoteMuted = isMuted
      console.sayOfOthers("The other side \(isMuted ? "muted" : "unmuted") its audio.")
    case .replaced(let new):
      id = new
      console.say("Both called each other: one call goes on.")
    case .audioFailed(let text): session.remember("The audio could not be started: \(text)")
    case .remoteVideoMuted(let isMuted): view.isRemoteVideoMuted = isMuted
    case .videoFailed(let text): session.remember("The video does not work: \(text)")
    case .firstFrameReceived: ends?.sink.begin()
    default: break
    }
  }

  private func handleStatistics(_ numbers: CallStatistics) {
    view.numbers = numbers
    marks.handleStatistics(atMs: numbers.atMs, now: SystemClock.now)
    keep(numbers)
    let second = numbers.atMs / 1000
    if !session.console.hasRegion, second - lastPlain >= Self.plainPeriod {
      lastPlain = second
      refresh()
      session.console.say(
        StatusRegion.lines(shownView, columns: 200).prefix(3).joined(separator: "  "))
    }
  }

  /// For the page of `--report`. Of a call that goes on for days the first hours are enough.
  func keep(_ numbers: CallStatistics) {
    // The page is of the call of the two: what others' calls were like is not its.
    guard session.writesReport, samples.count < Self.maxSamples, shownCall == id else { return }
    samples.append(numbers)
  }

  /// The page of `--report`; `nil` before the end.
  package var page: String? {
    report.map {
      ReportPage.html(
        $0, samples, prediction: prediction, marks: marks.places,
        members: company.room?.book.rows ?? [], origin: .here)
    }
  }

  // MARK: - Keys, signals, time

  /// The file is at its end; what was read last is still on its way to the other ear.
  private func sourceEnded() {
    guard role == .caller, sound.duration == nil else { return }
    let trip = view.numbers?.currentRttMs ?? 200
    let buffer = view.numbers?.received.jitterBufferDelayMs?.p95 ?? 200
    let wait = min(trip, 2000) + min(buffer, 2000) + 300
    deadlines.set(.tail, at: SystemClock.now + .milliseconds(Int64(wait)))
  }

  private func handleSignal(_ signal: SignalWatch.Signal) async {
    switch ending {
    case .none:
      deadlines.set(.impatience, at: SystemClock.now + .milliseconds(500))
      await end(.signalled)
    case .asked: ending = .signalled
    // A terminal that closes often sends SIGHUP twice; nobody is there to be impatient. And
    // programs that end others signal the process and its group: that is one wish.
    case .signalled: if signal != .hangUp, deadlines[.impatience] == nil { ending = .aborted }
    case .aborted: break
    }
  }

  func end(_ cause: Ending = .asked) async {
    guard ending == .none else { return }
    ending = cause
    view.state = "hanging up"
    wait(for: "\(view.peer) to hear of the end")
    deadlines.set(.patience, at: SystemClock.now + .seconds(5))
    await company.room?.leave()
    await session.endpoint.call(id).hangUp()
  }

  /// - Returns: Whether `--ring-for` is over.
  private func wake() async -> Bool {
    let now = SystemClock.now
    var isRingOver = false
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .status:
        refresh()
        deadlines.set(.status, at: now + .milliseconds(100))
      case .duration, .tail: await end()
      case .patience:
        session.console.log(.error, "the call did not end in order")
        await session.endpoint.close()
      case .ring: isRingOver = true
      case .impatience: break  // From now on a signal is another one.
      case .wait:
        if let awaited = view.awaited { session.console.announceWait("waiting for \(awaited)") }
      case .room: await company.room?.advance()
      }
    }
    return isRingOver
  }

  func refresh() {
    let now = SystemClock.now
    view.seconds = Int(now.nanoseconds(since: connected ?? began) / 1_000_000_000)
    if let ends {
      view.heardLevel = ends.sink.meter.decibels
      view.playedLevel = ends.source.meter.decibels
      if let length = ends.source.length, length > 0 {
        view.progress = (Double(ends.source.position) / Double(length), Double(length) / 48_000)
      }
    }
    session.console.show(shownView)
  }
}
