internal import Earshot
internal import Primitives
package import Reactor
internal import Tokens

/// The file of an access token, or of a channel's, while a program runs: once another token is
/// wanted it is read each second, until another one is accepted. One that is half written is no
/// token yet, and is read again whole.
package final class TokenFile {
  package let path: String
  /// The token that was read last.
  package private(set) var text: String
  private let loop: EventLoop
  private var timer: EventLoop.Token?
  private let change: (String) -> Void
  private let fault: (String) -> Void
  /// What the last look has found that is no token, and whether that was told.
  private var oddity: (found: String, isTold: Bool)?

  /// - Parameters:
  ///   - loop: Where it runs.
  ///   - change: Is given each newer token.
  ///   - fault: Is given a sentence once there is no token in it for two looks, of each such
  ///     content once.
  package init(
    _ path: String, text: String, on loop: EventLoop, change: @escaping (String) -> Void,
    fault: @escaping (String) -> Void = { _ in }
  ) {
    self.path = path
    self.text = text
    self.loop = loop
    self.change = change
    self.fault = fault
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
    look()
    loop.setDeadline(timer, now + Self.pace)
  }

  /// Reads it as it is read each second.
  package func look() {
    let before = oddity?.found
    guard !readAgain(), let oddity, oddity.found == before, !oddity.isTold else { return }
    self.oddity?.isTold = true
    fault(oddity.found)
  }

  /// A file that cannot be read, or holds no token, is one without a newer token: it may be in the
  /// making.
  private func readAgain() -> Bool {
    let found: String
    do throws(EarshotError) {
      found = try TokenIssuer.token(at: path)
    } catch {
      return keep("\(error.message) \(error.advice)")
    }
    guard found != text else {
      oddity = nil
      return false
    }
    // What is no token is told as `oddity`.
    guard (try? PublicToken(parsing: found)) != nil else {
      return keep("There is no token in \(Printable.only(path)).")
    }
    oddity = nil
    text = found
    change(found)
    return true
  }

  /// It is no token.
  private func keep(_ found: String) -> Bool {
    if oddity?.found != found { oddity = (found, false) }
    return false
  }

  private static let pace = Duration.seconds(1)
}
