package import Primitives
package import Wire

/// Everything that one process reflects: the runs under way, who may begin one, and what is said to
/// those who may not (docs/protocol/probe.md §3). Owned by a machine that knows sessions; a client
/// is named by a number of its choice.
package struct Reflector: Sendable {
  /// Who asks.
  package struct Client: Sendable, BitwiseCopyable {
    /// The session, as its owner counts them.
    package var session: UInt32
    /// The identity behind it, which limits follow from session to session.
    package var identity: PeerID
    /// The part of its address that limits count together.
    package var prefix: UInt64
    /// IP and UDP headers of a packet to it, in bytes.
    package var overhead: Int

    package init(session: UInt32, identity: PeerID, prefix: UInt64, overhead: Int) {
      self.session = session
      self.identity = identity
      self.prefix = prefix
      self.overhead = overhead
    }
  }

  private struct Place: Sendable {
    var client: Client
    var run: ReflectorRun
  }

  /// When a client may begin another run, by an even pace (ITU-T I.371).
  private struct Meter: Sendable {
    var identity: PeerID
    var due: Instant
  }

  private let limits: ReflectorLimits
  private var places: [Place] = []
  private var refusals: [(session: UInt32, answer: ProbeAnswerFrame)] = []
  private var meters: [Meter] = []
  /// Why nobody may begin a run now; `nil` = they may.
  private var closedFor: ProbeAnswerFrame.Status?
  /// Runs begun, and refused, since the start.
  package private(set) var begunCount: UInt64 = 0
  package private(set) var refusedCount: UInt64 = 0

  package init(limits: ReflectorLimits) { self.limits = limits }

  // MARK: - Inputs

  /// A request from the proven address of a session.
  package mutating func handle(_ request: ProbeRequestFrame, from client: Client, now: Instant) {
    if let index = index(of: client.session), places[index].run.run == request.run {
      places[index].run.handle(request, now: now)
      return
    }
    // A run that is over, or one of which we know nothing any more, is not begun anew.
    guard !request.isOver else { return }
    places.removeAll { $0.client.session == client.session && $0.run.isOver && !$0.run.hasWords }
    if let status = refusal(request, client, now: now) {
      refusedCount &+= 1
      guard refusals.count < Self.refusalLimit else { return }
      let answer = ProbeAnswerFrame(run: request.run, number: request.number, status: status)
      refusals.append((client.session, answer))
      return
    }
    begunCount &+= 1
    let usual = UInt64(limits.usualRate)
    let granted = places.reduce(0 as UInt64) { sum, place in
      let rate = UInt64(place.run.rateLimit)
      return place.run.isOver ? sum : sum + (rate - min(rate, usual))
    }
    places.append(
      Place(
        client: client,
        run: ReflectorRun(
          request, limits: limits, overhead: client.overhead, granted: granted, now: now)))
  }

  private mutating func refusal(
    _ request: ProbeRequestFrame, _ client: Client, now: Instant
  ) -> ProbeAnswerFrame.Status? {
    if let closedFor { return closedFor }
    let ofSource = places.count { !$0.run.isOver && $0.client.prefix == client.prefix }
    guard index(of: client.session) == nil, runCount < limits.runs,
      places.count < 4 * limits.runs,
      ofSource < limits.runsPerSource, request.number <= Self.latestFirst
    else { return .busy }
    return takeMeter(request, client, now: now) ? nil : .busy
  }

  private mutating func takeMeter(
    _ request: ProbeRequestFrame, _ client: Client, now: Instant
  ) -> Bool {
    meters.removeAll { $0.due <= now && $0.identity != client.identity }
    let pause = limits.pause(forBytes: request.byteBudget)
    let tolerance = limits.pause * (limits.burst - 1)
    guard let index = meters.firstIndex(where: { $0.identity == client.identity }) else {
      if meters.count >= limits.rememberedClients { meters.removeFirst() }
      meters.append(Meter(identity: client.identity, due: now + pause))
      return true
    }
    let base = max(meters[index].due, now)
    guard base <= now + tolerance else { return false }
    meters[index].due = base + pause
    return true
  }

  /// A test packet from the proven address of a session.
  package mutating func handle(
    _ packet: ProbePacketFrame, from session: UInt32, ecn: UInt8, now: Instant
  ) {
    guard let index = index(of: session) else { return }
    places[index].run.handle(packet, ecn: ecn, now: now)
  }

  package mutating func handleTimeout(now: Instant) {
    for index in places.indices { places[index].run.handleTimeout(now: now) }
    places.removeAll { $0.run.isForgotten(now: now) }
  }

  // MARK: - Commands

  /// The session's packets come from another address: nothing that was asked for goes on.
  package mutating func stop(_ session: UInt32) {
    for index in places.indices where places[index].client.session == session {
      places[index].run.stop()
    }
  }

  /// The session is over: nothing more is sent.
  package mutating func drop(_ session: UInt32) {
    if places.isEmpty && refusals.isEmpty { return }
    places.removeAll { $0.client.session == session }
    refusals.removeAll { $0.session == session }
  }

  /// Ends all runs and begins none, until `open`.
  package mutating func close(_ status: ProbeAnswerFrame.Status) {
    guard closedFor != status else { return }
    closedFor = status
    for index in places.indices { places[index].run.end(status) }
  }

  package mutating func open() { closedFor = nil }

  // MARK: - Outputs

  /// A session with something due; `nil` when there is none.
  package func nextSession(now: Instant) -> UInt32? {
    if let refusal = refusals.first { return refusal.session }
    for place in places {
      if let deadline = place.run.nextDeadline, deadline <= now, place.run.hasWordsDue(now: now) {
        return place.client.session
      }
    }
    return nil
  }

  /// Writes the frames of the next packet to a session behind the header that is there.
  @_lifetime(packet: copy packet)
  package mutating func writeFrames(
    to session: UInt32, into packet: inout OutputSpan<UInt8>, tagByteCount: Int, now: Instant
  ) -> Bool {
    if let index = refusals.firstIndex(where: { $0.session == session }) {
      refusals.remove(at: index).answer.write(to: &packet)
      return true
    }
    guard let index = index(of: session) else { return false }
    return places[index].run.writeFrames(into: &packet, tagByteCount: tagByteCount, now: now)
  }

  package var nextDeadline: Instant? {
    if places.isEmpty { return refusals.isEmpty ? nil : .zero }
    var next: Instant? = refusals.isEmpty ? nil : .zero
    for place in places { next = earliest(next, place.run.nextDeadline) }
    return next
  }

  // MARK: - Getters

  /// Runs under way.
  package var runCount: Int { places.count { !$0.run.isOver } }

  private func index(of session: UInt32) -> Int? {
    places.firstIndex { $0.client.session == session }
  }

  private static let refusalLimit = 16
  /// A request with a higher number than so is part of a run that we have forgotten.
  private static let latestFirst: UInt32 = 400
}
