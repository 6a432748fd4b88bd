import Calling
import Messaging
import Primitives
import Wire

/// Look-ups and bodies for others, and what the rendezvous says (docs/protocol/rendezvous.md §3).
extension RendezvousLink {
  mutating func lookUp(_ target: CallTarget, request: UInt32, now: Instant) {
    let wanted: LookUp.Target =
      switch target {
      case .name(let name): .name(name)
      case .id(let id): .id(id)
      }
    send(.lookUp(LookUp(request: request, target: wanted)), now: now)
  }

  /// - Parameter program: Which of the peer's programs.
  mutating func forward(
    _ body: [UInt8], to peer: PeerID, _ program: PresenceID,
    about signal: (callID: CallID, type: SignalType), lifeSeconds: UInt16 = 8, now: Instant
  ) {
    let id = ForwardID(random: &random)
    mail.recordFlight(id, about: signal)
    let forward = Forward(id: id, to: peer, presence: program, lifeSeconds: lifeSeconds, body: body)
    send(
      .forward(forward), life: min(Self.messageLife, .seconds(Int64(lifeSeconds))), now: now)
  }

  mutating func send(
    _ message: RendezvousMessage, life: Duration = messageLife, now: Instant
  ) {
    mail.send(
      message, on: isRegistered ? association : nil, life: life,
      limit: configuration.limits.waitingForwards, now: now)
  }

  mutating func handleMessages(now: Instant) {
    while let event = association?.messages.poll() {
      guard let bytes = mail.handleEvent(event) else { continue }
      do throws(WireError) {
        handle(try RendezvousMessage(parsing: bytes.span), now: now)
      } catch {
        association?.countViolation()
      }
    }
  }

  private mutating func handle(_ message: RendezvousMessage, now: Instant) {
    switch message {
    case .lookUpResult(let result): events.append(.found(result))
    case .forwarded(let forwarded):
      guard mail.isNew(forwarded.id, now: now) else { return }
      events.append(
        .forwarded(
          forwarded.body, from: forwarded.from, forwarded.presence, name: forwarded.name))
    case .forwardResult(let result):
      guard let flight = mail.takeFlight(result.id) else { return }
      let failure = ForwardFailure(rawValue: result.status.rawValue)
      let passed = Event.passedOn(count: Int(result.count), flight.callID, flight.type)
      events.append(failure.map { .notForwarded($0, flight.callID, flight.type) } ?? passed)
    case .tokenResult(let result): handleTokenResult(result, now: now)
    case .relays(let offer): events.append(.told(.relaysOffered(offer)))
    case .pairResult(let result): events.append(.pair(result))
    case .channelNotice(let notice): events.append(.channel(notice))
    case .nameReceipt(let message):
      guard message.name == configuration.name, let service = server.keep(message.receipt) else {
        return
      }
      events.append(.told(.nameReceipt(message, of: service)))
    case .channelData(let data): events.append(.channelData(data))
    case .seatsEnded(let ended): events.append(.seatsEnded(ended.seats))
    default: association?.countViolation()  // What only a client says.
    }
  }

  static let messageLife = Duration.seconds(8)
}
