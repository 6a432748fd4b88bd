internal import CLinux
internal import Glibc

/// Signals as an ordinary source of the loop, instead of code that runs in the middle of anything.
package final class SignalWatch {
  package enum Signal: CaseIterable, Sendable {
    case interrupt, terminate, hangUp, user1, user2

    fileprivate var number: Int32 {
      switch self {
      case .interrupt: SIGINT
      case .terminate: SIGTERM
      case .hangUp: SIGHUP
      case .user1: SIGUSR1
      case .user2: SIGUSR2
      }
    }
  }

  /// What ends a program, and what asks it for a word.
  package static let usual: [Signal] = [.interrupt, .terminate, .hangUp, .user1]

  private let descriptor: FileDescriptor
  private let loop: EventLoop
  private var token: EventLoop.Token?

  /// Keeps the signals from doing what they usually do. Call it first thing in `main`: threads
  /// that are started later inherit this, and one that did not would take the signal and die.
  /// SIGHUP stays ignored where it is (`nohup`): a blocked signal would come all the same.
  package static func block(_ signals: [Signal] = usual) {
    let numbers = signals.map(\.number).filter {
      $0 != SIGHUP || earshot_signal_is_ignored($0) == 0
    }
    _ = unsafe earshot_signals_block(numbers, Int32(clamping: numbers.count))
  }

  /// Calls `body` on the loop for each of `signals` that comes from now on. They must have been
  /// blocked.
  package init(
    _ signals: [Signal] = usual, on loop: EventLoop,
    _ body: @escaping (Signal) -> Void
  ) throws(ReactorError) {
    let numbers = signals.map(\.number)
    let number = unsafe earshot_signals_open(numbers, Int32(clamping: numbers.count))
    descriptor = FileDescriptor(owning: try number.orThrow("watch", "signals"))
    self.loop = loop
    let source = descriptor.number
    token = try loop.watch(source, for: .readable) { _ in
      while case let number = earshot_signals_read(source), number > 0 {
        if let signal = signals.first(where: { $0.number == number }) { body(signal) }
      }
    }
  }

  /// Stops listening; the signals stay blocked.
  package func stop() {
    if let token { loop.unwatch(token) }
    token = nil
  }
}
