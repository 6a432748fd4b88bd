package import Arguments
internal import Earshot
internal import MediaFiles
package import Reactor

/// `earshot answer`: registers, and waits for calls. Never gives up by itself: a rendezvous that is
/// away is waited for, unless `--fail-fast` is given.
package struct AnswerCommand: Sendable {
  package var online: OnlineOptions
  package var sound: SoundOptions
  package var policy: AnswerPolicy
  /// Who may ring.
  package var callers: CallerFilter
  /// Seconds until a call is accepted or rejected by itself.
  package var ringFor: Double?
  /// Calls after which the program ends; `nil` runs on.
  package var callLimit: Int?
  /// Whether a rendezvous that does not answer ends the program, as it ends `call`.
  package var failsFast: Bool

  /// A program that is started when a call rings and when it has ended.
  package var program: String?

  /// Seconds after which callers hear themselves; `nil` = not at all.
  package var echo: Double?

  /// Seconds of a call with an echo where `--duration` says nothing: nobody holds the line of a
  /// program that answers everybody.
  private static let longestEcho: Double = 300

  package init(
    _ arguments: consuming Arguments, isOnTerminal: Bool, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    sound = try SoundOptions(&arguments)
    let said = try AnswerPolicy(&arguments, isOnTerminal: isOnTerminal)
    callers = try CallerFilter(try arguments.option("--from"))
    if try arguments.choice("--presence", of: ["everybody", "contacts"]) == "contacts" {
      online.visibility = .contacts
    }
    ringFor = try arguments.number("--ring-for", "seconds", in: 0...3600)
    callLimit = try arguments.integer("--calls", "calls", in: 1...1_000_000)
    failsFast = try arguments.flag("--fail-fast")
    program = try arguments.file("--exec")
    echo = try Self.echo(&arguments, sound)
    if echo != nil { sound.duration = sound.duration ?? Self.longestEcho }
    try arguments.finish(OnlineOptions.ownName)
    try online.requireRendezvous()
    guard let said else { throw AnswerPolicy.unsaid }
    policy = said
    if policy == .ask, sound.readsInput {
      let option = sound.play == "-" ? "--play -" : "--video -"
      throw UsageError(
        "--ask reads keys from standard input, which \(option) reads too.",
        advice: "Use --accept.")
    }
  }

  /// Hears callers out and says it again: a test of both directions at once.
  private static func echo(
    _ arguments: inout Arguments, _ sound: SoundOptions
  ) throws(UsageError) -> Double? {
    let isWanted = try arguments.flag("--echo")
    let delay = try arguments.number("--echo-delay", "seconds", in: 2...10)
    guard isWanted else {
      guard delay == nil else {
        throw UsageError("--echo-delay needs --echo.", advice: "Add --echo.")
      }
      return nil
    }
    guard sound.play == nil else {
      throw UsageError("--echo sends back what it hears, not a file.", advice: "Leave out --play.")
    }
    return delay ?? 3
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel,
      isOutputTaken: sound.savesToOutput)
    console.stampsLines = true
    try sound.checkStreams(online)
    let notice = try CallNotice(program, on: loop, console)
    // The files of the first call are tried before anybody is told that one may ring.
    let number = sound.freeNumber(from: 1, overwrites: online.overwrites)
    try online.check(sound, call: number)
    let input = try sound.openInput()
    var opened: OpenedSound? = try open(call: number, input)
    let session = try await OnlineSession(
      online, console, on: loop, readsKeys: !sound.readsInput, isPatient: !failsFast)
    session.announceScheduling()
    try await register(session)
    session.tellOfNobody(in: callers)
    return await serve(session, &opened, input, first: number, notice)
  }

  /// Calls, one after the other.
  private func serve(
    _ session: OnlineSession, _ opened: inout OpenedSound?, _ input: SoundInputPipe?,
    first number: Int, _ notice: CallNotice
  ) async -> ExitCode {
    var number = number
    var last: CallRun?
    var count = 0
    while callLimit.map({ count < $0 }) ?? true {
      let call: IncomingCall?
      do throws(CommandFailure) {
        call = try await nextCall(session)
      } catch {
        session.console.complain(error)
        return await session.finish(last, error.code)
      }
      guard let call else { return await session.finish(last, .done) }
      count += 1
      let run = CallRun(
        call.id, session, sound, role: .callee, peer: Wording.briefName(call))
      last = run
      notice.start("ringing", call, nil)
      defer { notice.start("ended", call, run.report) }
      if opened == nil {
        number = sound.freeNumber(from: max(count, number + 1), overwrites: online.overwrites)
        opened = reopen(call: number, input, session)
      }
      guard let ends = opened.take() else {
        session.console.sayOfOthers(
          "\(Wording.briefName(call)) calls; refused, as the sound cannot be opened.")
        await run.refuse("the sound cannot be opened")
        continue
      }
      await follow(run, call, ends, session)
      if run.hasAborted { return run.abandon() }
      if run.wasSignalled { break }
    }
    let code = last?.report.map { sound.code(of: $0) } ?? .failed
    return await session.finish(last, code)
  }

  private func register(_ session: OnlineSession) async throws(CommandFailure) {
    let status = try await session.waitUntilRegistered(isPatient: !failsFast)
    if status == .taken || status == .malformed {
      throw await session.conclude(CommandFailure(EarshotError.nameTaken(online.name ?? "")))
    }
    if status == .noMore {
      throw await session.conclude(CommandFailure(EarshotError.noMoreNames(online.name ?? "")))
    }
    let name = online.name.map { " as \($0)" } ?? ""
    session.console.say(
      "Registered\(name); the own ID is \(session.endpoint.id).\nWaiting for calls.")
  }

  private func open(
    call number: Int, _ input: SoundInputPipe?
  ) throws(CommandFailure) -> OpenedSound {
    do throws(MediaFileError) {
      return try OpenedSound(
        sound, call: number, input: input, overwrites: online.overwrites)
    } catch {
      throw CommandFailure(error)
    }
  }

  private func reopen(
    call number: Int, _ input: SoundInputPipe?, _ session: OnlineSession
  ) -> OpenedSound? {
    do throws(MediaFileError) {
      return try OpenedSound(
        sound, call: number, input: input, overwrites: online.overwrites)
    } catch {
      session.remember(CommandFailure(error))
      return nil
    }
  }

  /// The next call that comes in; `nil` when a signal or key came first.
  private func nextCall(
    _ session: OnlineSession
  ) async throws(CommandFailure) -> IncomingCall? {
    while true {
      // Contact may have ended for good while the last call ran.
      if let error = session.contact.failure ?? (failsFast ? session.contact.trouble : nil) {
        throw CommandFailure(error)
      }
      guard let input = await session.next() else { return nil }
      switch input {
      case .endpoint(.incomingCall(let call)) where call.userExtension == TransferWords.invitation:
        leaveToReceiver(call, session)
      case .endpoint(.incomingCall(let call)) where CallChannelMarks.isOfChannel(call):
        // Of a channel that was left a moment ago, or was never joined.
        await session.turnAway(member: call)
      case .endpoint(.incomingCall(let call)):
        if callers.admits(call) { return call }
        await turnAway(call, session)
      case .endpoint(.callEnded(_, let report)): session.tellOfImpostor(report)
      case .signal(.interrupt), .signal(.terminate), .signal(.hangUp), .key("q"), .key("Q"):
        return nil
      case .signal(.user1), .key("s"), .key("S"): session.console.say("No call now.")
      case .key("\n"), .key("\u{8}"): break
      case .key: session.console.say("Keys while it waits for a call: q leave.")
      default: break
      }
    }
  }

  /// Somebody who may not ring hears a no at once; nobody here is disturbed.
  private func turnAway(_ call: IncomingCall, _ session: OnlineSession) async {
    session.console.sayOfOthers("\(Wording.who(call)) may not ring (--from).")
    do throws(EarshotError) {
      try await session.endpoint.call(call.id).reject(reason: "calls from strangers are not taken")
    } catch {
      // It was cancelled in this moment.
    }
  }

  /// A file or a text: `earshot receive` of the same identity takes it at once, if one runs;
  /// without it nobody does.
  private func leaveToReceiver(_ call: IncomingCall, _ session: OnlineSession) {
    let there = session.endpoint
    do throws(ReactorError) {
      try session.inbox.remind(after: .seconds(2)) {
        Task {
          do throws(EarshotError) {
            try await there.call(call.id).reject(reason: "no earshot receive runs here")
          } catch {
            // It is over: somebody took it.
          }
        }
      }
    } catch {
      // Without a timer it rings out.
    }
  }

  /// One call from its first ring to its report.
  private func follow(
    _ run: CallRun, _ call: IncomingCall, _ ends: OpenedSound, _ session: OnlineSession
  ) async {
    session.isInCall = true
    defer { session.isInCall = false }
    run.use(ends)
    ends.connect(to: session.inbox)
    let who = Wording.who(call)
    let invites = call.invitesToChannel
    session.console.say(
      "\(who) calls\(call.offersVideo ? " with video" : "")"
        + "\(invites ? ", into a channel with others" : "").")
    if echo == nil {
      let isAttended = policy == .ask
      run.allowChannel(
        CallRoom.Manners(
          isAttended: isAttended, filter: callers, asks: isAttended, hasAgreed: invites))
    }
    if policy == .ask {
      run.ask("Answer? y yes, n no")
      session.console.ring()
      session.console.say("Answer? Press y or n.")
    }
    if let ringFor, ringFor > 0 { run.ring(for: ringFor) } else { await decide(run, ends) }
    while run.report == nil, !run.hasAborted, let input = await session.next() {
      if run.isRinging, policy == .ask, case .key(let key) = input, "ynYN".contains(key) {
        if "yY".contains(key) { await accept(run, ends) } else { await run.refuse("declined") }
        continue
      }
      if await run.handle(input) == .ringOver { await decide(run, ends, isLate: true) }
    }
  }

  /// What the policy says; a question that nobody answered means no.
  private func decide(_ run: CallRun, _ ends: OpenedSound, isLate: Bool = false) async {
    switch policy {
    case .accept: await accept(run, ends)
    case .reject(let reason): await run.refuse(reason)
    case .ask: if isLate { await run.refuse("nobody answered") }
    }
  }

  private func accept(_ run: CallRun, _ ends: OpenedSound) async {
    var options = sound.callOptions(ends)
    options.remembersPeer = policy == .ask
    if let echo {
      let end = EchoEnd(seconds: echo, next: ends.sink)
      options.source = end
      options.sink = end
      options.followsChannels = false
    }
    await run.accept(options)
  }
}
