internal import CLinux
package import Primitives
internal import Synchronization

/// A thread that does something when it is told that there is work, or when a time that it named
/// itself has come: decode what arrived, show what is due.
package final class PromptWorker: Sendable {
  private let wakeUp: FileDescriptor
  private let alarm: FileDescriptor
  private let isPending = Atomic<Bool>(false)
  private let isStopping = Atomic<Bool>(false)
  private let thread = Mutex<JoinableThread?>(nil)

  /// Starts at once. `body` runs on the new thread only, first now and then after each signal.
  ///
  /// - Parameter body: gets the present and returns when it wants to run again; `nil` for when it
  ///   is signalled.
  package init(
    named name: String, _ body: @escaping @Sendable (Instant) -> Instant?
  ) throws(ReactorError) {
    wakeUp = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
    alarm = FileDescriptor(owning: try earshot_timer_open().orThrow("open", "timerfd"))
    let worker = self
    var started: JoinableThread? = try startThread(named: name) { worker.run(body) }
    thread.withLock { $0 = started.take() }
  }

  /// From any thread: there is work. Signals before the body has looked count as one.
  package func signal() {
    if isPending.exchange(true, ordering: .sequentiallyConsistent) { return }
    _ = earshot_wake_write(wakeUp.number)
  }

  /// Ends the thread after the work at hand.
  package func stop() {
    isStopping.store(true, ordering: .releasing)
    _ = earshot_wake_write(wakeUp.number)
  }

  /// Waits for the end of a worker that was told to stop. Not from its own thread.
  package func join() { thread.withLock { $0.take() }?.join() }

  /// In nanoseconds: after more years than a host runs.
  private static let never: UInt64 = 1 << 62

  private func run(_ body: (Instant) -> Instant?) {
    earshot_thread_sharpen_timers()
    while !isStopping.load(ordering: .acquiring) {
      _ = earshot_wake_read(wakeUp.number)
      // Before the body looks at what there is: a signal from now on is a new one.
      isPending.store(false, ordering: .sequentiallyConsistent)
      let next = body(SystemClock.now)
      // `stop` may have been called meanwhile: its wake-up must not be read above.
      guard !isStopping.load(ordering: .acquiring) else { return }
      _ = earshot_timer_arm(alarm.number, next?.nanoseconds ?? Self.never)
      _ = earshot_timer_wait(alarm.number, wakeUp.number)
    }
  }
}
