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
    guard await endpoint.ask(.usual, wait: wait).echo != nil else {
      trials.filteringUntested = Self.noEchoes
      return trials
    }
    var otherAddress: Bool?
    for other in places where otherAddress == nil && Self.isElsewhere(other, from: place) {
      otherAddress = try await hears(endpoint, from: other, wait: wait)
    }
    let outcome = await endpoint.ask(.otherPort, wait: wait)
    var otherPort: Bool?
    if outcome.echo != nil { otherPort = true }
    if outcome.echo == nil, outcome.status == .sent { otherPort = false }
    trials.filtering = Filtering(otherPort: otherPort, otherAddress: otherAddress)
    if otherPort == nil, otherAddress != true {
      trials.filteringUntested = outcome.status == .noOtherPort ? Self.noPort : Self.noWord
    } else if trials.filtering == .notByPort {
      trials.filteringUntested = Self.oneAddress
    }
    let overhead = place.address.headerByteCount
    let up = await longest(endpoint, wait) { length in (length, Self.shortest) }
    let down = await longest(endpoint, wait) { length in (up ?? Self.shortest, length) }
    trials.largestUplinkPacket = up.map { $0 + overhead }
    trials.largestDownlinkPacket = down.map { $0 + overhead }
    return trials
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

  /// The longest packet that is answered, in bytes of UDP payload.
  ///
  /// - Parameter lengths: Of the request and of its echo.
  private func longest(
    _ endpoint: Endpoint, _ wait: Duration, _ lengths: (Int) -> (request: Int, echo: Int)
  ) async -> Int? {
    var search = PacketLengthSearch(EchoRequestFrame.payloadByteCounts)
    while let length = search.next {
      let (request, echo) = lengths(length)
      let outcome = await endpoint.ask(
        .usual, byteCount: request, echoByteCount: min(echo, request), wait: wait)
      search.note(length, hasPassed: outcome.echo != nil)
    }
    return search.longest
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
        if outcomes.isEmpty { search.giveUp() } else { search.note(outcomes) }
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
    for silence in silences {
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
      let left = since + silence - SystemClock.now
      if left > .zero { await asker.pause(left) }
      let outcome = await asker.ask(.usual, heardBy: endpoint, wait: .milliseconds(500))
      if outcome.echo != nil { outcomes.append((silence, true)) }
      if outcome.echo == nil, outcome.status == .sent { outcomes.append((silence, false)) }
      await endpoint.close()
    }
    return outcomes
  }

  private static var shortest: Int { EchoRequestFrame.payloadByteCounts.lowerBound }

  private static let noEchoes =
    "the rendezvous sends no echoes: it is of an older version, or they were lost"
  private static let noPort = "the rendezvous has no other port to send from"
  private static let noWord = "the rendezvous did not say what became of the question"
  private static let oneAddress = "the rendezvous was asked at one address only"
}
