import Congestion
import Messaging
import Primitives
import Wire

/// What one client has under way: messages, an answer that is owed, an address to be proven. Made
/// when something begins and given back when all is done; at rest a client has none.
struct Exchange: Sendable {
  /// Whose it is.
  var slot: UInt32
  /// Not used until a message moves in either direction: see `wake`. (Not an optional: reading one
  /// in place would copy it.)
  var channel = Exchange.unusedChannel
  private(set) var hasChannel = false
  var arrivals = ArrivalRing()
  var flight = FlightRing()
  /// PONGs owed: the last of several at once.
  var pong: PongFrame?
  var pathResponse: PathResponseFrame?
  /// A PATH_RESPONSE to an address that is not the proven one, in a packet of its own.
  var strayResponse: (frame: PathResponseFrame, to: DatagramPath)?
  /// An address that the client seems to have moved to.
  var move: AddressMove?
  /// FORWARDED messages that the client has not acknowledged, at most 64, and 64 answers.
  var forwards: [OpenForward] = []
  /// When it next has something to do by itself; kept by the wheel.
  var alarm: UInt64?

  /// When the client last acknowledged something, or a message to it was last begun.
  private(set) var hope = Instant.zero

  /// A FORWARDED on its way.
  struct OpenForward: Sendable {
    var tag: MessageTag
    /// Whose it is, to count by pair.
    var from: PeerID
    /// Where it is from, to count by network; `nil` for an answer.
    var network: UInt64?
    var byteCount: Int
  }

  private static let unusedChannel = MessageChannel(limits: .rendezvous)

  /// Lets the channel go on where it left off; harmless when it already does.
  mutating func wake(_ resting: RestingState) {
    if hasChannel { return }
    hasChannel = true
    channel = MessageChannel(resting: resting)
  }

  /// The slot of a place that is not in use.
  static let noSlot = UInt32.max

  init(slot: UInt32) { self.slot = slot }

  /// Whether a packet to the client is worth sending now.
  var hasFramesToSend: Bool {
    arrivals.isDue || pong != nil || pathResponse != nil || strayResponse != nil
      || (hasChannel && channel.hasFramesToSend)
  }

  /// The same, or a challenge to a new address.
  var hasPacketToSend: Bool { hasFramesToSend || move?.isChallengeDue ?? false }

  /// When `handleTimeout` has something to do.
  func nextDeadline(patience: Duration) -> Instant? {
    var next = move?.nextDeadline
    if hasChannel {
      if !channel.isSenderIdle { next = earliest(next, hope + patience) }
      next = earliest(next, channel.nextDeadline)
      next = earliest(next, flight.nextDeadline)
      next = earliest(next, channel.oldestReassembly.map { $0 + Exchange.reassemblyLife })
    }
    return next
  }

  /// What to keep of it when nothing is under way any more; `nil` while something is.
  func rest(_ known: RestingState) -> RestingState? {
    guard !hasFramesToSend, move == nil else { return nil }
    guard hasChannel else { return known }
    return channel.resting
  }

  /// Writes what is owed to the proven address, most urgent first; whether MSG frames are among it.
  @_lifetime(packet: copy packet)
  mutating func writeFrames(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    if let pong = pong.take() { pong.write(to: &packet) }
    if let response = pathResponse.take() { response.write(to: &packet) }
    if arrivals.isDue {
      arrivals.write(into: &packet, now: now)
      if hasChannel, let credit = channel.takeCredit() { credit.write(to: &packet) }
    }
    let room = packet.freeCapacity - Exchange.tagByteCount
    return hasChannel && channel.writeFrames(into: &packet, room: room)
  }

  /// A message to the client begins.
  mutating func noteMessage(now: Instant) { hope = now }

  /// Whether a message was begun so lately that its acknowledgement may be on its way.
  func mayBeAnswered(now: Instant) -> Bool {
    hasChannel && !channel.isSenderIdle && hope + Self.freshness > now
  }

  /// A long round trip.
  private static let freshness = Duration.seconds(1)

  /// Whether messages have waited for an acknowledgement for `patience`, and nothing came.
  func isHopeless(patience: Duration, now: Instant) -> Bool {
    hasChannel && !channel.isSenderIdle && hope + patience <= now
  }

  /// What to keep of it when it is given up; `nil` when the session cannot go on without it.
  func givenUp(_ known: RestingState) -> RestingState? {
    guard hasChannel else { return known }
    return channel.givenUp
  }

  /// The packet last written went out.
  mutating func didSend(_ number: UInt32, now: Instant) {
    channel.didSend(UInt64(number), now: now)
    if !flight.record(number, now: now) {
      // The channel has given the oldest one up too, to be allowed a probe.
      flight.forgetOldest()
      _ = flight.record(number, now: now)
    }
  }

  private static let tagByteCount = 16

  /// Takes a FEEDBACK: what arrived, what is lost.
  mutating func handle(_ frame: FeedbackFrame, in packet: Span<UInt8>, now: Instant) {
    guard hasChannel else { return }
    flight.takeSample(frame.header, now: now)
    var entries = frame.entries(in: packet)
    while let entry = entries.next() {
      guard entry.isReceived, flight.acknowledge(entry.number) else { continue }
      channel.packetAcknowledged(UInt64(entry.number))
      hope = now
    }
    if flight.roundTrip.hasSample { channel.updateProbeTimeout(flight.roundTrip.probeTimeout) }
    loseOld(now: now)
  }

  /// Repeats what is due; the move is the machine's.
  mutating func handleTimeout(now: Instant) {
    loseOld(now: now)
    channel.handleTimeout(now: now)
  }

  /// Whether a message has been half here for longer than anybody repeats it (§9).
  func isStale(now: Instant) -> Bool {
    guard hasChannel, let began = channel.oldestReassembly else { return false }
    return began + Exchange.reassemblyLife <= now
  }

  private mutating func loseOld(now: Instant) {
    while let number = flight.takeLost(now: now) { channel.packetLost(UInt64(number)) }
  }

  /// The 8 s of docs/protocol/session.md §9, and time for the notice of the sender's giving up.
  static let reassemblyLife = Duration.seconds(12)
}

/// A client's packets come from a new address, which must answer a challenge before anything else
/// is sent there (docs/protocol/rendezvous.md §2).
struct AddressMove: Sendable {
  let path: DatagramPath
  /// What the answer must hold.
  let token: UInt64
  /// Challenges sent, of at most `limit`; each answers a packet from there that was no shorter.
  var sentCount = 0
  /// Goes with the next challenge.
  var pong: PongFrame?
  /// A packet came that allows one more.
  var isChallengeDue = true
  var lastChallenge: Instant?
  let began: Instant

  static let limit = 5
  /// Not more often than this, however many packets come.
  static let pace = Duration.milliseconds(100)
  static let life = Duration.seconds(3)

  init(to path: DatagramPath, token: UInt64, now: Instant) {
    self.path = path
    self.token = token
    began = now
  }

  /// When the address has failed.
  var nextDeadline: Instant { began + Self.life }

  mutating func noteChallenge(now: Instant) {
    sentCount += 1
    isChallengeDue = false
    lastChallenge = now
  }

  /// Another packet came from there.
  mutating func noteArrival(now: Instant) {
    guard sentCount < Self.limit else { return }
    if let lastChallenge, lastChallenge + Self.pace > now { return }
    isChallengeDue = true
  }
}
