package import Arguments
internal import Earshot
internal import MediaFiles
package import Reactor

/// `earshot answer`: registers, and waits for calls.
package struct AnswerCommand: Sendable {
  package var online: OnlineOptions
  package var sound: SoundOptions
  package var policy: AnswerPolicy
  /// Seconds until a call is accepted or rejected by itself.
  package var ringFor: Double?
  /// Calls after which the program ends; `nil` runs on.
  package var callLimit: Int?

  package init(
    _ arguments: consuming Arguments, isOnTerminal: Bool, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    sound = try SoundOptions(&arguments)
    policy = try AnswerPolicy(&arguments, isOnTerminal: isOnTerminal)
    ringFor = try arguments.number("--ring-for", "seconds", in: 0...3600)
    callLimit = try arguments.integer("--calls", "calls", in: 1...1_000_000)
    try arguments.finish()
    if policy == .ask, sound.play == "-" {
      throw UsageError(
        "--ask reads keys from standard input, which --play - reads too.",
        advice: "Use --accept.")
    }
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel)
    var opened: OpenedSound? = try open(call: 1)
    let session = try await OnlineSession(
      online, console, on: loop, readsKeys: sound.play != "-")
    let status = try await session.waitUntilRegistered()
    if status == .taken || status == .malformed {
      await session.endpoint.close()
      throw CommandFailure(EarshotError.nameTaken(online.name ?? ""))
    }
    if status == .noMore {
      await session.endpoint.close()
      throw CommandFailure(EarshotError.noMoreNames(online.name ?? ""))
    }
    let name = online.name.map { " as \($0)" } ?? ""
    console.say("Registered\(name); the own ID is \(session.endpoint.id).\nWaiting for calls.")
    var last: CallRun?
    var count = 0
    while callLimit.map({ count < $0 }) ?? true {
      guard let call = try await nextCall(session) else { return await session.finish(last, .done) }
      count += 1
      let run = CallRun(
        call.id, session, sound, role: .callee, peer: call.name ?? "\(call.peer)")
      last = run
      guard let ends = opened.take() ?? reopen(call: count, session) else {
        await run.refuse("the sound cannot be opened")
        continue
      }
      await follow(run, call, ends, session)
      if run.hasAborted { return .interrupted }
      if run.wasSignalled { break }
    }
    let code = last?.report.map { sound.code(of: $0) } ?? .failed
    return await session.finish(last, code)
  }

  private func open(call number: Int) throws(CommandFailure) -> OpenedSound {
    do throws(MediaFileError) {
      return try OpenedSound(sound, call: number)
    } catch {
      throw CommandFailure(error)
    }
  }

  private func reopen(call number: Int, _ session: OnlineSession) -> OpenedSound? {
    do throws(MediaFileError) {
      return try OpenedSound(sound, call: number)
    } catch {
      session.remember(error.message)
      return nil
    }
  }

  /// The next call that comes in; `nil` when a signal or key came first.
  private func nextCall(
    _ session: OnlineSession
  ) async throws(CommandFailure) -> IncomingCall? {
    while let happening = await session.next() {
      switch happening {
      case .endpoint(.incomingCall(let call)): return call
      case .endpoint(.registrationChanged(.failed(let error))):
        await session.endpoint.close()
        throw CommandFailure(error)
      case .endpoint(.registrationChanged(.reconnecting)):
        session.console.log(.warning, "contact with the rendezvous is lost; trying again")
      case .signal(.interrupt), .signal(.terminate), .key("q"), .key("Q"): return nil
      case .signal(.user1), .key("s"): session.console.say("No call now.")
      default: break
      }
    }
    return nil
  }

  /// One call from its first ring to its report.
  private func follow(
    _ run: CallRun, _ call: IncomingCall, _ ends: OpenedSound, _ session: OnlineSession
  ) async {
    run.use(ends)
    ends.connect(to: session.inbox)
    let who = call.name.map { "\($0) (\(call.peer), \(call.trust.rawValue))" } ?? "\(call.peer)"
    session.console.say("\(who) calls.")
    if policy == .ask {
      run.ask("Answer? y yes, n no")
      session.console.say("Answer? Press y or n.")
    }
    if let ringFor, ringFor > 0 { run.ring(for: ringFor) } else { await decide(run, ends) }
    while run.report == nil, !run.hasAborted, let happening = await session.next() {
      if run.isRinging, policy == .ask, case .key(let key) = happening, "ynYN".contains(key) {
        if "yY".contains(key) { await accept(run, ends) } else { await run.refuse("declined") }
        continue
      }
      if await run.take(happening) == .ringOver { await decide(run, ends, isLate: true) }
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
    await run.accept(sound.callOptions(ends))
  }
}
