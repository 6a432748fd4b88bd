internal import Primitives
internal import Reactor
internal import Wire

/// What gets in, how long packets may be, and how long silence may last: by echoes of the
/// rendezvous (docs/protocol/frames.md §12).
extension Diagnostician {
  /// Tries the line of a fresh socket, which has written to nobody but `place`.
  func examine(
    _ endpoint: Endpoint, at place: Place, of places: [Place], wait: Duration
  ) async throws(EarshotError) -> LineTrials {
    var trials = LineTrials()
    let first = await endpoint.ask(.usual, wait: wait)
    guard first.echo != nil else {
      trials.giveUp(first, isLong: plan.measuresLifetime)
      return trials
    }
    try await examineFiltering(endpoint, at: place, of: places, &trials, wait: wait)
    await measureLengths(endpoint, &trials, overhead: place.address.headerByteCount, wait: wait)
    return trials
  }

  private func examineFiltering(
    _ endpoint: Endpoint, at place: Place, of places: [Place], _ trials: inout LineTrials,
    wait: Duration
  ) async throws(EarshotError) {
    let others = places.filter { Self.isElsewhere($0, from: place) }
    var otherAddress: Bool?
    for other in others where otherAddress == nil {
      otherAddress = try await hears(endpoint, from: other, wait: wait)
    }
    let outcome = await endpoint.ask(.otherPort, wait: wait)
    var otherPort: Bool?
    if outcome.echo != nil { otherPort = true }
    if outcome.echo == nil, outcome.status == .sent { otherPort = false }
    trials.filtering = Filtering(otherPort: otherPort, otherAddress: otherAddress)
    if otherPort == nil, otherAddress != true {
      trials.filteringUntested = outcome.reason
    } else if trials.filtering == .notByPort {
      trials.filteringUntested = others.isEmpty ? EchoOutcome.oneAddress : EchoOutcome.noWord
    }
  }

  /// Whether a packet from another address of the same rendezvous gets in; `nil` = it has none
  /// there.
  private func hears(
    _ endpoint: Endpoint, from other: Place, wait: Duration
  ) async throws(EarshotError) -> Bool? {
    let asker = try await open(other, bind: anyPort)
    var isHeard: Bool?
    if await asker.isRegistered(by: SystemClock.now + .seconds(2)) {
      let outcome = await asker.ask(.asker, heardBy: endpoint, wait: wait)
      if outcome.echo != nil { isHeard = true }
      if outcome.echo == nil, outcome.status == .sent { isHeard = false }
    }
    await asker.close()
    return isHeard
  }

  private static func isElsewhere(_ other: Place, from place: Place) -> Bool {
    other.address.family == place.address.family && !other.address.isSameHost(as: place.address)
  }

  /// How long packets may be each way; `overhead` is that of UDP and IP.
  private func measureLengths(
    _ endpoint: Endpoint, _ trials: inout LineTrials, overhead: Int, wait: Duration
  ) async {
    var search = EchoLengthSearch(EchoRequestFrame.payloadByteCounts)
    while let (request, echo) = search.next {
      let outcome = await endpoint.ask(
        .usual, byteCount: request, echoByteCount: echo, wait: wait)
      guard outcome.echo != nil || outcome.status == nil else {
        trials.packetSizeUntested = outcome.reason
        return
      }
      search.recordOutcome(hasPassed: outcome.echo != nil)
    }
    trials.largestUplinkPacket = search.longestRequest.map { $0 + overhead }
    trials.largestDownlinkPacket = search.longestEcho.map { $0 + overhead }
    if search.longestEcho == nil { trials.packetSizeUntested = EchoOutcome.noEchoes }
  }

  /// How long silence may last (`--long`); `nil` = it could not be tried.
  func measureLifetime(at place: Place) async throws(EarshotError) -> MappingLifetime? {
    let asker = try await open(place, bind: anyPort)
    var search = LifetimeSearch()
    var hasOutcome = false
    if await asker.isRegistered(by: SystemClock.now + plan.patience) {
      while !search.nextRound.isEmpty {
        let outcomes = try await listen(search.nextRound, at: place, asker)
        hasOutcome = hasOutcome || !outcomes.isEmpty
        if outcomes.isEmpty { search.giveUp() } else { search.recordOutcomes(outcomes) }
      }
    }
    await asker.close()
    guard hasOutcome else { return nil }
    return MappingLifetime(
      atLeastSeconds: search.atLeast.inMilliseconds / 1000,
      lessThanSeconds: search.lessThan.map { $0.inMilliseconds / 1000 })
  }

  /// One round: a fresh socket for each silence.
  private func listen(
    _ silences: [Duration], at place: Place, _ asker: Endpoint
  ) async throws(EarshotError) -> [(silence: Duration, isAlive: Bool)] {
    var sockets: [(silence: Duration, endpoint: Endpoint, since: Instant)] = []
    for silence in silences where !Task.isCancelled {
      let endpoint = try await open(place, bind: anyPort)
      guard await endpoint.isRegistered(by: SystemClock.now + plan.patience) else {
        await endpoint.close()
        continue
      }
      // What the registration still has to say is said by then.
      await endpoint.pause(.milliseconds(300))
      await endpoint.hush()
      sockets.append((silence, endpoint, SystemClock.now))
    }
    var outcomes: [(silence: Duration, isAlive: Bool)] = []
    for (silence, endpoint, since) in sockets {
      while SystemClock.now < since + silence, !Task.isCancelled {
        await asker.pause(min(.milliseconds(100), since + silence - SystemClock.now))
      }
      let outcome = await asker.ask(.usual, heardBy: endpoint, wait: .milliseconds(500))
      if outcome.echo != nil { outcomes.append((silence, true)) }
      if outcome.echo == nil, outcome.status == .sent { outcomes.append((silence, false)) }
      await endpoint.close()
    }
    return outcomes
  }
}

extension LineTrials {
  /// Nothing that takes echoes is tried: not even the first came.
  mutating func giveUp(_ first: EchoOutcome, isLong: Bool) {
    let reason = first.status == nil ? EchoOutcome.noEchoes : first.reason
    filteringUntested = reason
    packetSizeUntested = reason
    if isLong { lifetimeUntested = reason }
  }
}

extension EchoOutcome {
  /// Why no echo was sent, as far as the rendezvous has said.
  var reason: String {
    switch status {
    case .noOtherPort: "the rendezvous has no other port to send from"
    case .tooMany: "the rendezvous was asked too often from this network"
    default: Self.noWord
    }
  }

  static let noEchoes =
    "the rendezvous sends no echoes: it is of an older version, or they were lost"
  static let noWord = "the rendezvous did not say what became of the question"
  static let oneAddress = "the rendezvous was asked at one address only"
}
