package import LastMile
package import Primitives
import Wire

/// A prober and a reflector, the shipped machines, with nothing between them but two links: no
/// handshake, no seal (its bytes are counted), no other traffic unless asked for. Light enough for
/// thousands of probes.
package struct ProbeLine {
  private struct Datagram {
    var isUp: Bool
    var bytes: [UInt8]
    var byteCount: Int
  }

  package private(set) var prober: Prober
  package private(set) var reflector: ReflectorRun?
  package private(set) var up: SimulatedLink
  package private(set) var down: SimulatedLink
  package private(set) var now = Instant.zero
  /// Of the prober's events, in order.
  package private(set) var events: [(at: Instant, ProbeProgress)] = []
  /// When the reflector sent what, in bytes of IP packets.
  package private(set) var reflected: [(at: Instant, byteCount: Int)] = []
  package private(set) var sent: [(at: Instant, byteCount: Int)] = []
  /// Whether the reflector answers at all.
  package var isSilent = false
  /// Requests are no longer passed on from then on.
  package var isCutOffAt: Instant?
  /// What somebody else sends the same way.
  package var othersUp: CrossTraffic?
  package var othersDown: CrossTraffic?

  private let limits: ReflectorLimits
  private let clock: SimulatedClock
  private var random: RandomSource
  private var queue = EventQueue<Datagram>()
  private var packet: [UInt8] = []

  /// - Parameter seed: Decides what the links do and how far the reflector's clock is off.
  package init(
    _ plan: ProbePlan, up: LinkConditions, down: LinkConditions, seed: UInt64,
    limits: ReflectorLimits = ReflectorLimits()
  ) {
    var random = RandomSource(seed: seed)
    self.up = SimulatedLink(up, random: random.split())
    self.down = SimulatedLink(down, random: random.split())
    self.limits = limits
    clock = SimulatedClock(
      origin: Instant(nanoseconds: random.next() >> 16),
      partsPerMillion: Int64(random.below(100)) - 50)
    prober = Prober(
      plan, run: UInt32(truncatingIfNeeded: random.next()), overhead: SimulatedLink.headerByteCount,
      path: PathFacts(), now: .zero)
    packet.reserveCapacity(Primitives.Datagram.maximumByteCount)
    self.random = random
  }

  /// Runs to the end, or until `limit`; the report, if there is one.
  package mutating func run(until limit: Instant = Instant(nanoseconds: 60_000_000_000))
    -> LineReport?
  {
    drain()
    while !prober.isOver, step(until: limit) {}
    return report
  }

  package var report: LineReport? {
    for event in events.reversed() {
      if case .finished(let report) = event.1 { return report }
    }
    return nil
  }

  /// Goes on to the next thing that happens; `false` when that is after `limit`.
  package mutating func step(until limit: Instant) -> Bool {
    var next = earliest(prober.nextDeadline, queue.nextTime)
    let local = clock.local(now)
    if let deadline = reflector?.nextDeadline {
      next = earliest(next, deadline <= local ? now : clock.world(deadline))
    }
    guard let next, next <= limit else {
      now = max(now, limit)
      return false
    }
    now = max(now, next)
    while let datagram = queue.pop(at: now) { deliver(datagram) }
    prober.handleTimeout(now: now)
    reflector?.handleTimeout(now: clock.local(now))
    if reflector?.isOver == true { reflector = nil }
    drain()
    return true
  }

  package mutating func cancel() {
    prober.cancel(now: now)
    drain()
  }

  private mutating func deliver(_ datagram: Datagram) {
    var reader = FrameReader(datagram.bytes.span)
    let byteCount = datagram.byteCount + SimulatedLink.headerByteCount
    if !datagram.isUp { prober.noteReceived(byteCount: byteCount) }
    do throws(WireError) {
      while let frame = try reader.next() {
        if datagram.isUp {
          reflect(frame)
        } else {
          take(frame, in: datagram.bytes.span, byteCount: byteCount)
        }
      }
    } catch {
      preconditionFailure("our own frames parse: \(error)")
    }
  }

  private mutating func reflect(_ frame: Frame) {
    let local = clock.local(now)
    if isSilent { return }
    if let isCutOffAt, now >= isCutOffAt { return }
    switch frame {
    case .probeRequest(let request):
      if reflector == nil, !request.isOver {
        reflector = ReflectorRun(
          request, limits: limits, overhead: SimulatedLink.headerByteCount, now: local)
      } else {
        reflector?.handle(request, now: local)
      }
    case .probePacket(let packet): reflector?.handle(packet, ecn: 2, now: local)
    default: break
    }
  }

  private mutating func take(_ frame: Frame, in bytes: Span<UInt8>, byteCount: Int) {
    switch frame {
    case .probeAnswer(let answer): prober.handle(answer, now: now)
    case .probePacket(let packet): prober.handle(packet, byteCount: byteCount, ecn: 2, now: now)
    case .probeReport(let report): prober.handle(report, in: bytes, now: now)
    default: break
    }
  }

  private mutating func drain() {
    let local = clock.local(now)
    while true {
      packet.removeAll(keepingCapacity: true)
      var hasWritten = false
      packet.append(addingCapacity: Self.room) { output in
        hasWritten = prober.writeFrames(into: &output, tagByteCount: Self.seal, now: now)
      }
      guard hasWritten else { break }
      send(isUp: true)
    }
    while true {
      packet.removeAll(keepingCapacity: true)
      var hasWritten = false
      packet.append(addingCapacity: Self.room) { output in
        hasWritten =
          reflector?.writeFrames(into: &output, tagByteCount: Self.seal, now: local) ?? false
      }
      guard hasWritten else { break }
      send(isUp: false)
    }
    while let event = prober.pollEvent() { events.append((now, event)) }
  }

  private mutating func send(isUp: Bool) {
    let byteCount = packet.count + Self.seal
    let datagram = Datagram(isUp: isUp, bytes: packet, byteCount: byteCount)
    let passage: SimulatedLink.Passage
    othersUp?.send(over: &up, until: now, &random)
    othersDown?.send(over: &down, until: now, &random)
    if isUp {
      sent.append((now, byteCount + SimulatedLink.headerByteCount))
      passage = up.carry(byteCount: byteCount, at: now)
    } else {
      reflected.append((now, byteCount + SimulatedLink.headerByteCount))
      passage = down.carry(byteCount: byteCount, at: now)
    }
    guard passage.fate == .arrives else { return }
    queue.push(datagram, at: passage.arrival)
    if let duplicate = passage.duplicate { queue.push(datagram, at: duplicate) }
  }

  /// Header and tag of a sealed packet, which this world does without.
  private static let seal = 25
  private static let room = Primitives.Datagram.maximumByteCount
}
