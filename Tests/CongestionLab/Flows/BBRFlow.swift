import Primitives

/// A TCP sender with BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), and its
/// receiver, as Linux has it: one acknowledgement a packet says which segment arrived. A long
/// transfer.
final class BBRFlow: RivalFlow {
  private enum Phase { case startUp, drain, probeBandwidth, probeRTT }

  /// A segment under way: when it left, and what had been delivered by then, and when that was.
  private struct Flight {
    var sent: UInt64
    var delivered: Int
    var deliveredAt: UInt64
  }

  private let index: Int
  private let spec: FlowSpec
  private var random: RandomSource
  private var phase = Phase.startUp
  private var gain = BBRFlow.highGain
  private var windowGain = BBRFlow.highGain
  private var flight: [UInt64: Flight] = [:]
  private var repeats: [UInt64] = []
  private var next: UInt64 = 0
  private var highest: UInt64 = 0
  private var nextSend: UInt64 = 0
  private var isWaking = false
  private var delivered = 0
  private var deliveredAt: UInt64 = 0
  private var round = 0
  private var roundEnd = 0
  /// The greatest rate of each of the last rounds, bit/s.
  private var rates: [(round: Int, rate: Double)] = []
  private var roundTrip: (value: UInt64, since: UInt64) = (.max, 0)
  private var fullRate = 0.0
  private var fullRounds = 0
  private var cycle = 0
  private var cycleBegin: UInt64 = 0
  private var probeEnd: UInt64?
  private var lastProgress: UInt64 = 0

  init(_ index: Int, _ spec: FlowSpec, random: inout RandomSource) {
    self.index = index
    self.spec = spec
    self.random = random.split()
  }

  func handle(_ event: LabEvent, in world: LabWorld) {
    switch event.kind {
    case .begin:
      (deliveredAt, lastProgress, roundTrip.since) = (world.now, world.now, world.now)
      world.schedule(.senderTimer, flow: index, at: world.now + 100_000_000)
      fill(in: world)
    case .senderWake:
      isWaking = false
      fill(in: world)
    case .senderTimer:
      world.schedule(.senderTimer, flow: index, at: world.now + 100_000_000)
      checkTimeout(in: world)
    default: break
    }
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
    acknowledge(packet, at: world.now)
    fill(in: world)
  }

  // MARK: - Sending

  private func fill(in world: LabWorld) {
    guard Double(world.now) / 1e9 < spec.stop else { return }
    while Double(flight.count) < window {
      guard world.now >= nextSend else { return wake(in: world) }
      if let segment = repeats.popLast() {
        transmit(segment, in: world)
      } else {
        transmit(next, in: world)
        next += 1
      }
    }
  }

  private func wake(in world: LabWorld) {
    guard !isWaking else { return }
    isWaking = true
    world.schedule(.senderWake, flow: index, at: nextSend)
  }

  private func transmit(_ segment: UInt64, in world: LabWorld) {
    if flight.isEmpty { deliveredAt = world.now }
    flight[segment] = Flight(sent: world.now, delivered: delivered, deliveredAt: deliveredAt)
    let gap = Self.packetBits / (gain * max(rate, Self.leastRate)) * 1e9
    nextSend = max(world.now, nextSend) + UInt64(gap)
    var packet = LabPacket()
    packet.flow = Int32(index)
    packet.content = .segment
    packet.byteCount = 1_500
    packet.number = segment
    packet.sent = world.now
    world.send(packet)
  }

  /// Packets under way at most.
  private var window: Double {
    if phase == .probeRTT { return 4 }
    guard roundTrip.value != .max, rate > 0 else { return 10 }
    return max(4, windowGain * product + 3)
  }

  /// What the path holds without a queue, packets.
  private var product: Double { rate * Double(roundTrip.value) / 1e9 / Self.packetBits }

  private var rate: Double { rates.map(\.rate).max() ?? 0 }

  // MARK: - Acknowledgements

