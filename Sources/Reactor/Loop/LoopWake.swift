internal import CLinux
internal import Synchronization

/// Lets any thread make the loop call a closure: "something is in the ring".
///
/// Signals between two calls of the closure count as one.
package final class LoopWake: Sendable {
  private struct Target {
    let loop: EventLoop
    let token: EventLoop.Token
  }

  private let descriptor: FileDescriptor
  private let isPending = Atomic<Bool>(false)
  private let target = Mutex<Target?>(nil)

  package init() throws(ReactorError) {
    descriptor = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
  }

  /// Begins: `body` runs on the loop's thread after each signal, or where `run` was called.
  package func attach(
    to loop: EventLoop, _ body: @escaping () -> Void
  ) throws(ReactorError) -> EventLoop.Token {
    let token = try loop.watch(descriptor.number, for: .readable) { [self] readiness in
      if readiness.contains(.readable) {
        _ = earshot_wake_read(descriptor.number)
        // Before the body looks at what there is: a signal from now on is a new one.
        isPending.store(false, ordering: .sequentiallyConsistent)
      }
      body()
    }
    target.withLock { $0 = Target(loop: loop, token: token) }
    return token
  }

  /// From any thread; one system call, or none when the loop has not yet come to the last one.
  package func signal() {
    if isPending.exchange(true, ordering: .sequentiallyConsistent) { return }
    _ = earshot_wake_write(descriptor.number)
  }

  /// Calls the closure at once, on this thread, if the loop sleeps; signals if it does not. Not
  /// from the loop's own thread, and not while holding what the closure waits for.
  package func run() {
    if let target = target.withLock({ $0 }), target.loop.lend(to: target.token) { return }
    signal()
  }
}
