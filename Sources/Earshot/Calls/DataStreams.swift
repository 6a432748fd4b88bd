internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// How messages of one of a call's streams are sent (`Call.setDataStream`).
public struct DataStreamOptions: Sendable, Equatable {
  /// They are delivered in the order in which they were sent. A message that is given up is skipped
  /// then.
  public var isOrdered = true
  /// What is lost is sent again until `lifetime` is over; without that it is given up.
  public var isReliable = true
  /// They are delivered when the own audio of their moment is heard, and at once where none is sent
  /// or heard.
  public var isSynchronized = false
  /// They are many, and can wait: they go behind audio, video and all other messages of the call,
  /// as fast as those leave room (`Call.setReceiveWindow` at the other side). Decided while none of
  /// the stream waits.
  public var isBulk = false
  /// How long a message is tried, 0.1 to 60 s.
  public var lifetime = Duration.seconds(30)

  /// What `lifetime` may be.
  public static let lifetimes = Duration.milliseconds(100)...Duration.seconds(60)

  /// Ordered and reliable, for 30 s.
  public init() {}
}

extension Call {
  /// How messages of a stream are sent from now on.
  ///
  /// - Parameters:
  ///   - stream: 8...127; at most 15 of one call.
  ///   - options: ordered and reliable unless set.
  /// - Throws: `invalidArgument` outside these ranges, `callState` when the call is over.
  public func setDataStream(
    _ stream: UInt8, _ options: DataStreamOptions
  ) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try endpoint.change(id) { record throws(EarshotError) in
        try record.data.set(stream, options)
      }
    }
  }

  /// Makes room for messages that are on their way to this side: so many bytes may be under way
  /// before the other side waits for this one. For streams that are bulk there
  /// (`DataStreamOptions.isBulk`): what a line holds under way, its rate by its round trip, is the
  /// least for its full rate.
  ///
  /// - Parameter byteCount: 131 072 (what it is unless set) to 4 194 304; it never shrinks.
  /// - Throws: `invalidArgument` outside this range, `callState` before the call is answered or
  ///   when it is over.
  public func setReceiveWindow(_ byteCount: Int) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      guard (131_072...4_194_304).contains(byteCount) else {
        throw .invalidArgument(
          "A window cannot have \(byteCount) bytes.", advice: "Use 131072 to 4194304.")
      }
      let callID = endpoint.resolve(id)
      try endpoint.command { machine, _ throws(PeerRefusal) in
        try ApplicationMessage.makeRoom(byteCount, on: callID, in: &machine)
      }
    }
  }

  /// Sends a message of at most 65 536 bytes on a stream of the application: reliable and in order,
  /// unless `setDataStream` says otherwise.
  ///
  /// - Parameters:
  ///   - message: its bytes.
  ///   - stream: 8...127.
  /// - Returns: What `CallProgress.messageDelivery` will name.
  @discardableResult
  public func send(_ message: [UInt8], stream: UInt8 = 8) async throws(EarshotError) -> UInt64 {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try endpoint.send(id, message, stream: stream)
    }
  }
}

/// What a call keeps of its messages: how each stream's are sent, and those that have come and wait
/// for their sound. Pure.
struct DataStreams {
  private var options: [UInt8: DataStreamOptions] = [:]
  private var waiting: [Waiting] = []
  private var waitingByteCount = 0
  /// When the waiting ones will be looked at; `nil` = nobody will.
  private var wakeUp: Instant?

  private struct Waiting {
    let stream: UInt8
    let bytes: [UInt8]
    let due: Instant
  }

  mutating func set(_ stream: UInt8, _ options: DataStreamOptions) throws(EarshotError) {
    try Self.check(stream)
    guard DataStreamOptions.lifetimes.contains(options.lifetime) else {
      throw .invalidArgument(
        "A message cannot be tried for \(options.lifetime).", advice: "Use 0.1 to 60 s.")
    }
    guard self.options[stream] != nil || self.options.count < Self.mostStreams else {
      throw .invalidArgument(
        "The call has \(Self.mostStreams) streams already.", advice: "Use one of them.")
    }
    self.options[stream] = options
  }

  /// What is to be sent.
  ///
  /// - Parameter heard: media time of the own audio, in nanoseconds; `nil` = none is sent.
  func message(
    _ bytes: [UInt8], stream: UInt8, heard: Int64?
  ) throws(EarshotError) -> ApplicationMessage {
    try Self.check(stream)
    let chosen = options[stream] ?? DataStreamOptions()
    var message = ApplicationMessage(bytes, stream: stream)
    message.isOrdered = chosen.isOrdered
    message.isReliable = chosen.isReliable
    message.isBulk = chosen.isBulk
    message.life = chosen.lifetime
    if chosen.isSynchronized, let heard {
      message.mediaTime = UInt16(truncatingIfNeeded: heard / 10_000_000)
    }
    return message
  }

