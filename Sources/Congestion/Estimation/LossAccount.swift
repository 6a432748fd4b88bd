/// Packets and bytes that arrived or not, over the last reports.
struct LossAccount: Sendable, BitwiseCopyable {
  private(set) var arrived: Double = 0
  private(set) var lost: Double = 0

  mutating func addArrived(_ byteCount: Int) { arrived += 1 }
  mutating func addLost(_ byteCount: Int) { lost += 1 }
  mutating func addLate(_ byteCount: Int) {
    lost = max(0, lost - 1)
    arrived += 1
  }
}

/// ECN marks.
struct MarkAccount: Sendable, BitwiseCopyable {
  private(set) var marked = 0
  private(set) var unmarked = 0

  mutating func add(isMarked: Bool) {
    if isMarked { marked += 1 } else { unmarked += 1 }
  }
}
