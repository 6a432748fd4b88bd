internal import CLinux
internal import Glibc
internal import Primitives

/// Something that one thread waits for and another one brings, once: for callers that are no tasks.
package final class ThreadLatch: Sendable {
  private let arrival: FileDescriptor

  package init() throws(ReactorError) {
    arrival = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
  }

  /// From any thread: it is there.
  package func open() { _ = earshot_wake_write(arrival.number) }

  /// Whether it was there within `patience`. Blocks the calling thread, which must be none of
  /// Swift's own.
  package func wait(_ patience: Duration) -> Bool {
    let end = SystemClock.now + patience
    while true {
      let left = max(.zero, end - SystemClock.now).milliseconds
      var poll = pollfd(fd: arrival.number, events: Int16(POLLIN), revents: 0)
      let result = unsafe Glibc.poll(&poll, 1, Int32(clamping: left + 1))
      if result > 0 { return true }
      if result == 0, SystemClock.now >= end { return false }
    }
  }
}
