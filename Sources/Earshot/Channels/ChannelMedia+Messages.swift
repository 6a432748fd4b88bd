/// Messages to all members.
extension ChannelMedia {
  /// Sends a message to all who are there: once to the relay, and by calls to those who have no
  /// seat at it. Who comes later does not get it.
  ///
  /// - Parameters:
  ///   - message: 1 to 65 536 bytes.
  ///   - stream: 8...127. Each has an order of its own.
  /// - Returns: What `ChannelMediaStep.messageDelivery` will name; `nil` where nobody is there who
  ///   could get it.
  /// - Throws: `invalidArgument` for another length or stream; `channelState` for who only listens,
  ///   and where too much waits: send it later.
  @discardableResult
  public func send(_ message: [UInt8], stream: UInt8 = 8) async throws(EarshotError) -> UInt64? {
    guard role == .host else {
      throw EarshotError(
        .channelState, "Only a host writes to all.", advice: "Ask for the other role first.")
    }
    guard (1...65_536).contains(message.count) else {
      throw .invalidArgument(
        "A message to a channel cannot have \(message.count) bytes.", advice: "Use 1 to 65536.")
    }
    guard (8...127).contains(stream) else {
      throw .invalidArgument(
        "Stream \(stream) is not for messages of a program.", advice: "Use 8 to 127.")
    }
    return try await carryOut { media in await media.post(message, stream) }.get()
  }

  private func post(_ message: [UInt8], _ stream: UInt8) async -> Result<UInt64?, EarshotError> {
    guard ending == nil else { return .failure(.closed) }
    var parts: Set<ChannelFlights.Part> = []
    var trouble: EarshotError?
    var seated: Set<UInt32> = []
    if way.isRelayed, let relay, await relay.standing.verified > 0 {
      do throws(EarshotError) {
        parts.insert(.relay(try await relay.send(message, stream: stream)))
        for (user, _) in links.linked where await relay.isSeated(user.uid) {
          seated.insert(user.uid)
        }
      } catch {
        trouble = error
      }
    }
    for (user, call) in links.linked where !seated.contains(user.uid) {
      do throws(EarshotError) {
        let link = await channel.endpoint.call(call)
        parts.insert(.call(call, try await link.send(message, stream: stream)))
      } catch {
        // It is not connected yet, or over, or too much waits.
        if error.code == .invalidArgument { trouble = error }
      }
    }
    if let trouble, parts.isEmpty || trouble.code == .invalidArgument { return .failure(trouble) }
    return .success(parts.isEmpty ? nil : flights.begin(parts))
  }
}

/// Own messages to a channel that are under way, each by one way or more.
struct ChannelFlights {
  /// One delivery of a message.
  enum Part: Hashable {
    /// To the relay, for all who have a seat there.
    case relay(UInt64)
    /// By the call with one member.
    case call(CallID, UInt64)
  }

  private struct Flight {
    var parts: Set<Part>
    var isDelivered = true
  }

  private var count: UInt64 = 0
  /// By their tags.
  private var flights: [UInt64: Flight] = [:]

  /// A message is under way.
  ///
  /// - Returns: What names it.
  mutating func begin(_ parts: Set<Part>) -> UInt64 {
    count += 1
    flights[count] = Flight(parts: parts)
    return count
  }

  /// Whether something is under way by a call.
  func names(_ call: CallID) -> Bool {
    flights.values.contains { $0.parts.contains { $0.isBy(call) } }
  }

  /// What a call says of a delivery ends a message, if it was the last one of it.
  mutating func delivery(_ progress: CallProgress, of call: CallID) -> ChannelMediaStep? {
    guard case .messageDelivery(let tag, let isDelivered) = progress else { return nil }
    return finish(.call(call, tag), isDelivered: isDelivered).first
  }

  /// What a step of the relay says of messages; `nil` where it does not.
  mutating func steps(of step: ChannelRelayStep) -> [ChannelMediaStep]? {
    switch step {
    case .message(let uid, let stream, let bytes):
      [.message(uid: uid, stream: stream, bytes)]
    case .messagesMissed(let uid, let stream, let missed, _):
      [.relay(step), .messagesMissed(uid: uid, stream: stream, missed: missed)]
    case .messageDelivery(let tag, let isDelivered):
      finish(.relay(tag), isDelivered: isDelivered)
    default: nil
    }
  }

  /// - Returns: What is to be told.
  mutating func finish(_ part: Part, isDelivered: Bool) -> [ChannelMediaStep] {
    finish(isDelivered: isDelivered) { $0 == part }
  }

  /// Of what was under way by a call nothing more is heard.
  mutating func end(of call: CallID) -> [ChannelMediaStep] {
    finish(isDelivered: false) { $0.isBy(call) }
  }

  /// Nothing more is heard of anything.
  mutating func closeAll() -> [ChannelMediaStep] { finish(isDelivered: false) { _ in true } }

  private mutating func finish(
    isDelivered: Bool, _ isMeant: (Part) -> Bool
  ) -> [ChannelMediaStep] {
    var told: [ChannelMediaStep] = []
    for (tag, flight) in flights.sorted(by: { $0.key < $1.key })
    where flight.parts.contains(where: isMeant) {
      var flight = flight
      flight.parts = flight.parts.filter { !isMeant($0) }
      flight.isDelivered = flight.isDelivered && isDelivered
      flights[tag] = flight.parts.isEmpty ? nil : flight
      guard flight.parts.isEmpty else { continue }
      told.append(.messageDelivery(tag: tag, delivered: flight.isDelivered))
    }
    return told
  }
}

extension ChannelFlights.Part {
  fileprivate func isBy(_ call: CallID) -> Bool {
    if case .call(call, _) = self { true } else { false }
  }
}
