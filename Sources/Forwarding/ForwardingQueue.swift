import Primitives

/// Packets of a channel that are to be written, first in, first out. Its memory grows to what is
/// needed at once, and stays.
struct ForwardingQueue {
  enum Content: BitwiseCopyable {
    /// The frame of that number of the seat at that slot.
    case audio(from: UInt32, UInt32)
    /// The oldest key or card for it.
    case word
    /// A fragment of a picture of the seat at that slot, for the first time or again.
    case picture(from: UInt32, UInt32)
    case pictureAgain(from: UInt32, UInt32)
    /// Whichever of its fragments is next, if its line has room.
    case nextPicture
    /// What shows whether its line carries more.
    case padding
    /// What others want of its pictures: how much, what is lacking.
    case wants
    case askPictures
    /// FEEDBACK about what it has sent.
    case report
  }

  struct Job: BitwiseCopyable {
    let slot: UInt32
    /// Its seat: the slot may have another one by the time it is written.
    let seat: UInt32
    let content: Content
  }

  private let limit: Int
  private var jobs: [Job?]
  private var first = 0
  private(set) var count = 0

  init(limit: Int) {
    self.limit = max(1, limit)
    jobs = Array(repeating: nil, count: min(self.limit, 64))
  }

  /// `false` at the limit: the job is dropped.
  mutating func append(_ job: Job) -> Bool {
    guard count < limit else { return false }
    if count == jobs.count { grow() }
    jobs[(first + count) % jobs.count] = job
    count += 1
    return true
  }

  private mutating func grow() {
    var larger: [Job?] = []
    larger.reserveCapacity(min(limit, jobs.count * 2))
    for place in 0..<count { larger.append(jobs[(first + place) % jobs.count]) }
    larger += Array(repeating: nil, count: min(limit, jobs.count * 2) - count)
    (jobs, first) = (larger, 0)
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
