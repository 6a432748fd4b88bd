package import Primitives
package import Wire

/// Which frames have not come, and which of them to ask for (docs/protocol/frames.md §5.3).
///
/// A frame is missing when one after it has come in its own packet. It is asked for at once, and
/// again after a round trip, as long as the answer can still be played: a frame that is due in less
/// than a round trip is not worth a bit.
package struct MissingFrames: Sendable {
  private struct Entry: Sendable {
    /// In steps of 10 ms, not wrapped.
    var step: Int64
    var requests: UInt8
    var lastRequest: Instant
  }

  package static let capacity = 48

  private var entries = InlineArray<48, Entry>(
    repeating: Entry(step: 0, requests: 0, lastRequest: .zero))
  package private(set) var count = 0
  private var newest: (step: Int64, steps: Int64, arrival: Instant)?
  package private(set) var framesRequested: UInt64 = 0

  package init() {}

  /// Notes a frame that came in its own packet; everything between it and the one before is
  /// missing, unless a pause of the sender ended with it.
  ///
  /// - Parameter steps: how long it is, in 10 ms.
  /// - Returns: whether something is missing before it.
  @discardableResult
  package mutating func notePrimary(
    mediaTime: UInt16, steps: UInt16, isMarked: Bool, arrival: Instant
  ) -> Bool {
    let length = Int64(steps)
    guard length > 0 else { return false }
    guard let newest else {
      self.newest = (Int64(mediaTime), length, arrival)
      return false
    }
    // Media time goes on in a pause, which may be longer than its numbers are told apart.
    let pause = max(0, Int64(clamping: arrival.nanoseconds(since: newest.arrival)))
    let step = unwrapped(
      mediaTime, near: newest.step &+ pause / AudioFormat.stepNanoseconds)
    remove(step)
    guard step > newest.step else { return false }
    defer { self.newest = (step, length, arrival) }
    // A gap of half a second is a new beginning, and asking would only be a burden.
    guard !isMarked, step - newest.step <= Self.longestGap else {
      count = 0
      return false
    }
    var missing = newest.step + newest.steps
    let isGap = missing < step
    while missing < step {
      add(missing)
      missing += newest.steps
    }
    return isGap
  }

  /// Notes a frame that came as a copy or because it was asked for.
  ///
  /// - Returns: whether it was missing.
  package mutating func noteRepair(mediaTime: UInt16) -> Bool {
    guard let newest else { return false }
    let before = count
    remove(unwrapped(mediaTime, near: newest.step))
    return count < before
  }

  /// What to ask for now; `nil` for nothing.
  ///
  /// - Parameters:
  ///   - roundTrip: in milliseconds, the other side's wait for its next packet included.
  ///   - slack: how long after the arrival of a packet its frame is played, in milliseconds.
  package mutating func poll(
    roundTrip: Int, slack: Int, now: Instant
  ) -> AudioRequestFrame? {
    guard count > 0, let newest else { return nil }
    let length = AudioMediaFrame.Length.allCases.first {
      Int64($0.mediaTimeSteps) == newest.steps
    }
    var request = AudioRequestFrame(length: length ?? .milliseconds20)
    let wait = Int64(roundTrip) * 1_000_000
    var index = 0
    while index < count {
      let entry = entries[index]
      let due =
        Int64(clamping: newest.arrival.nanoseconds) &- (newest.step &- entry.step) &* 10_000_000
        &+ Int64(slack) &* 1_000_000
      if Int64(clamping: now.nanoseconds) &+ wait > due {
        remove(entry.step)  // It cannot come in time any more.
        continue
      }
      let isFirst = entry.requests == 0
      let again = Int64(clamping: now.nanoseconds(since: entry.lastRequest)) > wait + Self.patience
      if (isFirst || again) && entry.requests < Self.maximumRequests {
        guard request.add(mediaTime: UInt16(truncatingIfNeeded: entry.step)) else { break }
        entries[index].requests += 1
        entries[index].lastRequest = now
        framesRequested += 1
      }
      index += 1
    }
    return request.entryCount > 0 ? request : nil
  }

  /// The step that `mediaTime` means, within five minutes of `step`.
  private func unwrapped(_ mediaTime: UInt16, near step: Int64) -> Int64 {
    let low = UInt16(truncatingIfNeeded: step)
    return step &+ Int64(Int16(bitPattern: mediaTime &- low))
  }

  private mutating func add(_ step: Int64) {
    guard count < Self.capacity else { return }
    entries[count] = Entry(step: step, requests: 0, lastRequest: .zero)
    count += 1
  }

  private mutating func remove(_ step: Int64) {
    guard let index = (0..<count).first(where: { entries[$0].step == step }) else { return }
    for place in index..<(count - 1) { entries[place] = entries[place + 1] }
    count -= 1
  }

  /// Half a second, in steps.
  private static let longestGap: Int64 = 50
  /// 10 ms.
  private static let patience: Int64 = 10_000_000
  private static let maximumRequests: UInt8 = 3
}
