internal import CEarshot
internal import Earshot
internal import EarshotMedia
internal import Reactor

/// An endpoint as C holds it: its calls by number, and the thread on which its events are told.
final class CEndpoint: Sendable {
  let endpoint: Endpoint
  private let state = Guarded(State())

  /// One call's sound.
  struct Sound: Sendable {
    var input: PCMInput
    var output: SoundRing
  }

  private struct State {
    var numbers: [CallID: UInt64] = [:]
    var calls: [UInt64: CallID] = [:]
    var sounds: [UInt64: Sound] = [:]
    var last: UInt64 = 0
    var reader: Task<Void, Never>?
    var worker: PromptWorker?
    var tell: (@Sendable (EventText, UInt64) -> Void)?
    /// What is still to be told.
    var backlog = EventBacklog()
    /// The last calls that are over: who dialled one may hear its number after its end.
    var former: [(id: CallID, number: UInt64)] = []

    mutating func number(of id: CallID) -> UInt64 {
      if let number = numbers[id] { return number }
      if let over = former.last(where: { $0.id == id }) { return over.number }
      last += 1
      numbers[id] = last
      calls[last] = id
      return last
    }

    mutating func forget(_ number: UInt64) {
      for id in numbers.filter({ $0.value == number }).keys {
        numbers[id] = nil
        former.append((id, number))
      }
      if former.count > CEndpoint.formerCount {
        former.removeFirst(former.count - CEndpoint.formerCount)
      }
      calls[number] = nil
      sounds[number] = nil
    }
  }

  init(_ endpoint: Endpoint) { self.endpoint = endpoint }

  // MARK: - Calls

  func number(of id: CallID) -> UInt64 { state.withLock { $0.number(of: id) } }

  func call(_ number: UInt64) throws(EarshotError) -> Call {
    guard let id = state.withLock({ $0.calls[number] }) else {
      throw EarshotError(
        .callState, "There is no call \(number).", advice: "It may be over: EARSHOT_CALL_ENDED.")
    }
    return Call(id: id, endpoint: endpoint)
  }

  func sound(_ number: UInt64) -> Sound? { state.withLock { $0.sounds[number] } }

  /// The call may be over already: then nobody asks for its sound.
  func keep(_ sound: Sound, of number: UInt64) {
    state.withLock { state in
      if state.calls[number] != nil { state.sounds[number] = sound }
    }
  }

  // MARK: - Events

  /// Tells every event, one after the other, until the endpoint is closed.
  func follow(
    _ events: AsyncStream<EndpointEvent>, _ tell: @escaping @Sendable (EventText, UInt64) -> Void
  ) throws(EarshotError) {
    let worker: PromptWorker
    do throws(ReactorError) {
      worker = try PromptWorker(named: "earshot-events") { [weak self] _ in
        self?.tellAll(tell)
        return nil
      }
    } catch {
      throw EarshotError(.systemFailure, "There is no thread: \(error.reason).", advice: "")
    }
    let reader = Task.detached { [weak self] in
      for await event in events {
        self?.append(event)
        worker.signal()
      }
    }
    state.withLock { state in
      state.worker = worker
      state.reader = reader
      state.tell = tell
    }
  }

  private func append(_ event: EndpointEvent) {
    let text = EventText(event)
    let number = text.call.map { self.number(of: $0) } ?? 0
    state.withLock { $0.backlog.append(text, of: number) }
    if case .callProgress(_, .replaced(let new)) = event { rename(number, new) }
  }

  private func tellAll(_ tell: (EventText, UInt64) -> Void) {
    while true {
      let events = state.withLock { state in
        state.backlog.takeAll()
      }
      if events.isEmpty { return }
      for (text, number) in events {
        tell(text, number)
        if text.kind == EARSHOT_CALL_ENDED.rawValue { state.withLock { $0.forget(number) } }
      }
    }
  }

  fileprivate static let formerCount = 64

  /// Where the other's call has rung already, its number ends: it is the same call.
  private func rename(_ number: UInt64, _ new: CallID) {
    state.withLock { state in
      if let other = state.numbers[new], other != number {
        state.backlog.append(EventText(replaced: new), of: other)
      }
      state.numbers[new] = number
      state.calls[number] = new
    }
  }

  /// Ends everything; when it has returned, nothing is told any more.
  func close() {
    let endpoint = endpoint
    let (reader, worker) = state.withLock { ($0.reader, $0.worker) }
    let ended = Result { () throws(EarshotError) in
      try wait(atMost: 15) { () async throws(EarshotError) in
        await endpoint.close()
        await reader?.value
      }
    }
    // One that does not end in time is left to itself; its events are not told any more.
    if case .failure = ended { reader?.cancel() }
    worker?.stop()
    worker?.join()
    // What came between its last look and its end.
    if let tell = state.withLock({ $0.tell.take() }) { tellAll(tell) }
  }
}
