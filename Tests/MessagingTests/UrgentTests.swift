import Messaging
import Primitives
import Testing
import Wire

/// Messages that somebody waits for go again before an answer can be there.
@Suite struct UrgentTests {
  private static let start = at(1000)

  /// After 75 ms once, then every 150 ms in two packets, as long as it lives.
  @Test func `repeats what is urgent after 75 milliseconds, and then two packets at a time`() throws
  {
    var channel = MessageChannel(limits: .rendezvous)
    try channel.send(
      [1, 2, 3], on: .rendezvous, life: .seconds(8), isUrgent: true, now: Self.start)
    var number: UInt64 = 0
    var times = packet(&channel, number: number, at: 1000).map(\.milliseconds)
    while let deadline = channel.nextDeadline, deadline < at(9000) {
      channel.handleTimeout(now: deadline)
      while channel.hasFramesToSend {
        number += 1
        times += packet(&channel, number: number, at: deadline.nanoseconds / 1_000_000)
          .map(\.milliseconds)
      }
    }
    let pairs = stride(from: UInt64(1225), to: 9000, by: 150).flatMap { [$0, $0] }
    #expect(times == [1000, 1075] + pairs)
    channel.packetAcknowledged(number)
    #expect(drain(&channel).count == 1)
    #expect(channel.isIdle)
  }

  /// Where the round trip is short, so many would go that the wait doubles to the same 150 ms.
  @Test func `a short probe timeout doubles to 150 milliseconds`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    channel.updateProbeTimeout(30_000_000)
    try channel.send([1], on: .rendezvous, life: .seconds(8), isUrgent: true, now: Self.start)
    var times = packet(&channel, number: 0, at: 1000).map(\.milliseconds)
    var number: UInt64 = 0
    while let deadline = channel.nextDeadline, deadline < at(1700) {
      channel.handleTimeout(now: deadline)
      while channel.hasFramesToSend {
        number += 1
        times += packet(&channel, number: number, at: deadline.nanoseconds / 1_000_000)
          .map(\.milliseconds)
      }
    }
    #expect(times == [1000, 1030] + [1060, 1120, 1240, 1390, 1540, 1690].flatMap { [$0, $0] })
  }

  /// Each seventh time everything goes, which is a second apart.
  @Test func `what is not urgent goes again although what is urgent is never acknowledged`() throws
  {
    var channel = MessageChannel(limits: .rendezvous)
    try channel.send([1], on: .rendezvous, life: .seconds(30), now: Self.start)
    try channel.send([2], on: .rendezvous, life: .seconds(30), isUrgent: true, now: Self.start)
    var number: UInt64 = 0
    var times: [UInt64] = []
    func send(at milliseconds: UInt64) {
      while channel.hasFramesToSend {
        let seen = packet(&channel, number: number, at: milliseconds)
        times += seen.filter { $0.sequence == 0 }.map(\.milliseconds)
        number += 1
      }
    }
    send(at: 1000)
    while let deadline = channel.nextDeadline, deadline < at(12_000) {
      channel.handleTimeout(now: deadline)
      send(at: deadline.nanoseconds / 1_000_000)
    }
    #expect(times == [1000] + stride(from: 1975, to: 12_000, by: 1050))
  }

  @Test func `a shorter probe timeout is sooner, and an answer ends the haste`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    channel.updateProbeTimeout(40_000_000)
    try channel.send([1], on: .rendezvous, life: .seconds(8), isUrgent: true, now: Self.start)
    #expect(packet(&channel, number: 0, at: 1000).count == 1)
    #expect(channel.nextDeadline == at(1040))
    channel.handleTimeout(now: at(1040))
    #expect(packet(&channel, number: 1, at: 1040).count == 1)
    #expect(!channel.hasFramesToSend)
    channel.handleTimeout(now: at(1080))
    #expect(packet(&channel, number: 2, at: 1080).count == 1)
    channel.packetAcknowledged(0)
    #expect(!channel.hasFramesToSend)
  }

  /// What is lost of it must not be sent again, so it is given up; but not for the other's haste.
  @Test func `what is not urgent waits as long as ever`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    try channel.send([1], on: .rendezvous, life: .seconds(8), repeats: false, now: Self.start)
    try channel.send([2], on: .rendezvous, life: .seconds(8), isUrgent: true, now: Self.start)
    #expect(packet(&channel, number: 0, at: 1000).count == 2)
    for time in [1075, 1225, 1375] as [UInt64] {
      channel.handleTimeout(now: at(time))
      #expect(packet(&channel, number: time, at: time).map(\.sequence) == [1])
      if channel.hasFramesToSend { _ = packet(&channel, number: time + 1, at: time) }
      #expect(drain(&channel).isEmpty)
    }
  }

  /// The call's CONFIRM goes with each packet of audio until it is acknowledged.
  @Test func `what is urgent and short rides along until it is acknowledged`() throws {
    var channel = MessageChannel(limits: .peer)
    try channel.send([7], on: .callControl, life: .seconds(8), isUrgent: true, now: Self.start)
    try channel.send([8], on: .callControl, life: .seconds(8), now: Self.start)
    #expect(ride(&channel, number: 0, room: 64).isEmpty)
    #expect(packet(&channel, number: 1, at: 1000).map(\.sequence) == [0, 1])
    #expect(ride(&channel, number: 2, room: 10).isEmpty)
    for number in 3..<6 as Range<UInt64> {
      #expect(ride(&channel, number: number, room: 64).map(\.sequence) == [0])
      #expect(!channel.hasFramesToSend)
    }
    channel.packetAcknowledged(4)
    #expect(ride(&channel, number: 6, room: 64).isEmpty)
    #expect(drain(&channel).count == 1)
  }

  private func ride(_ channel: inout MessageChannel, number: UInt64, room: Int) -> [Sighting] {
    let bytes = [UInt8](capacity: 1200) { output in
      if channel.writeRiders(into: &output, room: room) {
        channel.didSend(number, now: Self.start)
      }
    }
    return sightings(in: bytes, at: Self.start)
  }
}
