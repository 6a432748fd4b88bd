/// Work that blocks, on a thread of its own: never on the loop and never in the pool of Swift's
/// tasks.
package enum BlockingWork {
  /// The result of `body`; `nil` when no thread could be started.
  package static func run<Output: Sendable>(
    named name: String, _ body: @escaping @Sendable () -> Output
  ) async -> Output? {
    await withCheckedContinuation { (continuation: CheckedContinuation<Output?, Never>) in
      do throws(ReactorError) {
        // Not joined: it ends with its answer.
        _ = try startThread(named: name) { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: nil)
      }
    }
  }
}
