import Primitives

/// A flow that is not a call.
protocol RivalFlow: AnyObject {
  func handle(_ event: LabEvent, in world: LabWorld)
  func receive(_ packet: LabPacket, in world: LabWorld)
}

/// A TCP sender with CUBIC (RFC 9438) and its receiver, selective acknowledgement assumed: one
/// acknowledgement a packet says which segment arrived. A long transfer, or short ones with pauses
/// (RFC 8868 §7.2).
final class CubicFlow: RivalFlow {
  private let index: Int
  private let spec: FlowSpec
  private let isShort: Bool
  private var random: RandomSource

  private var window = 10.0
  private var threshold = Double.infinity
  private var windowAtLoss = 0.0
  private var epoch: UInt64?
  private var origin = 0.0
  private var friendly = 0.0
  /// Segments: next new one, those under way, and those to repeat.
  private var next: UInt64 = 0
  private var flight: [UInt64: UInt64] = [:]
  private var repeats: [UInt64] = []
  private var recoveryEnd: UInt64 = 0
  private var highest: UInt64 = 0
  private var smoothed = 0.0
  private var variation = 0.0
  private var lastProgress: UInt64 = 0
  /// Of a short transfer: what is left to send.
  private var left = Int.max
  private var isIdle = false

  init(_ index: Int, _ spec: FlowSpec, isShort: Bool, random: inout RandomSource) {
    self.index = index
    self.spec = spec
    self.isShort = isShort
    self.random = random.split()
  }

  func handle(_ event: LabEvent, in world: LabWorld) {
    switch event.kind {
    case .begin:
      beginTransfer(in: world)
      world.schedule(.senderTimer, flow: index, at: world.now + 100_000_000)
    case .senderTimer:
      world.schedule(.senderTimer, flow: index, at: world.now + 100_000_000)
      checkTimeout(in: world)
    case .retransmission: beginTransfer(in: world)
    default: break
    }
  }

  private func beginTransfer(in world: LabWorld) {
    left = isShort ? Int(30_000 + random.next() % 20_000) / Self.payload : .max
    window = 10
    threshold = .infinity
    epoch = nil
    isIdle = false
    lastProgress = world.now
    fill(in: world)
  }

  private func fill(in world: LabWorld) {
    guard Double(world.now) / 1e9 < spec.stop else { return }
    while Double(flight.count) < window {
      if let segment = repeats.popLast() {
        transmit(segment, in: world)
      } else if left > 0 {
        if left != .max { left -= 1 }
        transmit(next, in: world)
        next += 1
      } else {
        break
      }
    }
    if isShort, left == 0, flight.isEmpty, repeats.isEmpty, !isIdle {
      isIdle = true
      // Exponential with mean 10 s, by inversion in steps.
      var pause: UInt64 = 0
      while random.unit() < 0.9 { pause += 1_000_000_000 }
      world.schedule(.retransmission, flow: index, at: world.now + pause + 500_000_000)
    }
  }

  private func transmit(_ segment: UInt64, in world: LabWorld) {
    flight[segment] = world.now
    var packet = LabPacket()
    packet.flow = Int32(index)
    packet.content = .segment
    packet.byteCount = 1_500
    packet.number = segment
    packet.sent = world.now
    world.send(packet)
  }

  func receive(_ packet: LabPacket, in world: LabWorld) {
    guard packet.isReverse else {
      var reply = packet
      reply.isReverse = true
      reply.hop = 0
      reply.content = .acknowledgement
      reply.byteCount = 52
      return world.send(reply)
    }
    acknowledge(packet, in: world)
    fill(in: world)
  }

  private func acknowledge(_ packet: LabPacket, in world: LabWorld) {
    guard flight.removeValue(forKey: packet.number) != nil else { return }
    lastProgress = world.now
    let sample = Double(world.now - packet.sent) / 1e9
    smoothed = smoothed == 0 ? sample : smoothed * 0.875 + sample * 0.125
    variation = variation * 0.75 + abs(sample - smoothed) * 0.25
    highest = max(highest, packet.number)
    // What was sent before it, and is three below it, is lost.
    var lost: [UInt64] = []
    for (segment, sent) in flight where segment + 3 <= highest && sent + 3 < packet.sent {
      lost.append(segment)
    }
    if !lost.isEmpty {
      lost.sort(by: >)
      for segment in lost { flight.removeValue(forKey: segment) }
      repeats += lost
      if packet.sent >= recoveryEnd { reduce(at: world.now) }
    } else {
      grow(at: world.now)
    }
  }

  private func reduce(at now: UInt64) {
    recoveryEnd = now
    windowAtLoss = window < windowAtLoss ? window * 0.85 : window
    window = max(2, window * 0.7)
    threshold = window
    epoch = nil
  }

  private func grow(at now: UInt64) {
    guard window >= threshold else {
      window += 1
      return
    }
    let began = epoch ?? now
    if epoch == nil {
      epoch = now
      friendly = window
      origin = Self.cubeRoot(max(0, windowAtLoss - window) / 0.4)
    }
    let time = Double(now - began) / 1e9 + smoothed
    let distance = time - origin
    let target = min(
      max(0.4 * distance * distance * distance + max(windowAtLoss, window), window),
      window * 1.5)
    friendly += 0.53 / max(friendly, 1)
    if target > window { window += (target - window) / window } else { window += 0.01 / window }
    window = max(window, min(friendly, window + 1))
  }

  private func checkTimeout(in world: LabWorld) {
    guard !flight.isEmpty else { return }
    let limit = UInt64(max(0.2, smoothed + 4 * variation) * 1e9)
    guard world.now - lastProgress > max(limit, 1_000_000_000) else { return }
    repeats += flight.keys.sorted(by: >)
    flight.removeAll()
    threshold = max(2, window / 2)
    windowAtLoss = window
    window = 1
    lastProgress = world.now
    fill(in: world)
  }

  private static func cubeRoot(_ value: Double) -> Double {
    guard value > 0 else { return 0 }
    var root = max(1, value / 3)
    for _ in 0..<40 { root -= (root * root * root - value) / (3 * root * root) }
    return root
  }

  private static let payload = 1_448
}
