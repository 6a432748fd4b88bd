internal import Glibc
internal import Primitives

/// Lines from standard input while a program runs: from a terminal, a pipe or a file.
package final class LineInput {
  private let loop: EventLoop
  private let onLines: ([[UInt8]]) -> Void
  private var splitter: LineSplitter
  private var token: EventLoop.Token?
  /// For what cannot be watched: a file always has something to read.
  private var timer: EventLoop.Token?
  private var isOver = false

  /// Calls `onLines` on the loop with the lines of a piece, without their ends, and pauses then:
  /// whoever is slower than the writer says by `resume` when there is room for more.
  ///
  /// - Parameter limit: Bytes that are kept of a line.
  package init(
    on loop: EventLoop, limit: Int, onLines: @escaping ([[UInt8]]) -> Void
  ) throws(ReactorError) {
    self.loop = loop
    self.onLines = onLines
    splitter = LineSplitter(limit: limit)
    try resume()
  }

  /// Reads on after `pause`.
  package func resume() throws(ReactorError) {
    guard !isOver, token == nil, timer == nil else { return }
    do throws(ReactorError) {
      token = try loop.watch(STDIN_FILENO, for: .readable) { [weak self] _ in self?.readSome() }
    } catch {
      guard error.errno == EPERM else { throw error }
      try readByTime()
    }
  }

  /// Reads nothing more for the present: whoever writes has to wait.
  package func pause() {
    if let token { loop.unwatch(token) }
    if let timer { loop.removeTimer(timer) }
    (token, timer) = (nil, nil)
  }

  private func readByTime() throws(ReactorError) {
    let timer = try loop.addTimer { [weak self] now in
      guard let self else { return }
      readSome()
      if let timer = self.timer { loop.setDeadline(timer, now + Self.pace) }
    }
    self.timer = timer
    loop.setDeadline(timer, SystemClock.now)
  }

  private func readSome() {
    var bytes = [UInt8](repeating: 0, count: Self.pieceByteCount)
    let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    guard count > 0 else {
      isOver = true
      pause()
      if let last = splitter.finish() { onLines([last]) }
      return
    }
    let lines = splitter.append(bytes[..<count])
    guard !lines.isEmpty else { return }
    pause()
    onLines(lines)
  }

  /// From one piece of a file to the next.
  private static let pace = Duration.milliseconds(20)
  private static let pieceByteCount = 4096
}
