internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Those who read an endpoint's events. Belongs to the endpoint's actor.
struct EventReaders {
  private var continuations: [Int: AsyncStream<HeldEvent>.Continuation] = [:]
  /// The call of each reader that reads of one call alone.
  private var calls: [Int: CallID] = [:]
  private var next = 0
  /// Whether they are told of commands.
  var tracesCommands = false
  /// Nothing happens any more.
  private(set) var hasEnded = false
  private(set) var beginnings = CallBeginnings()
  /// The application's log.
  private var logHandler: (@Sendable (LogEntry) -> Void)?
  /// What was read of messages.
  let read = ReadMessages()

  mutating func begin(_ logHandler: (@Sendable (LogEntry) -> Void)?, for endpoint: Endpoint) {
    self.logHandler = logHandler
    read.begin { [weak endpoint] in
      guard let endpoint else { return }
      Task { await ReadMessages.makeRoom(in: endpoint) }
    }
  }

  /// - Parameter call: To read of it alone until it is over, also under another ID that it goes
  ///   on by; `nil` = everything.
  /// - Returns: the reader's number, for `remove`.
  mutating func add(
    _ continuation: AsyncStream<HeldEvent>.Continuation, of call: CallID? = nil
  ) -> Int {
    defer { next += 1 }
    continuations[next] = continuation
    calls[next] = call
    return next
  }

  mutating func remove(_ number: Int) {
    continuations[number] = nil
    calls[number] = nil
  }

  /// In the order in which they came. Where too many wait, what a peer can say without end goes
  /// first: it must not push out what becomes of a call, which then comes later than it was. So of
  /// a flood each event pushes out one, and costs no more than another.
  mutating func publishEvent(_ event: EndpointEvent) {
    beginnings.append(event)
    if let logHandler, let entry = LogEntry(event) { logHandler(entry) }
    let held = HeldEvent(event, UnreadMessage(event, read))
    for number in continuations.keys.sorted() {
      if let call = calls[number], event.callID != call { continue }
      var next: HeldEvent? = held
      var left = Self.mostDropped
      while let told = next, left > 0, case .dropped(let old)? = continuations[number]?.yield(told)
      {
        next = old.event.isUpToPeer ? nil : old
        left -= 1
      }
      if calls[number] != nil { followCall(of: number, event) }
    }
    if let warning = EndpointWarning(event) { publishEvent(.warning(warning)) }
  }

  /// What a reader of one call reads after this event of it.
  private mutating func followCall(of number: Int, _ event: EndpointEvent) {
    switch event {
    case .callProgress(_, .replaced(let new)): calls[number] = new
    case .callEnded:
      continuations[number]?.finish()
      remove(number)
    default: break
    }
  }

  /// Events that are looked at for one that may go.
  private static let mostDropped = 64

  /// After the last event.
  mutating func finish() {
    hasEnded = true
    for number in continuations.keys.sorted() { continuations[number]?.finish() }
    continuations.removeAll()
    calls.removeAll()
  }
}

extension EndpointEvent {
  /// One of those that a peer may cause without end.
  fileprivate var isUpToPeer: Bool {
    if case .callProgress(_, let step) = self { return step.isUpToPeer }
    return false
  }
}

/// An event as it waits for one of its readers.
struct HeldEvent: Sendable {
  let event: EndpointEvent
  /// Of a message: goes with the last place that the message has.
  let message: UnreadMessage?

  init(_ event: EndpointEvent, _ message: UnreadMessage? = nil) {
    self.event = event
    self.message = message
  }
}

/// A message of a call that somebody has still to read: counted as read when the last reader that
/// it waits for has it, or is gone.
final class UnreadMessage: Sendable {
  private let call: CallID
  private let byteCount: Int
  private let counter: ReadMessages

  /// - Returns: `nil` for an event that is no message.
  init?(_ event: EndpointEvent, _ counter: ReadMessages) {
    guard case .callProgress(let call, .message(_, let bytes)) = event else { return nil }
    (self.call, byteCount, self.counter) = (call, bytes.count, counter)
  }

  deinit { counter.add(call, byteCount: byteCount) }
}

/// How much of each call was read, and its machine has not been told yet. Used from any thread.
final class ReadMessages: Sendable {
  /// Of one call.
  struct Share: Sendable, Equatable {
    var call: CallID
    var messages: Int
    var byteCount: Int
  }

  private struct State: Sendable {
    var shares: [Share] = []
    var isTold = false
    var onRead: (@Sendable () -> Void)?
  }

  private let state = Guarded(State())

  /// - Parameter onRead: Called once for all that is read until `takeShares`, on any thread.
  func begin(_ onRead: @escaping @Sendable () -> Void) {
    state.withLock { $0.onRead = onRead }
  }

  func add(_ call: CallID, byteCount: Int) {
    let onRead: (@Sendable () -> Void)? = state.withLock { state in
      if let index = state.shares.firstIndex(where: { $0.call == call }) {
        state.shares[index].messages += 1
        state.shares[index].byteCount += byteCount
      } else {
        state.shares.append(Share(call: call, messages: 1, byteCount: byteCount))
      }
      defer { state.isTold = true }
      return state.isTold ? nil : state.onRead
    }
    onRead?()
  }

  func takeShares() -> [Share] {
    state.withLock { state in
      defer {
        state.shares = []
        state.isTold = false
      }
      return state.shares
    }
  }

  /// What was read makes room for more.
  static func makeRoom(in endpoint: isolated Endpoint) {
    guard !endpoint.isClosed else { return }
    let shares = endpoint.readers.read.takeShares()
    endpoint.driver.withMachine { machine, now in
      for share in shares {
        ApplicationMessage.countRead(
          messages: share.messages, byteCount: share.byteCount,
          of: endpoint.resolve(share.call), in: &machine, now: now)
      }
    }
  }

  /// Messages of one call that wait for its readers, however short; the others wait unpolled. Those
  /// of 32 calls are half of the 4096 events that wait.
  static let mostUnread = 64
}

extension AsyncStream<HeldEvent>.Continuation {
  /// Of an event that holds nobody back.
  func append(_ event: EndpointEvent) { yield(HeldEvent(event)) }
}

extension AsyncStream<EndpointEvent> {
  /// The events that `begin` hands over. At most `most` wait.
  static func held(
    _ most: Int, _ begin: (AsyncStream<HeldEvent>.Continuation) -> Void
  ) -> AsyncStream<EndpointEvent> {
    let waiting = AsyncStream<HeldEvent>(bufferingPolicy: .bufferingNewest(most), begin)
    return AsyncStream(unfolding: {
      var iterator = waiting.makeAsyncIterator()
      return await iterator.next()?.event
    })
  }
}
