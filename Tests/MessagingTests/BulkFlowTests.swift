import Messaging
import Primitives
import Testing
import Wire

/// Bulk: packets of its own, a window of its own, and no place of anything urgent.
struct BulkFlowTests {
  private static let stream = StreamID.application(9)

  private static func bulk(_ channel: inout MessageChannel, count: Int = 4) throws {
    for _ in 0..<count {
      try channel.send(
        [UInt8](repeating: 7, count: 64_900), on: stream, life: .seconds(60), isBulk: true,
        now: at(1000))
    }
  }

  private static func writeBulk(_ channel: inout MessageChannel, number: UInt64) -> Int {
    [UInt8](capacity: 1200) { output in
      if channel.writeBulkFrames(into: &output, room: 1175) {
        channel.didSend(number, now: at(1000))
      }
    }.count
  }

  private static func write(_ channel: inout MessageChannel, number: UInt64) -> Int {
    [UInt8](capacity: 1200) { output in
      if channel.writeFrames(into: &output, room: 1175) { channel.didSend(number, now: at(1000)) }
    }.count
  }

  @Test func `bulk goes only where its owner says, and what is urgent beside it`() throws {
    var channel = MessageChannel(limits: .peer)
    try Self.bulk(&channel)
    #expect(channel.hasBulk && channel.hasBulkToSend && !channel.hasFramesToSend)
    #expect(Self.write(&channel, number: 0) == 0)
    #expect(Self.writeBulk(&channel, number: 0) == 1110)
    // The places of bulk are all taken; those of others are not.
    #expect(throws: MessageError.queueFull) { try Self.bulk(&channel, count: 2) }
    try channel.send([1], on: .callControl, life: .seconds(8), now: at(1000))
    try channel.send([2], on: .application(10), life: .seconds(8), now: at(1000))
    #expect(channel.hasFramesToSend)
    #expect(Self.write(&channel, number: 1) == 22)
    #expect(!channel.hasFramesToSend && channel.hasBulkToSend)
  }

  @Test func `a loss makes no window of bulk smaller, and is repeated as bulk`() throws {
    var channel = MessageChannel(limits: .peer)
    channel.handle(CreditFrame(total: 4 << 20))
    try Self.bulk(&channel)
    var number: UInt64 = 0
    while channel.packetsInFlight < 200, Self.writeBulk(&channel, number: number) > 0 {
      number += 1
    }
    #expect(channel.packetsInFlight == 200)
    for lost in 0..<40 as Range<UInt64> { channel.packetLost(lost * 5) }
    #expect(channel.packetsInFlight == 160 && !channel.hasFramesToSend)
    while channel.packetsInFlight < 230, Self.writeBulk(&channel, number: number) > 0 {
      number += 1
    }
    #expect(channel.packetsInFlight == 230)
  }

  @Test func `so many packets of bulk are under way and no more`() throws {
    var channel = MessageChannel(limits: .peer)
    channel.handle(CreditFrame(total: 4 << 20))
    var number: UInt64 = 0
    for _ in 0..<20 {
      try? Self.bulk(&channel, count: 1)
      while Self.writeBulk(&channel, number: number) > 0 { number += 1 }
    }
    #expect(channel.packetsInFlight == 768 && !channel.hasBulkToSend)
  }

  @Test func `a receiver that makes room says so at once, up to 4 MiB`() throws {
    var channel = MessageChannel(limits: .peer)
    #expect(channel.takeCredit() == nil)
    channel.widen(to: 1 << 20)
    #expect(channel.takeCredit() == CreditFrame(total: 1 << 20))
    channel.widen(to: 1000)
    #expect(channel.takeCredit() == nil)
    channel.widen(to: .max)
    #expect(channel.takeCredit() == CreditFrame(total: 4 << 20))
  }
}
