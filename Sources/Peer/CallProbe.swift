import Calling
import Connectivity
import LastMile
import Primitives
import SecureSession
import Wire

/// The part of a call that a probe between two peers rides in (docs/protocol/probe.md §3): the
/// caller's prober, the callee's reflector.
struct CallProbe {
  /// What the call is made for.
  enum Purpose { case media, probe }

  enum State {
    case awaited
    /// The caller's.
    case probing(Prober)
    /// The callee's. One run a call: the limits of invitations are those of probes.
    case reflecting(ReflectorRun)
    case over
  }

  var purpose = Purpose.media
  private(set) var state = State.awaited
  /// To a request that comes in a call of another kind.
  private(set) var refusal: ProbeAnswerFrame?

  // MARK: - In

  /// Takes a PROBE frame. A call that is no probe's has priority, and says so.
  mutating func handle(
    _ frame: Frame, in packet: Span<UInt8>, _ arrival: ProbeArrival, on path: borrowing CallPath,
    now: Instant
  ) {
    switch frame {
    case .probeRequest(let request): handleRequest(request, arrival, on: path, now: now)
    case .probePacket(let test):
      if prober?.run == test.run {
        withProber { $0.handle(test, byteCount: arrival.byteCount, ecn: arrival.ecn, now: now) }
      } else if path.agent.isValid(arrival.source) {
        withReflector { $0.handle(test, ecn: arrival.ecn, now: now) }
      }
    case .probeAnswer(let answer): withProber { $0.handle(answer, now: now) }
    case .probeReport(let report): handleReport(report, in: packet, now: now)
    default: return
    }
    withProber { $0.noteReceived(byteCount: arrival.byteCount) }
  }

  private mutating func handleRequest(
    _ request: ProbeRequestFrame, _ arrival: ProbeArrival, on path: borrowing CallPath,
    now: Instant
  ) {
    // Each side selects its own path: the prober's need not be the one that answers go on.
    guard let selected = path.agent.selected, path.agent.isValid(arrival.source) else { return }
    guard case .probe = purpose, path.role == .callee else {
      refusal = ProbeAnswerFrame(
        run: request.run, number: request.number, status: .callInProgress)
      return
    }
    if reflection?.run == request.run {
      withReflector { $0.handle(request, now: now) }
    } else if case .awaited = state, !request.isOver {
      state = .reflecting(
        ReflectorRun(request, limits: .peer, overhead: selected.headerByteCount, now: now))
    }
  }

  private mutating func handleReport(
    _ report: ProbeReportFrame, in packet: Span<UInt8>, now: Instant
  ) {
    guard case .probing(var prober) = state else { return }
    state = .over
    prober.handle(report, in: packet, now: now)
    state = .probing(prober)
  }

  mutating func handleTimeout(now: Instant) {
    withProber { $0.handleTimeout(now: now) }
    withReflector { $0.handleTimeout(now: now) }
    if let reflection, reflection.isOver, !reflection.hasWords { state = .over }
  }

  // MARK: - Commands

  /// The caller begins.
  mutating func begin(_ prober: Prober) { state = .probing(prober) }

  /// Nothing more is measured, and nothing more is said.
  mutating func stop() { state = .over }

  /// The callee's answers go no further: the path that they were asked for over is another one.
  mutating func stopReflecting() { if case .reflecting = state { state = .over } }

  /// The caller's measurement ends because of `ending`; its report is among the events.
  mutating func end(_ ending: LineReport.Ending, now: Instant) {
    withProber { $0.end(ending, now: now) }
  }

  mutating func pollEvent() -> ProbeProgress? { withProber { $0.pollEvent() } ?? nil }

  // MARK: - Out

  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    guard hasWords, !association.isClosing else { return false }
    Session.beginPacket(&packet)
    guard writeFrames(into: &packet, now: now) else {
      packet.removeAll()
      return false
    }
    return association.seal(&packet, elicits: false, hasMessages: false, now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writeFrames(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    if let refusal = refusal.take() {
      refusal.write(to: &packet)
      return true
    }
    let tag = SealedPacket.tagByteCount
    switch state {
    case .probing(var prober):
      state = .over
      defer { state = .probing(prober) }
      return prober.writeFrames(into: &packet, tagByteCount: tag, now: now)
    case .reflecting(var run):
      state = .over
      defer { state = .reflecting(run) }
      return run.writeFrames(into: &packet, tagByteCount: tag, now: now)
    case .awaited, .over: return false
    }
  }

  private var hasWords: Bool {
    switch state {
    case .awaited, .over: refusal != nil
    case .probing, .reflecting: true
    }
  }

  var nextDeadline: Instant? {
    if refusal != nil { return .zero }
    switch state {
    case .awaited, .over: return nil
    case .probing(let prober): return prober.nextDeadline
    case .reflecting(let run): return run.nextDeadline
    }
  }

  // MARK: - Parts

  var isProbing: Bool { if case .probing = state { true } else { false } }

  private var prober: Prober? { if case .probing(let prober) = state { prober } else { nil } }

  var reflection: ReflectorRun? { if case .reflecting(let run) = state { run } else { nil } }

  /// Changes the prober in its place: a copy of it would copy its lists.
  private mutating func withProber<Result>(_ change: (inout Prober) -> Result) -> Result? {
    guard case .probing(var prober) = state else { return nil }
    state = .over
    defer { state = .probing(prober) }
    return change(&prober)
  }

  private mutating func withReflector(_ change: (inout ReflectorRun) -> Void) {
    guard case .reflecting(var run) = state else { return }
    state = .over
    change(&run)
    state = .reflecting(run)
  }
}

extension CallPath {
  /// What a probe's report says of the path.
  func facts(of remote: SocketAddress) -> PathFacts {
    var facts = PathFacts()
    facts.kind = agent.kind.map { kind in
      switch kind {
      case .direct: .direct
      case .holePunched: .holePunched
      case .relayed: .relayed
      }
    }
    facts.remote = remote
    facts.family = remote.family
    facts.seenAs = agent.seenAs
    return facts
  }
}

/// How a packet with PROBE frames came.
struct ProbeArrival: BitwiseCopyable {
  var source: SocketAddress
  /// Of the IP packet.
  var byteCount: Int
  var ecn: UInt8

  /// - Parameter frameByteCount: Of the packet's frames, all together.
  init(of frameByteCount: Int, from source: SocketAddress, _ marks: DatagramMarks) {
    self.source = source
    byteCount = frameByteCount + SealedPacket.minimumByteCount + source.headerByteCount
    ecn = marks.ecn
  }
}
