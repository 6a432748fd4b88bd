import LinkModel
import Primitives

/// A case as it runs: links, flows, and what is to happen next.
package final class LabWorld {
  var now: UInt64 = 0
  let end: UInt64
  let seed: UInt64
  package var endTime: UInt64 { end }
  private var links: [SimulatedLink]
  private let linkSpecs: [LinkSpec]
  package private(set) var logs: [LinkLog]
  package internal(set) var media: [Int: MediaFlow] = [:]
  var rivals: [Int: any RivalFlow] = [:]
  /// Of those flows that say so.
  var uplink = SharedUplink()
  private var mediaByIndex: [MediaFlow?] = []
  private let specs: [FlowSpec]
  private var calendar = LabCalendar()
  private var pool: [LabPacket] = []
  private var free: [Int32] = []

  package init(
    links: [LinkSpec], flows: [FlowSpec], seconds: Double, seed: UInt64, keepsSeries: Bool = false
  ) {
    var random = RandomSource(seed: seed)
    end = UInt64(seconds * 1e9)
    self.seed = seed
    self.links = links.map { SimulatedLink($0.conditions, random: random.split()) }
    linkSpecs = links
    specs = flows
    logs = links.map { _ in LinkLog(flowCount: flows.count) }
    for (index, spec) in flows.enumerated() {
      // Nobody starts on the tick.
      let start = UInt64(spec.start * 1e9) + random.next() % 20_000_000
      if case .media = spec.kind {
        let flow = MediaFlow(index, spec, start: start, random: &random)
        flow.keepsSeries = keepsSeries
        media[index] = flow
        mediaByIndex.append(flow)
      } else {
        rivals[index] =
          spec.kind == .bbr
          ? BBRFlow(index, spec, random: &random)
          : CubicFlow(index, spec, isShort: spec.kind == .shortCubic, random: &random)
        mediaByIndex.append(nil)
      }
      schedule(.begin, flow: index, at: start)
    }
  }

  package func run() {
    while let event = calendar.pop(), event.time < end {
      now = event.time
      let flow = Int(event.flow)
      if event.kind == .hop {
        arrive(event.packet)
      } else if let media = mediaByIndex[flow] {
        media.handle(event, in: self)
      } else {
        rivals[flow]?.handle(event, in: self)
      }
    }
    for flow in media.values { flow.finish() }
  }

  // MARK: What flows do

  func schedule(_ kind: LabEvent.Kind, flow: Int, at time: UInt64, packet: Int32 = -1) {
    calendar.push(
      LabEvent(time: max(time, now), kind: kind, flow: Int32(flow), packet: packet))
  }

  /// Puts a packet on its way.
  func send(_ packet: LabPacket) {
    let index: Int32
    if let last = free.popLast() {
      index = last
      pool[Int(index)] = packet
    } else {
      index = Int32(pool.count)
      pool.append(packet)
    }
    let delay = UInt64(specs[Int(packet.flow)].ownDelay * 1e6)
    schedule(.hop, flow: Int(packet.flow), at: now + delay, packet: index)
  }

  // MARK: The way

  private func arrive(_ index: Int32) {
    var packet = pool[Int(index)]
    let spec = specs[Int(packet.flow)]
    let way = packet.isReverse ? spec.reverse : spec.forward
    guard packet.hop < way.count else {
      pool[Int(index)].bytes = []
      free.append(index)
      if let flow = mediaByIndex[Int(packet.flow)] {
        return flow.receive(&packet, in: self)
      }
      rivals[Int(packet.flow)]?.receive(packet, in: self)
      return
    }
    carry(index, packet, over: way[packet.hop])
  }

  private func carry(_ index: Int32, _ packet: LabPacket, over link: Int) {
    let flow = Int(packet.flow)
    if !linkSpecs[link].lossy.isEmpty {
      links[link].conditions.loss = linkSpecs[link].loss(at: now)
    }
    let passage = links[link].carry(
      byteCount: packet.byteCount - SimulatedLink.headerByteCount,
      at: Instant(nanoseconds: now), isECNCapable: packet.isECT)
    note(passage, of: packet, over: link)
    guard passage.fate == .arrives else {
      if packet.content == .audio { mediaByIndex[flow]?.noteAudioLost() }
      free.append(index)
      return
    }
    pool[Int(index)].hop += 1
    if passage.isMarked { pool[Int(index)].isMarked = true }
    schedule(.hop, flow: flow, at: passage.arrival.nanoseconds, packet: index)
  }

  private func note(_ passage: SimulatedLink.Passage, of packet: LabPacket, over link: Int) {
    let flow = Int(packet.flow)
    logs[link].offered[flow] += 1
    switch passage.fate {
    case .queueFull:
      logs[link].dropped[flow] += 1
      logs[link].droppedAt.append(now)
    case .blackedOut:
      logs[link].lost[flow] += 1
      logs[link].droppedAt.append(now)
      mediaByIndex[flow]?.noteOutage(packet.byteCount)
    case .lost, .arrives:
      logs[link].entries.append(
        LinkLog.Entry(
          entered: now, departure: passage.departure.nanoseconds,
          wait: UInt64(passage.wait.nanoseconds), byteCount: Int32(packet.byteCount),
          flow: Int16(flow), content: packet.content.rawValue))
      if passage.fate == .lost {
        logs[link].lost[flow] += 1
        logs[link].lostAt.append(now)
      }
    }
  }
}
