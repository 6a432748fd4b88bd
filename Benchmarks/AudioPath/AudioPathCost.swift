import AllocationCounter
import Audio
import Primitives
import Wire

/// One direction of a call's audio: a sender with a fixed plan, a line that loses by seed, and a
/// receiver that asks for what it lacks; everything of 20 ms timed for itself.
struct AudioPathCost: ~Copyable {
  /// What one run came to.
  struct Figures {
    var sendPercent: Double
    var receivePercent: Double
    var allocations: UInt64
    var framesSent: UInt64
    var repeated: UInt64
  }

  private var sender: AudioSender
  private var receiver: AudioReceiver
  private var random = RandomSource(seed: 7)
  private let loss: Double
  private var body: [UInt8] = []
  private var step = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
  private var sendNanoseconds: UInt64 = 0
  private var receiveNanoseconds: UInt64 = 0
  private var now: UInt64 = 1_000_000_000

  /// The rows: plans, and what the line loses.
  static func table(_ samples: [Int16], rounds: Int) throws -> String {
    var text = """
      | plan | loss % | sending, % of a core | receiving, % of a core | allocations in frames |
      | --- | --- | --- | --- | --- |

      """
    for (name, distances, loss) in [
      ("no copies, no loss", [], 0.0), ("three low-rate copies, NACK", [2, 4, 7], 0.0),
      ("three low-rate copies, NACK", [2, 4, 7], 0.2),
    ] {
      var best: Figures?
      for _ in 0..<rounds {
        var run = try AudioPathCost.make(distances, loss: loss)
        let figures = try run.measure(samples)
        guard let known = best else {
          best = figures
          continue
        }
        best?.sendPercent = min(known.sendPercent, figures.sendPercent)
        best?.receivePercent = min(known.receivePercent, figures.receivePercent)
        best?.allocations = max(known.allocations, figures.allocations)
      }
      guard let best else { continue }
      text += "| \(name) | \(Int(loss * 100)) | \(AudioPathProgram.text(best.sendPercent)) "
      text += "| \(AudioPathProgram.text(best.receivePercent)) "
      text += "| \(best.allocations) in \(best.framesSent), \(best.repeated) sent again |\n"
    }
    return text
  }

  private static func make(_ distances: [Int], loss: Double) throws -> AudioPathCost {
    var sender = try AudioSender(OpusEncoder.Settings())
    var plan = RedundancyPlan()
    for distance in distances {
      plan.add(RedundancyPlan.Copy(distance: distance, isLowRate: true))
    }
    try sender.follow(plan)
    return AudioPathCost(sender, try AudioReceiver(channels: 1), loss)
  }

  private init(
    _ sender: consuming AudioSender, _ receiver: consuming AudioReceiver, _ loss: Double
  ) {
    self.sender = sender
    self.receiver = receiver
    self.loss = loss
    body.reserveCapacity(4 * AudioFormat.maxPayloadByteCount)
  }

  /// All of `samples`; the first three seconds only warm up.
  private mutating func measure(_ samples: [Int16]) throws -> Figures {
    receiver.roundTripMilliseconds = 40
    var allocations: UInt64 = 0
    let frames = samples.count / 960
    let warmUp = min(150, frames / 2)
    var repeated: UInt64 = 0
    for frame in 0..<frames {
      if frame == warmUp {
        sendNanoseconds = 0
        receiveNanoseconds = 0
        repeated = sender.statistics.framesRetransmitted
        allocations = allocation_total()
      }
      try carry(samples, frame)
    }
    allocations = allocation_total() - allocations
    let measured = Double(frames - warmUp) * 20e6
    return Figures(
      sendPercent: 100 * Double(sendNanoseconds) / measured,
      receivePercent: 100 * Double(receiveNanoseconds) / measured, allocations: allocations,
      framesSent: UInt64(frames - warmUp),
      repeated: sender.statistics.framesRetransmitted - repeated)
  }

  private mutating func carry(_ samples: [Int16], _ frame: Int) throws {
    now += 20_000_000
    let began = AudioPathProgram.threadNanoseconds()
    let mediaTime = UInt16(truncatingIfNeeded: frame * 2)
    let hasCopies = try Self.encode(
      samples, (frame * 960)..<(frame * 960 + 960), mediaTime, with: &sender, into: &body)
    let sent = AudioPathProgram.threadNanoseconds()
    sendNanoseconds += sent - began
    if random.unit() >= loss {
      let heading = AudioMediaFrame(
        length: .milliseconds20, isMarked: frame == 0, hasCopies: hasCopies, mediaTime: mediaTime)
      let bytes = body
      receiver.receive(bytes.span, heading, arrival: Instant(nanoseconds: now))
    }
    for _ in 0..<4 { Self.pull(from: &receiver, into: &step, Instant(nanoseconds: now)) }
    let request = receiver.pollRequest(now: Instant(nanoseconds: now))
    _ = receiver.pollReport(now: Instant(nanoseconds: now))
    receiveNanoseconds += AudioPathProgram.threadNanoseconds() - sent
    if let request { sender.handle(request) }
  }

  private static func encode(
    _ samples: [Int16], _ range: Range<Int>, _ mediaTime: UInt16, with sender: inout AudioSender,
    into body: inout [UInt8]
  ) throws -> Bool {
    var hasCopies = false
    body.removeAll(keepingCapacity: true)
    try body.append(addingCapacity: 2 * AudioFormat.maxPayloadByteCount) {
      (output) throws(OpusError) in
      hasCopies = try sender.encode(
        samples.span.extracting(range), mediaTime: mediaTime, into: &output)
    }
    return hasCopies
  }

  private static func pull(
    from receiver: inout AudioReceiver, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }
}
