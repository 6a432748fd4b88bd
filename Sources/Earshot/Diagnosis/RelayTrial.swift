internal import Peer
internal import Primitives
internal import Relay

/// Asks one TURN server for a relay, and times its answers.
struct RelayTrial: DatagramMachine, RelayStreamMachine {
  enum Event: Sendable, Equatable {
    case relay(RelayEvent)
    case stream(RelayStreamAction)
  }

  private var roster: RelayRoster
  /// When the last request left, and how many have since the last answer.
  private var askedAt = Instant.zero
  private var unanswered = 0
  /// The least time from a request to its answer.
  private(set) var roundTrip: Duration?

  init(_ server: RelayServer, random: RandomSource) {
    roster = RelayRoster([server], random: random)
  }

  mutating func start(now: Instant) { roster.start(now: now) }
  mutating func close(now: Instant) { roster.close(now: now) }
  mutating func relayStreamOpened(_ stream: LocalAddressID, now: Instant) {
    roster.streamOpened(stream, now: now)
  }
  mutating func relayStreamEnded(
    _ stream: LocalAddressID, _ error: RelayError, now: Instant
  ) { roster.streamEnded(stream, error, now: now) }

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    guard roster.owns(source, at: marks.local) else { return }
    // Which of two sendings is answered cannot be told (RFC 6298 §3).
    if unanswered == 1 { roundTrip = min(roundTrip ?? (now - askedAt), now - askedAt) }
    unanswered = 0
    _ = roster.handle(bytes.span, from: source, at: marks.local, now: now)
  }

  mutating func handleTimeout(now: Instant) { roster.handleTimeout(now: now) }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard let path = roster.pollTransmit(into: &packet, now: now) else { return nil }
    askedAt = now
    unanswered += 1
    return path
  }

  mutating func pollEvent() -> Event? {
    if let action = roster.pollStreamAction() { return .stream(action) }
    return roster.pollEvent().map { .relay($0) }
  }

  var nextDeadline: Instant? { roster.nextDeadline }
}
