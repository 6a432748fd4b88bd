internal import Earshot
package import Reactor
internal import Tokens

/// The file of the access token while a program runs: once another token is wanted it is read each
/// second, until another one is accepted. One that is half written is no token yet, and is read
/// again whole.
package final class TokenFile {
  package let path: String
  /// The token that was read last.
  package private(set) var text: String
  private let loop: EventLoop
  private var timer: EventLoop.Token?
  private let change: (String) -> Void

  /// - Parameters:
  ///   - loop: Where it runs.
  ///   - change: Is given each newer token.
  package init(
    _ path: String, text: String, on loop: EventLoop, change: @escaping (String) -> Void
  ) {
    self.path = path
    self.text = text
    self.loop = loop
    self.change = change
  }

  /// Looks for another token from now on.
  ///
  /// - Returns: Whether there is one already.
  package func watch() throws(ReactorError) -> Bool {
    if timer == nil {
      let timer = try loop.addTimer { [weak self] now in self?.wake(now: now) }
      self.timer = timer
      loop.setDeadline(timer, SystemClock.now + Self.pace)
    }
    return readAgain()
  }

  /// The token that was read last is accepted.
  package func stop() {
    guard let timer else { return }
    loop.removeTimer(timer)
    self.timer = nil
  }

  private func wake(now: Instant) {
    guard let timer else { return }
    _ = readAgain()
    loop.setDeadline(timer, now + Self.pace)
  }

  /// A file that cannot be read, or holds no token, is one without a newer token: it may be in the
  /// making.
  private func readAgain() -> Bool {
    guard let found = try? TokenIssuer.token(at: path), found != text,
      (try? PublicToken(parsing: found)) != nil
    else { return false }
    text = found
    change(found)
    return true
  }

  private static let pace = Duration.seconds(1)
}
