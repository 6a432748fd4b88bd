package import Arguments
internal import Earshot
internal import Primitives
package import Reactor

/// `earshot probe TARGET`: measures the line to a rendezvous or a peer, and says what it is fit
/// for.
package struct ProbeCommand: Sendable {
  package var options: ProbeOptions

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    options = try ProbeOptions(arguments, variable: variable)
    options.online.presence = .guest
    options.online.transport.dscp = options.dscp?.value ?? 0
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let online = options.online
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel)
    if let often = options.tooOften { console.log(.warning, often) }
    var claims = FileClaims()
    online.claim(in: &claims)
    claims.writes(options.csv, "--csv")
    claims.writes(options.packets, "--packets")
    try claims.check()
    let sheet = try options.csv.map { path throws(CommandFailure) in
      try ProbeSheet(path, overwrites: online.overwrites)
    }
    let journal = try options.packets.map { path throws(CommandFailure) in
      try ProbeJournal(path, overwrites: online.overwrites)
    }
    let session = try await OnlineSession(online, console, on: loop, readsKeys: true)
    let run = ProbeRun(options, console, session.lines, sheet, now: SystemClock.now)
    let failure = await follow(run, session, on: loop)
    if run.hasAborted { return .interrupted }
    let report = run.result
    let rating = report.rating
    let series = options.repetition == nil ? nil : run.series
    ProbeSummary.write(
      report, rating, target: options.target, series: series, to: session.lines)
    remember(report, rating)
    let code = failure?.code ?? ExitCode(report, rating, required: options.required)
    if let failure {
      console.complain(failure)
    } else if report.state == .unavailable, online.isQuiet, !online.isJSON {
      console.complain(CommandFailure(code, "\(options.target): \(rating.sentence)"))
    }
    session.remember(sheet?.fault)
    journal?.write(report)
    session.remember(journal?.fault)
    let page = ProbePage.html(
      report, rating, series: series, target: options.target, origin: .here)
    let isOne = series == nil || session.contact.failure != nil
    return await session.finish(page: page, isOne ? code : run.code(last: code))
  }

  /// Serves what happens until the probe is over. The wait for the rendezvous is part of its time;
  /// a peer can be looked up only then.
  ///
  /// - Returns: Why nothing could be measured, where that is known.
  private func follow(
    _ run: ProbeRun, _ session: OnlineSession, on loop: EventLoop
  ) async -> CommandFailure? {
    var failure: CommandFailure?
    var isRegistered = false
    var probe: LineProbe?
    var wish = options.isRendezvous ? ProbeRun.Wish.begin : .nothing
    while !run.hasAborted {
      switch wish {
      case .nothing: break
      case .begin: probe = await begin(run, session, on: loop, &failure)
      case .stop: await probe?.cancel()
      }
      session.inbox.wake(at: run.nextDeadline)
      guard !run.isOver, let input = await session.next() else { break }
      wish = .nothing
      switch input {
      case .endpoint(.registrationChanged(.registered)):
        isRegistered = true
        if probe == nil { wish = .begin }
      case .endpoint(.registrationChanged):
        // A line that is probed again and again may be away for a while.
        let trouble = options.repetition == nil ? session.contact.trouble : nil
        guard let error = session.contact.failure ?? trouble else { continue }
        failure = CommandFailure(error)
        run.giveUp(.noAnswer, now: SystemClock.now)
      case .probe(let progress): run.handleProgress(progress, now: SystemClock.now)
      case .signal(.user1): break
      // A terminal that closes often sends it twice.
      case .signal(.hangUp): if !run.wasStopped { wish = run.stop() }
      case .signal, .key("q"), .key("Q"): wish = run.stop()
      case .wake: wish = run.wake(now: SystemClock.now)
      default: break
      }
    }
    let isSilent = run.result.ending == .noAnswer && !isRegistered && !run.wasStopped
    return failure ?? (isSilent ? silence : nil)
  }

  private func begin(
    _ run: ProbeRun, _ session: OnlineSession, on loop: EventLoop,
    _ failure: inout CommandFailure?
  ) async -> LineProbe? {
    run.begin(now: SystemClock.now)
    do throws(EarshotError) {
      return try await begin(session, on: loop)
    } catch {
      failure = CommandFailure(error)
      run.giveUp(.callInProgress, now: SystemClock.now)
      return nil
    }
  }

  private func begin(
    _ session: OnlineSession, on loop: EventLoop
  ) async throws(EarshotError) -> LineProbe {
    let target = options.isRendezvous ? ProbeTarget.rendezvous : .peer(options.target)
    let probe = try await session.endpoint.probe(target, plan: options.plan)
    let feed = session.inbox.feed
    Task(executorPreference: loop) {
      for await step in probe.progress { feed.yield(.probe(step)) }
      // A task does not keep its executor alive by itself.
      withExtendedLifetime(loop) {}
    }
    return probe
  }

  /// Nobody there could be understood in the time there was.
  private var silence: CommandFailure {
    CommandFailure(
      .unreachable,
      "Nothing that can be understood answered at \(options.online.rendezvous) within "
        + "\(Figures.short(options.plan.seconds)) s.",
      advice: "Check that earshot-rendezvous runs there, and that UDP passes both ways.")
  }

  private func remember(_ report: LineReport, _ rating: LineRating) {
    guard !options.isRendezvous, !options.watches else { return }
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let entry = ProbeMemory.Entry(report, rating, target: options.target, at: now)
    if let entry { ProbeMemory(besideIdentity: options.online.identity).remember(entry) }
  }
}
