internal import CLinux
internal import Synchronization

/// Swift's side of the loop: an actor whose `unownedExecutor` is the loop runs on its thread.
///
/// Give the actor's tasks the loop as preference too, `Task(executorPreference: loop)`: a task
/// without it is resumed on the global pool first and handed over from there, which costs two
/// changes of thread for each event.
extension EventLoop: SerialExecutor, TaskExecutor {
  /// What other threads leave for the loop.
  struct Inbox: ~Copyable {
    enum Phase { case idle, running, ended }

    var jobs: [UnownedJob] = []
    var phase = Phase.idle
    var isStopping = false
    /// A wake-up for the jobs is on its way: the next one to come need not send another.
    var isWoken = false
    /// After the end: somebody is running the jobs that still come in.
    var isDrained = false
    var thread: JoinableThread?
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOwn = isCurrent
    let (phase, mustWake) = inbox.withLock { inbox in
      inbox.jobs.append(job)
      let mustWake = !isOwn && !inbox.isWoken
      if mustWake { inbox.isWoken = true }
      return (inbox.phase, mustWake)
    }
    switch phase {
    case .idle: break  // The loop looks before it first sleeps.
    case .running: if mustWake { wake() }
    case .ended: drainAfterEnd()
    }
  }

  /// Whether jobs wait that nobody has woken the loop for.
  func mustWakeForJobs() -> Bool {
    inbox.withLock { inbox in
      guard !inbox.jobs.isEmpty, !inbox.isWoken else { return false }
      inbox.isWoken = true
      return true
    }
  }

  /// For an actor that holds the loop for as long as it lives.
  @safe package var executor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    unsafe UnownedTaskExecutor(ordinary: self)
  }

  package func checkIsolated() {
    precondition(isCurrent, "not on the event loop's thread")
  }

  package func isIsolatingCurrentContext() -> Bool? { isCurrent }

  func runNow(_ job: UnownedJob) {
    unsafe job.runSynchronously(
      isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
  }

  /// Runs what is enqueued after the loop's end on whichever thread brings it, one at a time: an
  /// actor that outlives its loop still answers, and nobody waits for ever.
  func drainAfterEnd() {
    let mayDrain = inbox.withLock { inbox in
      defer { inbox.isDrained = true }
      return !inbox.isDrained
    }
    guard mayDrain else { return }
    // The last job may let go of whoever owned this loop, and executors are not kept by their jobs.
    let own = unsafe Unmanaged.passRetained(self)
    defer { unsafe own.release() }
    owner.store(currentThreadMark(), ordering: .releasing)
    while let job = nextAfterEnd() { runNow(job) }
  }

  private func nextAfterEnd() -> UnownedJob? {
    inbox.withLock { inbox in
      if inbox.jobs.isEmpty {
        owner.store(0, ordering: .releasing)
        inbox.isDrained = false
        return nil
      }
      return inbox.jobs.removeFirst()
    }
  }
}
