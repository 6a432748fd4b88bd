internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// What one echo came to.
struct EchoOutcome: Sendable, Equatable {
  /// What the rendezvous said of it; `nil` = nothing.
  var status: EchoFrame.Status?
  /// The echo, where it was to be heard.
  var echo: HeardEcho?
}

/// Asking the rendezvous for echoes (docs/protocol/frames.md §12).
extension Endpoint {
  /// Whether it only examines: then nothing that is offered is used.
  var isExaminer: Bool { driver.readMachine { $0.configuration.asksForRelays } }

  /// By which another program of the identity names this one.
  var presenceID: PresenceID { driver.readMachine { $0.presenceID } }

  /// Sends one request.
  func askForEcho(_ request: EchoRequestFrame, byteCount: Int) {
    driver.withMachine { machine, now in
      machine.askForEcho(request, byteCount: byteCount, now: now)
    }
  }

  /// What came for a token.
  func outcome(of token: UInt64) -> EchoOutcome {
    var outcome = EchoOutcome()
    for heard in driver.readMachine({ $0.heardEchoes }) where heard.frame.token == token {
      if heard.frame.status == .echo {
        outcome.echo = outcome.echo ?? heard
      } else {
        outcome.status = heard.frame.status
      }
    }
    return outcome
  }

  /// Says nothing by itself from now on.
  func hush() { driver.withMachine { machine, _ in machine.hush() } }

  /// Waits until the rendezvous has answered, at most until `deadline`; whether it is registered.
  func isRegistered(by deadline: Instant) async -> Bool {
    while registration == .connecting, SystemClock.now < deadline, !Task.isCancelled {
      await pause(.milliseconds(10))
    }
    if case .registered = registration { return true }
    return false
  }

  /// Asks up to three times, and listens here and at another program of the identity.
  ///
  /// - Parameters:
  ///   - hearer: Who is to hear the echo; `nil` = this one.
  ///   - wait: How long each answer may take.
  func ask(
    _ source: EchoRequestFrame.Source, byteCount: Int? = nil, echoByteCount: Int? = nil,
    heardBy hearer: Endpoint? = nil, wait: Duration
  ) async -> EchoOutcome {
    var random = RandomSource.system
    let presence = await hearer?.presenceID ?? .every
    let echoed = echoByteCount ?? EchoRequestFrame.payloadByteCounts.lowerBound
    let request = EchoRequestFrame(
      token: random.next(), presence: presence, source: source, payloadByteCount: echoed)
    var outcome = EchoOutcome()
    for _ in 0..<3 where !Task.isCancelled {
      askForEcho(request, byteCount: byteCount ?? echoed + Self.roomForNotice)
      let end = SystemClock.now + wait
      while SystemClock.now < end, !Task.isCancelled {
        await pause(.milliseconds(10))
        outcome = self.outcome(of: request.token)
        if let hearer { outcome.echo = await hearer.outcome(of: request.token).echo }
        if outcome.echo != nil { return outcome }
        if let status = outcome.status, status != .sent { return outcome }
      }
    }
    return outcome
  }

  /// A request has room for what else it draws.
  private static var roomForNotice: Int { 64 }
}
