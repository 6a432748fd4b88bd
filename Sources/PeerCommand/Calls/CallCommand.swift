package import Arguments
package import Earshot
internal import MediaFiles
package import Reactor

/// `earshot call NAME|ID|CARD`: invites, talks, prints the report.
package struct CallCommand: Sendable {
  package var online: OnlineOptions
  package var sound: SoundOptions
  package var target: String
  /// The target in a word: a name, or an ID.
  package var targetName: String
  /// Seconds.
  package var ringTimeout: Double
  /// Who is invited once the call is connected, which makes a channel of it.
  package var invites: [String]
  /// Who is talked with where the call becomes a channel.
  package var callers: CallerFilter

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    online.presence = .calling
    sound = try SoundOptions(&arguments)
    ringTimeout = try arguments.number("--ring-timeout", "seconds", in: 0.5...3600) ?? 15
    invites = try arguments.options("--invite")
    callers = try CallerFilter(try arguments.option("--from"))
    let given = try arguments.positional("name, ID, link or card")
    target = try online.follow(given)
    try arguments.finish()
    for target in [target] + invites { try OnlineOptions.checkID(target) }
    if let wrong = invites.first(where: { !OnlineOptions.isTarget($0) }) {
      throw UsageError(
        "--invite wants a name or an ID, not '\(wrong)'.", advice: "Give it once for each.")
    }
    let card = try OnlineOptions.card(target)
    targetName = card.map { $0.name ?? "\($0.id)" } ?? target
    online.adoptRendezvous(of: target, card)
    try online.requireRendezvous(for: given)
    guard card != nil || OnlineOptions.isTarget(target) else {
      throw OnlineOptions.noTarget(target)
    }
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel,
      isOutputTaken: sound.savesToOutput)
    try sound.checkStreams(online)
    let number = sound.freeNumber(from: 1, overwrites: online.overwrites)
    try online.check(sound, call: number)
    let ends = try open(call: number)
    let session = try await OnlineSession(
      online, console, on: loop, readsKeys: !sound.readsInput)
    session.announceScheduling()
    ends.connect(to: session.inbox)
    let status = try await session.waitUntilRegistered()
    session.tellOfNobody(in: callers)
    if status == .taken, let name = online.name {
      console.log(.warning, EarshotError.nameTaken(name).message)
    }
    if status == .noMore, let name = online.name {
      console.log(.warning, EarshotError.noMoreNames(name).message)
    }
    var options = sound.callOptions(ends)
    options.ringTimeout = .milliseconds(Int64(ringTimeout * 1000))
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    options.knownUplinkBitrate = ProbeMemory(besideIdentity: online.identity)
      .entry(for: [target, targetName], now: now)?.knownUplinkBitrate(now: now)
    let call: Call
    do throws(EarshotError) {
      call = try await session.endpoint.call(target, options: options)
    } catch {
      throw await session.conclude(CommandFailure(error))
    }
    let peer = PeerID(targetName).map(Wording.short) ?? targetName
    console.say("Calling \(peer) ...")
    let run = CallRun(call.id, session, sound, role: .caller, peer: peer)
    run.use(ends)
    run.allowChannel(manners(session), inviting: invites)
    return await follow(run, session)
  }

  /// A script that invites nobody is there for the one that it called.
  private func manners(_ session: OnlineSession) -> CallRoom.Manners {
    let hasKeys = session.inbox.hasKeys
    return CallRoom.Manners(
      isAttended: hasKeys || !invites.isEmpty, filter: callers, asks: hasKeys)
  }

  private func open(call number: Int) throws(CommandFailure) -> OpenedSound {
    let input = try sound.openInput()
    do throws(MediaFileError) {
      return try OpenedSound(
        sound, call: number, input: input, overwrites: online.overwrites)
    } catch {
      throw CommandFailure(error)
    }
  }

  private func follow(_ run: CallRun, _ session: OnlineSession) async -> ExitCode {
    session.isInCall = true
    while run.report == nil, !run.hasAborted, let input = await session.next() {
      _ = await run.handle(input)
    }
    if run.hasAborted { return run.abandon() }
    guard let report = run.report else { return await session.finish(run, .failed) }
    return await session.finish(run, sound.code(of: report))
  }
}

extension OnlineOptions {
  /// Refuses files that would be written over by one another.
  func check(_ sound: SoundOptions, call number: Int) throws(CommandFailure) {
    var claims = FileClaims()
    claim(in: &claims)
    sound.claim(in: &claims, call: number)
    try claims.check()
  }
}

extension SoundOptions {
  /// The exit code of a call, `--min-mos` considered.
  package func code(of report: CallReport) -> ExitCode {
    let code = ExitCode(report)
    guard code == .done, report.outcome == .completed, let least = leastMOS else { return code }
    guard let received = report.statistics?.received else { return .quality }
    guard let mos = received.mos else {
      // The other side was muted from the first second to the last: there was nothing to judge.
      return received.packetsReceived == 0 ? .done : .quality
    }
    return mos < least ? .quality : .done
  }
}
