import Forwarding
import Primitives
import Wire

/// One end of a call at a relay that forwards for pairs (docs/protocol/relay.md §6): asks the
/// rendezvous for a ticket, binds the own address with it, and keeps it bound.
struct PairBinding {
  /// What became of a PAIR_BOUND.
  enum Finding: Equatable {
    /// Not an answer to what was asked.
    case ignored
    case noted
    /// Both ends are bound: a check may get through.
    case open
  }

  private(set) var ticket: PairTicket?
  /// The callee's program in the call that the ticket is for.
  private var program: PresenceID?
  private var askAt: Instant?
  private var askCount = 0
  private var bindAt: Instant?
  private var number: UInt64 = 0
  private var cookie = Bytes16.zero
  /// PAIR_BIND since the last answer, and answers in a row that only brought a cookie.
  private var unanswered = 0
  private var cookieCount = 0
  private var told = PairIDs()
  private(set) var isBound = false
  private var isOver = false
  private var ending: Instant?

  /// Where the relay is, as one more candidate of the peer.
  var address: SocketAddress? { isOver ? nil : ticket?.address }

  var nextDeadline: Instant? { earliest(earliest(askAt, bindAt), ending) }

  // MARK: - The ticket

  /// A path is looked for; the first time, and for another program, a ticket is wanted.
  mutating func seek(_ program: PresenceID, now: Instant) {
    guard !isOver else { return }
    if self.program == program, ticket != nil || askAt != nil || askCount >= Self.mostAsked {
      return
    }
    let next = number
    self = PairBinding()
    number = next
    self.program = program
    askAt = now
  }

  /// The next PAIR that is due.
  ///
  /// - Parameter hasPairs: Whether the rendezvous may name relays for pairs.
  mutating func pollRequest(
    to peer: PeerID, of call: CallID, hasPairs: Bool, now: Instant
  ) -> PairRequest? {
    guard let due = askAt, due <= now, let program else { return nil }
    guard hasPairs, askCount < Self.mostAsked else {
      askAt = nil
      return nil
    }
    askCount += 1
    askAt = now + Self.askPause
    return PairRequest(peer: peer, call: call, program: program)
  }

  /// What the rendezvous answers.
  ///
  /// - Returns: Whether the two have to write to each other again: the call has gone on for so long
  ///   that its ticket has ended, and only those get another one who have.
  @discardableResult
  mutating func handle(_ result: PairResult, now: Instant) -> Bool {
    guard result.program == program, !isOver else { return false }
    switch result.answer {
    case .granted(let granted):
      guard askCount > 0, !granted.address.isUnsendable else { return false }
      if granted.address != ticket?.address || granted.pair != ticket?.pair {
        cookie = .zero
        unanswered = 0
        isBound = false
      }
      ticket = granted
      askAt = nil
      // The same pair again: the relay is the same one, and answers no sooner for that.
      if unanswered == 0 { bindAt = now }
    case .noRelay:
      // One that was there may come back.
      askAt = number > 0 ? now + Self.fullPause : nil
      askCount = number > 0 ? askCount - 1 : Self.mostAsked
    case .notKnown: return ticket != nil
    case .tooMany: break
    }
    return false
  }

  /// The relay does not know the ticket any more, or does not answer: another one is asked for. The
  /// present one is good until it is there: a few packets that get lost do not end a call.
  private mutating func askAgain(now: Instant) {
    isBound = false
    askCount = min(askCount, Self.mostAsked - 1)
    askAt = askAt ?? now
  }

  // MARK: - Binding

  /// The own address may be another one, or the peer's: the binding is renewed now.
  mutating func hurry(now: Instant) {
    guard !isOver, program != nil else { return }
    askCount = 0
    guard ticket != nil else {
      if number > 0 { askAt = askAt ?? now }
      return
    }
    bindAt = now
    unanswered = 0
  }

  /// The call is over: the binding ends after its last packets.
  mutating func end(now: Instant) {
    guard !isOver else { return }
    isOver = true
    askAt = nil
    bindAt = nil
    if ticket != nil { ending = now + Self.lastPackets }
  }

  /// Writes the PAIR_BIND that is due; where it goes.
  ///
  /// - Parameter ids: Connection IDs of the peer that we send to now.
  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, ids: @autoclosure () -> PairIDs, now: Instant
  ) -> DatagramPath? {
    guard let ticket else { return nil }
    if isOver {
      guard let ending, ending <= now else { return nil }
      self.ending = nil
      self.ticket = nil
      append(ticket, isEnd: true, to: &packet)
      return DatagramPath(ticket.address)
    }
    let ids = ids()
    // The relay lets few packets through whose connection ID it was not told of. Before there is a
    // cookie its answer draws the next PAIR_BIND at once.
    let isNew = ids != told && (isBound || cookie != .zero)
    guard let due = bindAt, due <= now || isNew else { return nil }
    if isNew { unanswered = 0 }
    if unanswered >= Self.gaps.count { askAgain(now: now) }
    told = ids
    bindAt = now + Self.gap(after: unanswered)
    unanswered += 1
    append(ticket, isEnd: false, to: &packet)
    return DatagramPath(ticket.address)
  }

  @_lifetime(packet: copy packet)
  private mutating func append(
    _ ticket: PairTicket, isEnd: Bool, to packet: inout OutputSpan<UInt8>
  ) {
    number += 1
    let bind = PairBindPacket(
      pair: ticket.pair, until: ticket.until, side: ticket.side, isEnd: isEnd, number: number,
      cookie: cookie, ids: told)
    packet.append(bytes: bind.sealed(by: ticket.key))
  }

  /// Takes a PAIR_BOUND.
  mutating func handle(
    _ bound: PairBoundPacket, _ bytes: Span<UInt8>, from source: SocketAddress, now: Instant
  ) -> Finding {
    guard let ticket, !isOver, source == ticket.address, bound.pair == ticket.pair,
      bound.number <= number, number - bound.number < 8, bound.isAuthentic(bytes, ticket.key)
    else { return .ignored }
    unanswered = 0
    switch bound.status {
    case .cookie:
      cookie = bound.cookie
      cookieCount += 1
      // A relay that never takes its own cookie is not asked in a circle.
      bindAt = cookieCount <= Self.mostCookies ? now : now + Self.fullPause
      return .noted
    case .bound:
      cookieCount = 0
      isBound = true
      bindAt = now + Self.renewal
      return bound.isOtherBound ? .open : .noted
    case .full:
      isBound = false
      bindAt = now + Self.fullPause
      return .noted
    case .ended:
      bindAt = now + Self.fullPause
      askAgain(now: now)
      return .noted
    }
  }

  private static let mostAsked = 8
  private static let askPause = Duration.milliseconds(500)
  private static let renewal = Duration.seconds(10)
  private static let fullPause = Duration.seconds(5)
  private static let mostCookies = 3
  /// CLOSE is said three times in half a second.
  private static let lastPackets = Duration.milliseconds(600)
  /// Between a PAIR_BIND and the next where no answer comes; then a second, and twice as long each
  /// time.
  private static let gaps: [Duration] = [
    .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(400),
  ]
  private static let longestGap = Duration.seconds(30)

  private static func gap(after count: Int) -> Duration {
    guard count >= gaps.count else { return gaps[count] }
    return min(.seconds(1) * (1 << min(count - gaps.count, 5)), longestGap)
  }
}
