import Primitives
import Testing

@testable import Audio

/// Parities of packets, and what comes back from them.
@Suite struct ParityRepairTests {
  private static func packet(_ number: Int, _ random: inout RandomSource) -> [UInt8] {
    (0..<(40 + number % 60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func add(
    _ first: (time: UInt16, bytes: [UInt8]), _ second: (time: UInt16, bytes: [UInt8]),
    to repair: inout ParityRepair
  ) {
    let count = max(first.bytes.count, second.bytes.count)
    let sum = (0..<count).map { index in
      (index < first.bytes.count ? first.bytes[index] : 0)
        ^ (index < second.bytes.count ? second.bytes[index] : 0)
    }
    repair.add(
      sum.span, lengthSum: UInt16(first.bytes.count ^ second.bytes.count), of: first.time,
      and: second.time)
  }

  private static func drain(_ repair: inout ParityRepair) -> [UInt16: [UInt8]] {
    var found: [UInt16: [UInt8]] = [:]
    while let restored = repair.next() {
      found[restored.mediaTime] = bytes(of: restored, in: repair)
    }
    return found
  }

  private static func bytes(
    of restored: ParityRepair.Restored, in repair: borrowing ParityRepair
  ) -> [UInt8] {
    let payload = repair.payload(of: restored)
    return (0..<payload.count).map { payload[$0] }
  }

  /// Goal: whatever comes back is what was sent, to the byte, and at 5 % of loss nearly all does.
  @Test(arguments: [1, 2, 3] as [UInt64]) func `gives back what was sent`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var repair = ParityRepair()
    var packets: [[UInt8]] = []
    var (lost, found) = (0, 0)
    for number in 0..<4000 {
      packets.append(Self.packet(number, &random))
      let times = (number - 3...number).map { UInt16(truncatingIfNeeded: 65_000 + 2 * $0) }
      guard random.next() % 20 != 0 else {
        lost += 1
        continue
      }
      let packet = packets[number]
      repair.addFrame(packet.span, mediaTime: times[3])
      if number >= 3 {
        Self.add((times[2], packets[number - 1]), (times[0], packets[number - 3]), to: &repair)
      }
      for (time, bytes) in Self.drain(&repair) {
        let age = Int(times[3] &- time) / 2
        #expect(bytes == packets[number - age], "EARSHOT_SEED=\(seed)")
        found += 1
      }
    }
    #expect(lost > 150 && found * 100 >= lost * 99 - 300)
  }

  @Test func `one that is found completes the next`() {
    var random = RandomSource(seed: 4)
    let packets = (0..<6).map { Self.packet(7 * $0, &random) }
    var repair = ParityRepair()
    let first = packets[0]
    repair.addFrame(first.span, mediaTime: 0)
    Self.add((2, packets[1]), (4, packets[2]), to: &repair)
    #expect(Self.drain(&repair).isEmpty)
    Self.add((4, packets[2]), (0, packets[0]), to: &repair)
    #expect(Self.drain(&repair) == [2: packets[1], 4: packets[2]])
    Self.add((2, packets[1]), (4, packets[2]), to: &repair)
    #expect(Self.drain(&repair).isEmpty, "both are there")
  }

  @Test func `media times come round, old parities do not`() {
    var random = RandomSource(seed: 5)
    let packets = (0..<40).map { Self.packet(7 * $0, &random) }
    for (others, isKept) in [(20, true), (30, false)] {
      var repair = ParityRepair()
      Self.add((2, packets[1]), (4, packets[2]), to: &repair)
      for number in 0..<others {
        let packet = packets[3 + number]
        repair.addFrame(packet.span, mediaTime: UInt16(6 + 2 * number))
      }
      let late = packets[1]
      repair.addFrame(late.span, mediaTime: 2)
      #expect(Self.drain(&repair) == (isKept ? [4: packets[2]] : [:]))
    }
  }

  @Test func `lengths that cannot be give nothing`() {
    var repair = ParityRepair()
    let packet = [UInt8](repeating: 3, count: 80)
    repair.addFrame(packet.span, mediaTime: 0)
    for sum in [80, 0x8000, 0xFFFF, 80 ^ 81] as [UInt16] {
      repair.add(packet.span, lengthSum: sum, of: 2, and: 0)
      #expect(Self.drain(&repair).isEmpty)
    }
    let short = [UInt8](repeating: 1, count: 10)
    repair.add(short.span, lengthSum: 80 ^ 5, of: 2, and: 0)
    #expect(Self.drain(&repair).isEmpty, "shorter than a packet in it")
  }
}
