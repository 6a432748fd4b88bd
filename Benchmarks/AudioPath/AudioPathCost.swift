import AllocationCounter
import Audio
import Primitives
import Wire

/// One direction of a call's audio: an engine that speaks by a fixed plan, a line that loses by
/// seed, and an engine that hears and asks for what it lacks; each end timed for itself.
struct AudioPathCost: ~Copyable {
  /// What one run came to.
  struct Figures {
    var sendPercent: Double
    var receivePercent: Double
    var allocations: UInt64
    var framesSent: UInt64
    var repeated: UInt64
  }

  private var speaker: AudioEngine
  private var listener: AudioEngine
  private var random = RandomSource(seed: 7)
  private let loss: Double
  private var body: [UInt8] = []
  private var answer: [UInt8] = []
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
    var plan = RedundancyPlan()
    for distance in distances {
      plan.add(RedundancyPlan.Copy(distance: distance, isLowRate: true))
    }
    var settings = AudioEngine.Settings()
    settings.fixedPlan = plan
    return AudioPathCost(try AudioEngine(settings), try AudioEngine(settings), loss)
  }

  private init(
    _ speaker: consuming AudioEngine, _ listener: consuming AudioEngine, _ loss: Double
  ) {
    self.speaker = speaker
    self.listener = listener
    self.loss = loss
    body.reserveCapacity(AudioFormat.maxPayloadByteCount)
    answer.reserveCapacity(AudioFormat.maxPayloadByteCount)
  }

  /// All of `samples`; the first three seconds only warm up.
  private mutating func measure(_ samples: [Int16]) throws -> Figures {
    var allocations: UInt64 = 0
    let frames = samples.count / 960
    let warmUp = min(150, frames / 2)
    var repeated: UInt64 = 0
    for frame in 0..<frames {
      if frame == warmUp {
        sendNanoseconds = 0
        receiveNanoseconds = 0
        repeated = speaker.sender.statistics.framesRetransmitted
        allocations = allocation_total()
      }
      for _ in 0..<4 { try visit(samples, frame) }
    }
    allocations = allocation_total() - allocations
    let measured = Double(frames - warmUp) * 20e6
    return Figures(
      sendPercent: 100 * Double(sendNanoseconds) / measured,
      receivePercent: 100 * Double(receiveNanoseconds) / measured, allocations: allocations,
      framesSent: UInt64(frames - warmUp),
      repeated: speaker.sender.statistics.framesRetransmitted - repeated)
  }

  /// 5 ms at both ends.
  private mutating func visit(_ samples: [Int16], _ frame: Int) throws {
    now += 5_000_000
    let time = Instant(nanoseconds: now)
    let began = AudioPathProgram.threadNanoseconds()
    speaker.tick(now: time)
    if speaker.wantedSampleCount > 0 {
      let range = (frame * 960)..<(frame * 960 + 960)
      try speaker.capture(samples.span.extracting(range), channels: 1)
    }
    var header = Self.poll(&speaker, into: &body)
    let sent = AudioPathProgram.threadNanoseconds()
    sendNanoseconds += sent - began
    if let heading = header, random.unit() >= loss {
      try Self.give(body, heading, to: &listener, time)
    }
    listener.tick(now: time)
    Self.pull(from: &listener, into: &step, time)
    header = Self.poll(&listener, into: &answer)
    receiveNanoseconds += AudioPathProgram.threadNanoseconds() - sent
    while let heading = header {
      try Self.give(answer, heading, to: &speaker, time)
      header = Self.poll(&listener, into: &answer)
    }
  }

  private static func give(
    _ body: [UInt8], _ header: AudioBodyHeader, to engine: inout AudioEngine, _ now: Instant
  ) throws {
    let conditions = PathConditions(roundTrip: (40_000_000, 40_000_000))
    try engine.receive(body.span, header, arrival: now, conditions, now: now)
  }

  private static func poll(
    _ engine: inout AudioEngine, into body: inout [UInt8]
  ) -> AudioBodyHeader? {
    var header: AudioBodyHeader?
    body.removeAll(keepingCapacity: true)
    body.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      header = engine.pollTransmit(into: &$0)
    }
    return header
  }

  private static func pull(
    from engine: inout AudioEngine, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }
}
