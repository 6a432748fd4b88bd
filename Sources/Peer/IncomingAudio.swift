import Primitives

/// The audio of a call that has come: goes to the intake at once, or waits for `pollAudio` while
/// there is none.
struct IncomingAudio: Sendable {
  private var queue: AudioFrameQueue
  private var intake: (any AudioIntake)?

  init(capacity: Int) { queue = AudioFrameQueue(capacity: capacity) }

  /// Nothing waits.
  var isEmpty: Bool { queue.isEmpty }

  /// - Parameter allowance: for the own audio, in bit/s.
  mutating func deliver(
    _ body: Span<UInt8>, _ entry: AudioFrameQueue.Entry, on association: Association,
    allowance: Int?
  ) {
    guard let intake else {
      _ = queue.push(body, entry)
      return
    }
    intake.carry(
      body, ReceivedAudio(header: entry.header, arrival: entry.time, byteCount: body.count),
      roundTrip: association.roundTrip, allowance: allowance)
  }

  /// What waits goes to `intake` before anything that comes; `nil` has it wait again.
  mutating func setIntake(
    _ intake: (any AudioIntake)?, on association: Association, allowance: Int?
  ) {
    self.intake = intake
    guard let intake else { return }
    let roundTrip = association.roundTrip
    var isThere = true
    while isThere {
      isThere =
        pop { body, audio in
          intake.carry(body, audio, roundTrip: roundTrip, allowance: allowance)
          return true
        } ?? false
    }
  }

  /// The call is over: what waits may still be polled.
  mutating func close() { intake = nil }

  /// Shows the oldest body that waits to `take`, in place, and then removes it.
  mutating func pop<Result>(_ take: (Span<UInt8>, ReceivedAudio) -> Result) -> Result? {
    queue.pop { body, entry in
      take(
        body,
        ReceivedAudio(header: entry.header, arrival: entry.time, byteCount: entry.byteCount))
    }
  }

  /// Appends the oldest body that waits to `output`.
  @_lifetime(output: copy output)
  mutating func pop(into output: inout OutputSpan<UInt8>) -> ReceivedAudio? {
    queue.pop(into: &output).map {
      ReceivedAudio(header: $0.header, arrival: $0.time, byteCount: $0.byteCount)
    }
  }
}
