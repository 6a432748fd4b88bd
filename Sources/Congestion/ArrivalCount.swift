/// How many packets of the other side have come, and the greatest number of them: two counts tell
/// what was lost between.
package struct ArrivalCount: Equatable, Sendable, BitwiseCopyable {
  /// Packets that opened for the first time.
  package private(set) var received: UInt64 = 0
  /// Epoch in the upper 32 bits, packet number in the lower; `nil` before the first.
  package private(set) var newest: UInt64?

  package init() {}

  mutating func add(_ number: UInt64) {
    received += 1
    newest = max(newest ?? number, number)
  }

  /// Packets sent since an earlier count was made; `nil` where the epoch is another one, or nothing
  /// newer has come.
  func expected(since earlier: ArrivalCount) -> UInt64? {
    guard let newest, let before = earlier.newest, newest > before, newest >> 32 == before >> 32
    else { return nil }
    return newest - before
  }
}
