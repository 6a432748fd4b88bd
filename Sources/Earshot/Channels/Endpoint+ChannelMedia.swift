internal import Reactor

extension Endpoint {
  /// Joins a channel, and does all that it takes to be heard by its members and to hear its hosts:
  /// calls, a relay, and the change between them. The endpoint then has room for 32 calls at once,
  /// as by `setMaximumCalls`.
  ///
  /// - Parameters:
  ///   - name: The channel, with its key where it has one.
  ///   - role: Whether to be heard, as a host, or to listen.
  ///   - uid: The uid to ask for; 0 = any.
  ///   - token: The token of a channel with a key (`ChannelName.needsToken`).
  ///   - media: What is sent, where what comes goes, and who is told of what happens.
  /// - Throws: As `join(_:as:uid:token:)` does; `invalidArgument` for options out of range.
  public func join(
    _ name: ChannelName, as role: ChannelRole, uid: UInt32 = 0, token: String? = nil,
    media: ChannelMedia.Options
  ) throws(EarshotError) -> ChannelMedia {
    let events = events()
    let (made, running) = try begin(name, as: role, uid: uid, token: token, media)
    try setMaximumCalls(Configuration.callCounts.upperBound)
    // `close` waits for it: what leaves a relay needs the loop.
    waiters.resting += 1
    Task {
      // One by one: what waits meanwhile waits where the endpoint has a limit for it.
      for await event in events {
        await made.handle(event)
        if await made.isOver { break }
      }
      await made.close()
      await running.value
      waiters.resting -= 1
    }
    return made
  }

  /// The same for a program that reads the endpoint's events, and hands each to
  /// `ChannelMedia.handle`.
  package func join(
    _ name: ChannelName, as role: ChannelRole, uid: UInt32 = 0, token: String? = nil,
    steering media: ChannelMedia.Options
  ) throws(EarshotError) -> ChannelMedia {
    try begin(name, as: role, uid: uid, token: token, media).media
  }

  private func begin(
    _ name: ChannelName, as role: ChannelRole, uid: UInt32, token: String?,
    _ media: ChannelMedia.Options
  ) throws(EarshotError) -> (media: ChannelMedia, running: Task<Void, Never>) {
    try media.check()
    let (inputs, feed) = AsyncStream.makeStream(of: ChannelMediaInput.self)
    let timer: EventLoop.Token
    do throws(ReactorError) {
      timer = try loop.addTimer { _ in feed.yield(.wake) }
    } catch {
      throw .systemFailure("joining a channel", detail: "\(error)")
    }
    do throws(EarshotError) {
      let channel = try join(name, as: role, uid: uid, token: token)
      let made = ChannelMedia(channel, as: role, media, feed, timer)
      return (made, Task { await made.run(inputs) })
    } catch {
      loop.removeTimer(timer)
      throw error
    }
  }
}

extension ChannelMedia.Options {
  func check() throws(EarshotError) {
    var call = CallOptions()
    call.bitrate = bitrate
    call.maxVideoBitrate = maxVideoBitrate
    try call.check()
    guard (0...400).contains(sinkHold.milliseconds) else {
      throw .invalidArgument(
        "A sink cannot hold sound for \(sinkHold.milliseconds) ms.", advice: "Use 0 to 400 ms.")
    }
  }
}
