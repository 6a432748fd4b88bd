import Audio
import Peer
import Primitives
import Reactor
import Synchronization

@testable import Earshot

/// Keeps the arrivals of a call.
final class Arrivals: ArrivalSink {
  private let state = Mutex<(bytes: [UInt8], isFinished: Bool)>(([], false))

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var isFinished: Bool { state.withLock { $0.isFinished } }

  func write(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }
  func finish() { state.withLock { $0.isFinished = true } }
}

/// The audio of both ends of a call in simulated time: what one encodes the other is given 10 ms
/// later, unless the line loses it.
struct PipelinePair: ~Copyable {
  let ear: Ear
  let arrivals: Arrivals
  private(set) var changes: [AudioQualityChange] = []
  private let toRings: AudioRings
  private let fromRings: AudioRings
  private var sender: AudioPipeline
  private var receiver: AudioPipeline
  private var ticks = 0

  static func make() throws -> PipelinePair {
    let fromRings = AudioRings(wake: try LoopWake())
    let toRings = AudioRings(wake: try LoopWake())
    let ear = Ear()
    let arrivals = Arrivals()
    var hears = CallOptions(source: Tone(), sink: ear)
    hears.arrivals = arrivals
    let sender = try AudioPipeline.make(
      CallOptions(source: Tone()), channels: 1, rings: fromRings)
    let receiver = try AudioPipeline.make(hears, channels: 1, rings: toRings)
    return PipelinePair(sender, receiver, fromRings, toRings, (ear, arrivals))
  }

  private init(
    _ sender: consuming AudioPipeline, _ receiver: consuming AudioPipeline,
    _ fromRings: AudioRings, _ toRings: AudioRings, _ ends: (Ear, Arrivals)
  ) {
    self.sender = sender
    self.receiver = receiver
    self.fromRings = fromRings
    self.toRings = toRings
    (ear, arrivals) = ends
  }

  /// - Parameters:
  ///   - isLost: told the number of each packet of audio toward the receiver, in this run.
  mutating func run(seconds: Int, isLost: (Int) -> Bool = { _ in false }) {
    var number = 0
    for _ in 0..<(seconds * 100) {
      ticks += 1
      let now = UInt64(1_000_000_000 + ticks * 10_000_000)
      let (own, later) = (Instant(nanoseconds: now), Instant(nanoseconds: now + 3_000_000))
      sender.tick(now: own, due: own)
      receiver.tick(now: later, due: later)
      let arrival = now + 10_000_000
      Self.carry(fromRings, toRings, arrival) { kind in
        guard kind == .frame else { return false }
        number += 1
        return isLost(number - 1)
      }
      Self.carry(toRings, fromRings, arrival) { _ in false }
      if let change = toRings.qualityChange.withLock({ $0.take() }) {
        changes.append(AudioQualityChange(change, jitterMs: 0))
      }
    }
  }

  mutating func setMuted(_ isMuted: Bool) {
    sender.isMuted = isMuted
    receiver.isRemoteMuted = isMuted
  }

  mutating func finish() { receiver.finish() }

  /// Of the end that hears, and of the one that speaks.
  var received: AudioNumbers { receiver.statistics }
  var sent: AudioNumbers { sender.statistics }

  private static func carry(
    _ from: AudioRings, _ to: AudioRings, _ arrival: UInt64, isLost: (AudioKind) -> Bool
  ) {
    var isThere = true
    while isThere {
      isThere =
        from.toSend.pop { payload, packed in
          var label = AudioLabel(packed)
          label.arrival = arrival
          label.roundTrip = (smoothed: 40, minimum: 40)
          if !isLost(label.kind) { _ = to.received.push(payload, label.packed) }
          return true
        } ?? false
    }
  }
}
