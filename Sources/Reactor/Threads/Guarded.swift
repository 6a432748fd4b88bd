internal import CLinux
internal import Synchronization

/// A value that two threads share, one at a time: a call's audio between its media thread, which
/// holds it for a tick, and the loop, which looks at its numbers now and then.
package final class Guarded<Value: ~Copyable>: @unchecked Sendable {
  // Sendable: `value` is touched under the lock only.
  private let value: Mutex<Value>
  private let key = LockKey.next()

  package init(_ value: consuming sending Value) { self.value = Mutex(value) }

  package func withLock<Result: ~Copyable>(
    _ body: (inout sending Value) -> sending Result
  ) -> sending Result {
    value.withLock { value in
      earshot_lock_taken(key)
      defer { earshot_lock_left(key) }
      return body(&value)
    }
  }
}

/// Counts from any thread.
package final class FailureCount: Sendable {
  private let count = Atomic<UInt64>(0)

  package init() {}

  package var value: UInt64 { count.load(ordering: .relaxed) }
  package func add(_ number: UInt64) { count.add(number, ordering: .relaxed) }
}

/// Tells locks apart for ThreadSanitizer, which does not see those of `Synchronization`: what one
/// thread did before it left one is in order with what another does after it took it.
enum LockKey {
  private static let last = Atomic<Int32>(0)

  static func next() -> Int32 { last.add(1, ordering: .relaxed).newValue }
}
