package import Earshot
package import Primitives
package import Reactor

/// Whatever can happen to a running command.
package enum SessionInput: Sendable {
  /// The endpoint is there, or could not be opened.
  case opened(Result<Endpoint, EarshotError>)
  case endpoint(EndpointEvent)
  /// What happens to the media of a channel.
  case media(ChannelName, ChannelMediaStep)
  case probe(ProbeProgress)
  case diagnosed(Result<NetworkDiagnosis, EarshotError>)
  case signal(SignalWatch.Signal)
  case key(Character)
  /// The played file is at its end.
  case sourceEnded
  /// There is another access token in its file.
  case token(String)
  /// The same of a channel's.
  case channelToken(ChannelName, RoomTokens.News)
  /// Lines of standard input, in one piece.
  case lines([[UInt8]])
  /// A deadline has come.
  case wake
}

/// Everything that happens, in one queue with one reader: events of the endpoint, signals, keys and
/// the one timer. So a command is a plain loop, without locks.
package final class Inbox {
  package let inputs: AsyncStream<SessionInput>
  package let feed: AsyncStream<SessionInput>.Continuation
  private let loop: EventLoop
  private let timer: EventLoop.Token
  private let signals: SignalWatch
  private let keys: TerminalInput?
  /// Messages of calls that the command has not taken yet.
  package let messages = MessageGate()

  /// Runs on `loop`, as everything that uses it.
  ///
  /// - Parameter readsKeys: Whether single keys are wanted; ignored where there is no terminal.
  package init(on loop: EventLoop, readsKeys: Bool) throws(ReactorError) {
    // Whoever reads runs on the same loop and keeps up; a peer must not be able to fill the memory.
    let (stream, feed) = AsyncStream.makeStream(
      of: SessionInput.self, bufferingPolicy: .bufferingNewest(16_384))
    inputs = stream
    self.feed = feed
    self.loop = loop
    timer = try loop.addTimer { _ in feed.yield(.wake) }
    signals = try SignalWatch(SignalWatch.Signal.allCases, on: loop) { feed.yield(.signal($0)) }
    keys = readsKeys ? try TerminalInput(on: loop, onKey: { feed.yield(.key($0)) }) : nil
  }

  /// Whether keys are being read.
  package var hasKeys: Bool { keys != nil }

  /// Opens an endpoint on the side, so that signals are served meanwhile: `opened` tells.
  package func open(_ configuration: Configuration) {
    let (feed, loop) = (feed, loop)
    Task(executorPreference: loop) {
      do throws(EarshotError) {
        feed.yield(.opened(.success(try await Endpoint.open(configuration))))
      } catch {
        feed.yield(.opened(.failure(error)))
      }
      withExtendedLifetime(loop) {}
    }
  }

  /// Examines this host and its line on the side: `diagnosed` tells. Where the task is cancelled,
  /// as soon as what was opened is closed.
  package func examine(_ plan: DiagnosisPlan) -> Task<Void, Never> {
    let (feed, loop) = (feed, loop)
    return Task(executorPreference: loop) {
      do throws(EarshotError) {
        feed.yield(.diagnosed(.success(try await NetworkDiagnosis.examine(plan))))
      } catch {
        feed.yield(.diagnosed(.failure(error)))
      }
      withExtendedLifetime(loop) {}
    }
  }

  /// Forwards every event of `endpoint` from now on.
  package func follow(_ endpoint: Endpoint) async {
    let events = await endpoint.events()
    let (feed, loop, messages) = (feed, loop, messages)
    Task(executorPreference: loop) {
      for await event in events {
        let outcome = feed.yield(.endpoint(event))
        // One that had to make room is in the queue no more.
        if case .dropped(.endpoint(let lost)) = outcome, lost.isOfMessages { messages.leave() }
        if event.isOfMessages { await messages.enter() }
      }
      // A task does not keep its executor alive by itself.
      withExtendedLifetime(loop) {}
    }
  }

  /// Runs `body` once after `wait`, beside the one timer.
  package func remind(after wait: Duration, _ body: @escaping () -> Void) throws(ReactorError) {
    let reminder = Reminder()
    let token = try loop.addTimer { [loop] _ in
      if let token = reminder.token { loop.removeTimer(token) }
      body()
    }
    reminder.token = token
    loop.setDeadline(token, SystemClock.now + wait)
  }

  /// A timer that removes itself must know its own name.
  private final class Reminder {
    var token: EventLoop.Token?
  }

  /// The file of an access token, which tells of each newer one as `token`.
  package func tokenFile(_ path: String, text: String) -> TokenFile {
    TokenFile(path, text: text, on: loop) { [feed] in feed.yield(.token($0)) }
  }

  /// The same of a channel's, which tells as `channelToken`.
  func channelTokenFile(_ path: String, text: String, of name: ChannelName) -> TokenFile {
    let feed = feed
    return TokenFile(
      path, text: text, on: loop, change: { feed.yield(.channelToken(name, .newer($0))) },
      fault: { feed.yield(.channelToken(name, .unusable($0))) })
  }

  /// A piece of standard input as `lines`, and the next after `resume`; of a line `limit` bytes.
  func lineInput(limit: Int) throws(ReactorError) -> LineInput {
    try LineInput(on: loop, limit: limit) { [feed] in feed.yield(.lines($0)) }
  }

  /// Goes back to the loop's thread: after a command of an endpoint that threw, the runtime may
  /// still be on the endpoint's.
  func settle() async {
    guard !loop.isCurrent else { return }
    let loop = loop
    await withCheckedContinuation { continuation in
      Task(executorPreference: loop) { continuation.resume() }
    }
  }

  /// Sets the timer; `nil` stops it.
  ///
  /// After a command of an endpoint that threw, the runtime may still be on the endpoint's thread.
  package func wake(at deadline: Instant?) {
    guard !loop.isCurrent else { return loop.setDeadline(timer, deadline) }
    let (loop, timer) = (loop, timer)
    Task(executorPreference: loop) { loop.setDeadline(timer, deadline) }
  }
}

/// Lets messages of calls into the queue of a command while few of them wait there: its senders are
/// held back by those that stay outside. Used from any thread.
package final class MessageGate: Sendable {
  private struct State {
    var waiting = 0
    var outside: CheckedContinuation<Void, Never>?
  }

  private let state = Guarded(State())

  package init() {}

  /// One is in the queue; returns when another may be. For one caller at a time.
  package func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        state.waiting += 1
        guard state.waiting >= Self.most else { return true }
        state.outside = continuation
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  /// The command has taken one.
  package func leave() {
    let outside = state.withLock { state in
      state.waiting -= 1
      guard state.waiting < Self.most else { return nil as CheckedContinuation<Void, Never>? }
      defer { state.outside = nil }
      return state.outside
    }
    outside?.resume()
  }

  /// Messages of 64 KiB: 1 MiB.
  package static let most = 16
}
