internal import CLinux
internal import Glibc

/// A thread of the kernel's that has been started; `join` it, or let it go on its own.
struct JoinableThread: ~Copyable, Sendable {
  private let thread: UInt

  fileprivate init(_ thread: UInt) { self.thread = thread }

  /// Waits for the thread's end.
  consuming func join() {
    pthread_join(thread, nil)
    discard self
  }

  deinit { pthread_detach(thread) }
}

/// Starts a thread that runs `body` once. Its name shows in `ps -L` (15 letters at most).
func startThread(
  named name: String, _ body: @escaping @Sendable () -> Void
) throws(ReactorError) -> JoinableThread {
  let context = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
  var thread: UInt = 0
  // The entry is written in a function without isolation: a C callback that belonged to the main
  // actor would abort on any other thread.
  let result = unsafe earshot_thread_start(
    { context in
      if let context = unsafe context {
        unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
      }
      return nil
    }, context, String(name.prefix(15)), &thread)
  if result < 0 {
    unsafe Unmanaged<ThreadBody>.fromOpaque(context).release()
    throw ReactorError("start", "thread \(name)", errno: -result)
  }
  return JoinableThread(thread)
}

private final class ThreadBody: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  func run() { body() }
}

/// A number that no other living thread has.
///
/// Not `pthread_self`: that is declared constant, so the optimiser may carry its value over a
/// suspension into another thread.
func currentThreadMark() -> UInt { earshot_thread_mark() }
