internal import Synchronization

/// A value that two threads share, one at a time: a call's audio between its media thread, which
/// holds it for a tick, and the loop, which looks at its numbers now and then.
package final class Guarded<Value: ~Copyable>: @unchecked Sendable {
  // Sendable: `value` is touched under the lock only.
  private let value: Mutex<Value>

  package init(_ value: consuming sending Value) { self.value = Mutex(value) }

  package func withLock<Result>(_ body: (inout sending Value) -> sending Result) -> sending Result {
    value.withLock { body(&$0) }
  }
}

/// Counts from any thread.
package final class FailureCount: Sendable {
  private let count = Atomic<UInt64>(0)

  package init() {}

  package var value: UInt64 { count.load(ordering: .relaxed) }
  package func add(_ number: UInt64) { count.add(number, ordering: .relaxed) }
}
