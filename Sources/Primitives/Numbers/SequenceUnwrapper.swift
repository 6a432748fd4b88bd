/// Turns a 16-bit number that wraps into one that does not (the rule of RFC 3550 §A.1: the next
/// number is never more than half the range away).
package struct SequenceUnwrapper: Sendable, BitwiseCopyable {
  private var last: Int64?

  package init() {}

  package mutating func unwrap(_ value: UInt16) -> Int64 {
    guard let last else {
      self.last = Int64(value)
      return Int64(value)
    }
    let step = Int16(truncatingIfNeeded: Int64(value) &- last)
    let unwrapped = last &+ Int64(step)
    if unwrapped > last { self.last = unwrapped }
    return unwrapped
  }
}
