internal import CLinux
internal import Synchronization

/// Lets any thread make the loop call a closure: "something is in the ring".
///
/// Signals between two calls of the closure count as one.
package final class LoopWake: Sendable {
  private let descriptor: FileDescriptor
  private let isPending = Atomic<Bool>(false)

  package init() throws(ReactorError) {
    descriptor = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
  }

  /// Begins: `body` runs on the loop's thread after each signal.
  package func attach(
    to loop: EventLoop, _ body: @escaping () -> Void
  ) throws(ReactorError) -> EventLoop.Token {
    try loop.watch(descriptor.number, for: .readable) { [self] _ in
      _ = earshot_wake_read(descriptor.number)
      // Before the body looks at what there is: a signal from now on is a new one.
      isPending.store(false, ordering: .sequentiallyConsistent)
      body()
    }
  }

  /// From any thread; one system call, or none when the loop has not yet come to the last one.
  package func signal() {
    if isPending.exchange(true, ordering: .sequentiallyConsistent) { return }
    _ = earshot_wake_write(descriptor.number)
  }
}