  private static func check(_ stream: UInt8) throws(EarshotError) {
    guard (8...127).contains(stream) else {
      throw .invalidArgument("\(stream) is not a stream.", advice: "Use 8 to 127.")
    }
  }

  /// How long a message has to wait for its sound; zero where it is to be told at once.
  ///
  /// - Parameters:
  ///   - mediaTime: of the other side's audio, in 10 ms.
  ///   - heard: what of that is heard now, in nanoseconds; `nil` = nothing.
  static func wait(for mediaTime: UInt16, heard: Int64?) -> Duration {
    guard let heard else { return .zero }
    let now = UInt16(truncatingIfNeeded: heard / 10_000_000)
    let steps = Int64(Int16(bitPattern: mediaTime &- now))
    guard steps > 0, steps <= longestWait else { return .zero }
    return .milliseconds(10 * steps)
  }

  /// Keeps a message until then, or until too many wait.
  mutating func hold(_ stream: UInt8, _ bytes: [UInt8], until due: Instant) {
    // Behind those of the same time, which came before.
    let place = waiting.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
    waiting.insert(Waiting(stream: stream, bytes: bytes, due: due), at: place)
    waitingByteCount += bytes.count
  }

  /// Those whose time has come, in the order of their time. Where too many wait, the next ones do
  /// not wait any longer: a peer that sends for far ahead fills no memory.
  mutating func takeDue(now: Instant) -> [CallProgress] {
    var count = 0
    while count < waiting.count {
      let hasRoom =
        waiting.count - count <= Self.mostWaiting && waitingByteCount <= Self.mostWaitingBytes
      if hasRoom, waiting[count].due > now { break }
      waitingByteCount -= waiting[count].bytes.count
      count += 1
    }
    defer { waiting.removeFirst(count) }
    return waiting.prefix(count).map { .message(stream: $0.stream, $0.bytes) }
  }

  /// All of them: the call is over.
  mutating func takeAll() -> [CallProgress] {
    defer { waiting.removeAll() }
    waitingByteCount = 0
    return waiting.map { .message(stream: $0.stream, $0.bytes) }
  }

  /// When somebody is to be woken who was not yet: the next one is due before any that sleeps.
  mutating func takeWakeUp() -> Instant? {
    guard let next = waiting.first?.due, wakeUp.map({ next < $0 }) ?? true else { return nil }
    wakeUp = next
    return next
  }

  /// Whoever slept until then is awake.
  mutating func handleWakeUp(at due: Instant) {
    if wakeUp == due { wakeUp = nil }
  }

  /// Messages that wait for their sound.
  var waitingCount: Int { waiting.count }

  /// The other side keeps 32 streams of this one, of both kinds, its own among them.
  private static let mostStreams = 15
  /// In 10 ms: what is further ahead belongs to no sound that will be heard.
  private static let longestWait: Int64 = 500
  /// What may wait for its sound: 50 messages a second for the longest time.
  static let mostWaiting = 256
  static let mostWaitingBytes = 1 << 20
}

extension CallRecord {
  /// The other side has sent a message; one with a time waits for its sound.
  func deliver(
    _ stream: UInt8, _ bytes: [UInt8], mediaTime: UInt16?, for endpoint: isolated Endpoint,
    _ callID: Wire.CallID
  ) {
    let now = SystemClock.now
    let wait = mediaTime.map { DataStreams.wait(for: $0, heard: heardMediaTime(now: now)) } ?? .zero
    data.hold(stream, bytes, until: now + wait)
    endpoint.publish(data.takeDue(now: now), of: callID)
    sleepUntilDue(for: endpoint, callID)
  }

  /// One sleeps for all, and wakes for the next.
  private func sleepUntilDue(for endpoint: isolated Endpoint, _ callID: Wire.CallID) {
    guard let due = data.takeWakeUp() else { return }
    Task {
      await endpoint.rest(due - SystemClock.now)
      guard !isOver, !endpoint.isClosed else { return }
      data.handleWakeUp(at: due)
      endpoint.publish(data.takeDue(now: SystemClock.now), of: callID)
      sleepUntilDue(for: endpoint, callID)
    }
  }

  /// Of the other side's audio, in nanoseconds; `nil` while none is heard.
  private func heardMediaTime(now: Instant) -> Int64? {
    guard let clock = audio?.rings.heardClock, clock.lastNote != nil,
      !streams.isRemoteAudioMuted, !streams.isRemoteAudioUnwanted
    else { return nil }
    return clock.nanoseconds(at: now)
  }
}