  private func acknowledge(_ packet: LabPacket, at now: UInt64) {
    guard let sent = flight.removeValue(forKey: packet.number) else { return }
    lastProgress = now
    delivered += 1
    deliveredAt = now
    highest = max(highest, packet.number)
    updateRate(sent, now: now)
    updateRoundTrip(now - sent.sent, now: now)
    // What was sent before it, and is three below it, is lost.
    let lost = flight.filter { $0.key + 3 <= highest && $0.value.sent + 3 < sent.sent }
      .map(\.key).sorted(by: >)
    for segment in lost { flight.removeValue(forKey: segment) }
    repeats += lost
    advance(now: now)
  }

  private func updateRate(_ sent: Flight, now: UInt64) {
    if sent.delivered >= roundEnd {
      round += 1
      roundEnd = delivered
      rates.removeAll { $0.round <= round - Self.rateRounds }
      checkFull()
    }
    let span = max(now - sent.deliveredAt, 1)
    let sample = Double(delivered - sent.delivered) * Self.packetBits / Double(span) * 1e9
    if let place = rates.firstIndex(where: { $0.round == round }) {
      rates[place].rate = max(rates[place].rate, sample)
    } else {
      rates.append((round, sample))
    }
  }

  /// Three rounds without a quarter more: the path is full.
  private func checkFull() {
    guard phase == .startUp else { return }
    if rate >= fullRate * 1.25 {
      (fullRate, fullRounds) = (rate, 0)
    } else {
      fullRounds += 1
    }
  }

  private func updateRoundTrip(_ sample: UInt64, now: UInt64) {
    let isOld = now - roundTrip.since > Self.roundTripMemory
    if sample <= roundTrip.value || isOld { roundTrip = (sample, now) }
    guard isOld, phase != .probeRTT else { return }
    phase = .probeRTT
    gain = 1
    probeEnd = nil
  }

  private func advance(now: UInt64) {
    switch phase {
    case .startUp where fullRounds >= 3:
      (phase, gain) = (.drain, 1 / Self.highGain)
    case .drain where Double(flight.count) <= product: enterProbe(now: now)
    case .probeBandwidth: advanceCycle(now: now)
    case .probeRTT:
      if probeEnd == nil, flight.count <= 4 { probeEnd = now + 200_000_000 }
      if let end = probeEnd, now >= end {
        roundTrip.since = now
        enterProbe(now: now)
      }
    default: break
    }
  }

  private func enterProbe(now: UInt64) {
    (phase, windowGain) = (.probeBandwidth, 2)
    // Any phase but the one that empties the queue.
    cycle = [0, 2, 3, 4, 5, 6, 7][Int(random.next() % 7)]
    (gain, cycleBegin) = (Self.gains[cycle], now)
  }

  private func advanceCycle(now: UInt64) {
    let isLong = now - cycleBegin > roundTrip.value
    let isDone =
      switch Self.gains[cycle] {
      case 1.25: isLong && (Double(flight.count) >= 1.25 * product || !repeats.isEmpty)
      case 0.75: isLong || Double(flight.count) <= product
      default: isLong
      }
    guard isDone else { return }
    cycle = (cycle + 1) % Self.gains.count
    (gain, cycleBegin) = (Self.gains[cycle], now)
  }

  private func checkTimeout(in world: LabWorld) {
    guard !flight.isEmpty, world.now - lastProgress > 1_000_000_000 else { return }
    repeats += flight.keys.sorted(by: >)
    flight.removeAll()
    lastProgress = world.now
    fill(in: world)
  }

  private static let highGain = 2.885
  private static let gains = [1.25, 0.75, 1, 1, 1, 1, 1, 1]
  private static let rateRounds = 10
  private static let roundTripMemory: UInt64 = 10_000_000_000
  private static let packetBits = 12_000.0
  /// Before the first sample: ten packets in a millisecond.
  private static let leastRate = 1_000_000.0
}
