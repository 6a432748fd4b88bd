import Primitives

/// Packets that are to be written, first in, first out, in memory that is made once.
struct ForwardingQueue {
  enum Content: BitwiseCopyable {
    /// The frame of that number of the seat at that slot.
    case audio(from: UInt32, UInt32)
    /// The oldest key or card for it.
    case word
    /// FEEDBACK about what it has sent.
    case report
  }

  struct Job: BitwiseCopyable {
    let slot: UInt32
    /// Its seat: the slot may have another one by the time it is written.
    let seat: UInt32
    let content: Content
  }

  private var jobs: [Job?]
  private var first = 0
  private(set) var count = 0

  init(limit: Int) { jobs = Array(repeating: nil, count: max(1, limit)) }

  /// `false` at the limit: the job is dropped.
  mutating func append(_ job: Job) -> Bool {
    guard count < jobs.count else { return false }
    jobs[(first + count) % jobs.count] = job
    count += 1
    return true
  }

  mutating func popFirst() -> Job? {
    guard count > 0 else { return nil }
    defer {
      first = (first + 1) % jobs.count
      count -= 1
    }
    return jobs[first]
  }
}
