import Congestion
import Messaging
import Primitives
import Testing
import Wire

/// One MSG as a witness on the wire sees it.
struct Sighting: Equatable {
  var milliseconds: UInt64
  var stream: UInt8
  var sequence: UInt32
  var index: UInt8
  var count: UInt8
}

func sightings(in packet: [UInt8], at now: Instant) -> [Sighting] {
  var reader = FrameReader(packet.span)
  var all: [Sighting] = []
  while let frame = try? reader.next() {
    guard case .message(let message, _) = frame else { continue }
    all.append(
      Sighting(
        milliseconds: now.nanoseconds / 1_000_000, stream: message.stream.rawValue,
        sequence: message.sequence, index: message.fragmentIndex, count: message.fragmentCount))
  }
  return all
}

/// Writes one packet, sends it under `number`, and says what is in it.
func packet(
  _ channel: inout MessageChannel, number: UInt64, at milliseconds: UInt64, room: Int = 1175
) -> [Sighting] {
  let bytes = [UInt8](capacity: 1200) { output in
    if channel.writeFrames(into: &output, room: room) {
      channel.didSend(number, now: at(milliseconds))
    }
  }
  return sightings(in: bytes, at: at(milliseconds))
}

func drain(_ channel: inout MessageChannel) -> [MessageEvent] {
  var events: [MessageEvent] = []
  while let event = channel.poll() { events.append(event) }
  return events
}

@Suite struct ProbeTimerTests {
  static let start = at(1000)

  /// 300 ms before a sample, doubling to 2 s; the message's life ends on the dot, and from then on
  /// the notice is what is repeated.
  @Test func `repeats after 300, 600, then 1000 milliseconds, and gives up at the end`() throws {
    var channel = MessageChannel(limits: .peer)
    let tag = try channel.send([1, 2, 3], on: .callControl, life: .seconds(8), now: Self.start)
    var number: UInt64 = 0
    var seen = packet(&channel, number: number, at: 1000)
    var failed: [Instant] = []
    while let deadline = channel.nextDeadline, deadline < at(14_000) {
      channel.handleTimeout(now: deadline)
      for event in drain(&channel) {
        #expect(event == .failed(tag))
        failed.append(deadline)
      }
      number += 1
      seen += packet(&channel, number: number, at: deadline.nanoseconds / 1_000_000)
    }
    #expect(failed == [at(9000)])
    #expect(
      seen.map(\.milliseconds)
        == [1000, 1300] + stride(from: 1900, through: 8900, by: 1000)
        + stride(from: 9000, through: 13_000, by: 1000))
    #expect(seen.map(\.count) == Array(repeating: 1, count: 10) + Array(repeating: 0, count: 5))
  }

  @Test func `an estimate replaces the 300 milliseconds, and an answer the back-off`() throws {
    var channel = MessageChannel(limits: .peer)
    channel.updateProbeTimeout(70_000_000)
    try channel.send([1], on: .callControl, life: .seconds(60), now: Self.start)
    try channel.send([2], on: .callControl, life: .seconds(60), now: Self.start)
    #expect(packet(&channel, number: 0, at: 1000, room: 11).map(\.sequence) == [0])
    #expect(packet(&channel, number: 1, at: 1010, room: 11).map(\.sequence) == [1])
    #expect(channel.nextDeadline == at(1080))
    channel.handleTimeout(now: at(1079))
    #expect(!channel.hasFramesToSend)
    channel.handleTimeout(now: at(1080))
    #expect(packet(&channel, number: 2, at: 1080).map(\.sequence) == [0, 1])
    #expect(channel.nextDeadline == at(1220))
    channel.packetAcknowledged(0)
    #expect(channel.nextDeadline == at(1150))
    channel.packetAcknowledged(2)
    #expect(channel.isIdle == false)  // its events wait
    #expect(drain(&channel).count == 2)
    #expect(channel.isIdle)
  }

  @Test func `a probe goes although the window is full, and there are never more than 32`() throws {
    var channel = MessageChannel(limits: .peer)
    for _ in 0..<50 {
      try channel.send(
        [UInt8](repeating: 0, count: 1100), on: .rendezvous, life: .seconds(60), now: Self.start)
    }
    var number: UInt64 = 0
    while !packet(&channel, number: number, at: 1000).isEmpty { number += 1 }
    #expect(number == 32)
    #expect(!channel.hasFramesToSend)
    channel.handleTimeout(now: at(1300))
    var probes: [Sighting] = []
    while true {
      let seen = packet(&channel, number: number, at: 1300)
      if seen.isEmpty { break }
      probes += seen
      number += 1
    }
    #expect(probes.map(\.sequence) == [0, 1])
    #expect(channel.packetsInFlight == 32)
  }

  @Test func `the window halves once a round trip and grows by one`() throws {
    var channel = MessageChannel(limits: .peer)
    for _ in 0..<200 {
      try channel.send(
        [UInt8](repeating: 0, count: 1100), on: .application(9, isOrdered: false),
        life: .seconds(60), now: Self.start)
    }
    var number: UInt64 = 0
    func fill() {
      while !packet(&channel, number: number, at: 1000).isEmpty { number += 1 }
    }
    fill()
    #expect(channel.packetsInFlight == 32)
    for lost in 0..<10 as Range<UInt64> { channel.packetLost(lost) }
    #expect(channel.packetsInFlight == 22)
    fill()
    #expect(channel.packetsInFlight == 22)  // the window is 16 now, once for all ten
    for old in 10..<32 as Range<UInt64> { channel.packetAcknowledged(old) }
    fill()
    #expect(channel.packetsInFlight == 17)
    channel.packetLost(number - 1)
    fill()
    #expect(channel.packetsInFlight == 16)
    for round in 0..<10 {
      for sent in 0..<number { channel.packetLost(sent) }
      fill()
      #expect(channel.packetsInFlight >= 2, "round \(round)")
    }
    #expect(channel.packetsInFlight == 2)
  }
}
