import Audio
import Peer
import Primitives
import Reactor
import Synchronization
import Wire

@testable import Earshot

/// Keeps the arrivals of a call.
final class Arrivals: ArrivalSink {
  private let state = Mutex<(bytes: [UInt8], isFinished: Bool)>(([], false))

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var isFinished: Bool { state.withLock { $0.isFinished } }

  func write(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }
  func finish() { state.withLock { $0.isFinished = true } }
}

/// A source with what was captured so far and no more: 15 ms before the first tick, and 5 ms more
/// with each.
final class Microphone: AudioSource {
  private let state = Mutex<(captured: Int, shortReads: Int, longestRead: Int)>((720, 0, 0))
  let channelCount = 1

  var shortReads: Int { state.withLock { $0.shortReads } }
  var longestRead: Int { state.withLock { $0.longestRead } }

  func advance() { state.withLock { $0.captured += 240 } }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let count = state.withLock { state in
      let count = min(frameCount, state.captured)
      state.captured -= count
      state.longestRead = max(state.longestRead, frameCount)
      if count < frameCount { state.shortReads += 1 }
      return count
    }
    for index in 0..<count { samples[index] = Int16(index % 100 * 50) }
    return count
  }
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
  /// How many ticks the last visit of each has made already.
  private var ahead = (sender: 0, receiver: 0)
  /// Visits of the receiver: how often its thread would have woken.
  private(set) var receiverVisits = 0
  private let microphone: Microphone?
  /// What both ends are told that the uplink grants them.
  var allowedKilobits = 511
  /// What a line of a rate holds: packets, and when each comes out, in nanoseconds.
  private var queue: [(payload: [UInt8], label: AudioLabel)] = []
  private var busyUntil: UInt64 = 0
  /// How long everything waits on the line toward the receiver, in milliseconds.
  var standingQueue: UInt64 = 0

  static func make(
    _ microphone: Microphone? = nil, usesCopies: Bool = true
  ) throws -> PipelinePair {
    let fromRings = AudioRings(wake: try LoopWake())
    let toRings = AudioRings(wake: try LoopWake())
    let ear = Ear()
    let arrivals = Arrivals()
    var hears = CallOptions(source: Tone(), sink: ear)
    hears.arrivals = arrivals
    var speaks = CallOptions(source: microphone ?? Tone())
    speaks.usesFEC = usesCopies
    hears.usesFEC = usesCopies
    let sender = try AudioPipeline.make(speaks, channels: 1, rings: fromRings)
    let receiver = try AudioPipeline.make(hears, channels: 1, rings: toRings)
    return PipelinePair(sender, receiver, fromRings, toRings, (ear, arrivals), microphone)
  }

  private init(
    _ sender: consuming AudioPipeline, _ receiver: consuming AudioPipeline,
    _ fromRings: AudioRings, _ toRings: AudioRings, _ ends: (Ear, Arrivals),
    _ microphone: Microphone?
  ) {
    self.microphone = microphone
    self.sender = sender
    self.receiver = receiver
    self.fromRings = fromRings
    self.toRings = toRings
    (ear, arrivals) = ends
  }

  /// - Parameters:
  ///   - rate: of the line toward the receiver, in bit/s with 56 bytes of headers.
  ///   - isHeard: whether anything else of the sender comes meanwhile.
  ///   - isLost: told the number of each packet of audio toward the receiver, in this run.
  mutating func run(
    seconds: Int, rate: Int? = nil, isHeard: Bool = false, isLost: (Int) -> Bool = { _ in false }
  ) {
    var number = 0
    for _ in 0..<(seconds * 200) {
      ticks += 1
      let now = UInt64(1_000_000_000 + ticks * 5_000_000)
      let (own, later) = (Instant(nanoseconds: now), Instant(nanoseconds: now + 3_000_000))
      microphone?.advance()
      visit(own, later)
      let arrival = now + 10_000_000
      if isHeard { toRings.peerHeard.set(now) }
      if let rate { hold(rate, now) }
      if standingQueue > 0 { hold(.max, now + standingQueue * 1_000_000) }
      release(now)
      carry(fromRings, toRings, arrival) { kind in
        guard kind == .frame else { return false }
        number += 1
        return isLost(number - 1)
      }
      carry(toRings, fromRings, arrival) { _ in false }
      if let change = toRings.qualityChange.withLock({ $0.take() }) {
        changes.append(AudioQualityChange(change, jitterMs: 0))
      }
    }
  }

  private mutating func visit(_ own: Instant, _ later: Instant) {
    ahead.sender -= 1
    if ahead.sender < 0 { ahead.sender = sender.visit(now: own, due: own).ticksAhead }
    ahead.receiver -= 1
    if ahead.receiver < 0 {
      ahead.receiver = receiver.visit(now: later, due: later).ticksAhead
      receiverVisits += 1
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

  /// What was just sent, into the queue of a line.
  private mutating func hold(_ rate: Int, _ now: UInt64) {
    var isThere = true
    while isThere {
      isThere =
        fromRings.toSend.pop { payload, packed in
          let bits = (payload.count + 56) * 8
          busyUntil = max(busyUntil, now) + UInt64(bits * 1_000_000_000 / rate)
          var label = AudioLabel(packed)
          label.arrival = busyUntil + 10_000_000
          label.roundTrip = (smoothed: 40, minimum: 40)
          queue.append(((0..<payload.count).map { payload[$0] }, label))
          return true
        } ?? false
    }
  }

  private mutating func release(_ now: UInt64) {
    while let first = queue.first, first.label.arrival <= now + 10_000_000 {
      _ = toRings.received.push(first.payload.span, first.label.packed)
      queue.removeFirst()
    }
  }

  private func carry(
    _ from: AudioRings, _ to: AudioRings, _ arrival: UInt64, isLost: (AudioKind) -> Bool
  ) {
    var isThere = true
    while isThere {
      isThere =
        from.toSend.pop { payload, packed in
          var label = AudioLabel(packed)
          label.arrival = arrival
          label.allowedKilobits = allowedKilobits
          label.roundTrip = (smoothed: 40, minimum: 40)
          if !isLost(label.kind) { _ = to.received.push(payload, label.packed) }
          return true
        } ?? false
    }
  }
}
