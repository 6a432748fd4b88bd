internal import Calling
internal import Peer
internal import Primitives
internal import Reactor

extension Call {
  /// Lets the call become a channel: this end may invite others, and follows where the other end
  /// does (docs/protocol/channels.md §10). Both ends do so as soon as there is the call, before it
  /// is connected, and give it `CallOptions.followsChannels`. It goes on when the channel is left,
  /// and the channel when it ends. Meanwhile the endpoint has room for 8 calls.
  ///
  /// - Parameter options: What further calls are made of, and who is told of what happens.
  /// - Throws: `callState` when there is no such call; `closed`.
  public func allowChannel(
    _ options: CallChannel.Options
  ) async throws(EarshotError) -> CallChannel {
    let peer = await peer
    let name = peer.map { $0.name ?? options.name($0.id) ?? $0.id.shortText }
    return try await Self.allowChannel(endpoint, id, name: name, options)
  }

  /// The same for a program that reads the endpoint's events, hands each to `CallChannel.handle`,
  /// and calls `CallChannel.advance` in time.
  ///
  /// - Parameter name: What the other end of the call is called.
  package func allowChannel(name: String, steering options: CallChannel.Options) async
    -> CallChannel
  {
    await Self.makeChannel(endpoint, id, name: name, options)
  }

  private static func allowChannel(
    _ endpoint: isolated Endpoint, _ id: CallID, name: String?, _ options: CallChannel.Options
  ) throws(EarshotError) -> CallChannel {
    guard !endpoint.isClosed else { throw .closed }
    guard endpoint.calls[endpoint.resolve(id)] != nil else {
      throw .callState("There is no such call.")
    }
    let events = endpoint.events()
    let queue = CallChannelQueue()
    let (loop, timer): (EventLoop, EventLoop.Token)
    do throws(ReactorError) {
      loop = endpoint.loop
      timer = try loop.addTimer { _ in queue.wake() }
    } catch {
      throw .systemFailure("waiting for the channel of a call", detail: "\(error)")
    }
    let made = makeChannel(endpoint, id, name: name, options, queue)
    // `close` waits for it: what leaves a channel needs the loop.
    endpoint.waiters.resting += 1
    let reading = Task {
      for await event in events { if await !queue.handle(event, on: made) { break } }
      queue.finish()
    }
    Task {
      await queue.run(made, timer)
      reading.cancel()
      await reading.value
      endpoint.waiters.resting -= 1
    }
    return made
  }

  private static func makeChannel(
    _ endpoint: isolated Endpoint, _ id: CallID, name: String?, _ options: CallChannel.Options,
    _ queue: CallChannelQueue? = nil
  ) -> CallChannel {
    let calls = CallChannelCalls(endpoint, options)
    return CallChannel(calls, first: CallID(endpoint.resolve(id)), name: name, queue)
  }
}

/// The inputs of one `CallChannel`, one after the other, so that nothing happens between the parts
/// of something else.
final class CallChannelQueue: Sendable {
  private enum Input: Sendable {
    case body(@Sendable (isolated CallChannel) async -> Void)
    /// A deadline has come.
    case wake
  }

  private let inputs: AsyncStream<Input>
  private let feed: AsyncStream<Input>.Continuation

  init() { (inputs, feed) = AsyncStream.makeStream(of: Input.self) }

  func wake() { feed.yield(.wake) }

  func finish() { feed.finish() }

  /// - Returns: Whether more is to come.
  func handle(_ event: EndpointEvent, on channel: CallChannel) async -> Bool {
    await carryOut(
      { channel in
        if !channel.isOver { await channel.handle(event) }
        return !channel.isOver
      }, on: channel)
  }

  /// Carries out a command in its turn; at once when all is over.
  func carryOut<Result: Sendable>(
    _ body: @escaping @Sendable (isolated CallChannel) async -> Result, on channel: CallChannel
  ) async -> Result {
    await withCheckedContinuation { (continuation: CheckedContinuation<Result, Never>) in
      let command: @Sendable (isolated CallChannel) async -> Void = { channel in
        continuation.resume(returning: await body(channel))
      }
      if case .terminated = feed.yield(.body(command)) { Task { await command(channel) } }
    }
  }

  /// Until the channel is left, or the call is over without one.
  func run(_ channel: CallChannel, _ timer: EventLoop.Token) async {
    for await input in inputs {
      if case .body(let body) = input { await body(channel) }
      await channel.advance()
      if await channel.isOver { break }
      await channel.schedule(timer)
    }
    feed.finish()
    await channel.endSchedule(timer)
    // Commands that came meanwhile.
    for await input in inputs { if case .body(let body) = input { await body(channel) } }
  }
}
