import Glibc
import Primitives
import Testing

@testable import Reactor

struct SPSCRingTests {
  /// Compares the ring with an array, over random pushes and pops of random sizes.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `behaves like a queue that refuses when full`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    let ring = SPSCRing(
      slotCount: Int.random(in: 1...9, using: &random), slotByteCount: 40)
    var model: [(bytes: [UInt8], label: SPSCRing.Label)] = []
    var output: [UInt8] = []
    for step in 0..<400 {
      if Bool.random(using: &random) {
        let bytes = random.bytes(Int.random(in: 0...44, using: &random))
        let label = SPSCRing.Label(UInt64(step), random.next())
        let fits = bytes.count <= 40 && model.count < ring.slotCount
        #expect(ring.push(bytes.span, label) == fits, "EARSHOT_SEED=\(seed)")
        if fits { model.append((bytes, label)) }
      } else {
        output.removeAll(keepingCapacity: true)
        var label: SPSCRing.Label?
        output.append(addingCapacity: 40) { span in label = ring.pop(into: &span) }
        let expected = model.isEmpty ? nil : model.removeFirst()
        #expect(label == expected?.label, "EARSHOT_SEED=\(seed)")
        #expect(output == expected?.bytes ?? [], "EARSHOT_SEED=\(seed)")
      }
      #expect(ring.count == model.count)
    }
  }

  @Test func `an entry is written in place, or not at all`() {
    let ring = SPSCRing(slotCount: 2, slotByteCount: 8)
    for number in UInt8(1)...2 {
      #expect(!ring.push { _ in nil }, "nothing to add")
      let isAdded = ring.push { slot in
        for _ in 0..<number { slot.append(number) }
        return SPSCRing.Label(UInt64(number))
      }
      #expect(isAdded && ring.count == Int(number))
    }
    var isAsked = false
    let isAdded = ring.push { _ in
      isAsked = true
      return SPSCRing.Label()
    }
    #expect(!isAdded && !isAsked, "full")
    for number in UInt8(1)...2 {
      var bytes: [UInt8] = []
      var label: SPSCRing.Label?
      bytes.append(addingCapacity: 8) { label = ring.pop(into: &$0) }
      #expect(label?.first == UInt64(number) && bytes.count == Int(number))
      #expect(bytes.allSatisfy { $0 == number })
    }
  }

  @Test func `two threads pass a hundred thousand entries in order and whole`() throws {
    let ring = SPSCRing(slotCount: 16, slotByteCount: 8)
    let total: UInt64 = 100_000
    let thread = try startThread(named: "producer") {
      var next: UInt64 = 0
      while next < total {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: next >> (8 * UInt64($0))) }
        if ring.push(bytes.span, SPSCRing.Label(next, ~next)) { next += 1 } else { sched_yield() }
      }
    }
    var next: UInt64 = 0
    var faults = 0
    while next < total {
      let isWhole = ring.pop { bytes, label in
        var value: UInt64 = 0
        for index in 0..<bytes.count { value |= UInt64(bytes[index]) << UInt64(8 * index) }
        return value == next && label == SPSCRing.Label(next, ~next) && bytes.count == 8
      }
      guard let isWhole else {
        sched_yield()
        continue
      }
      if !isWhole { faults += 1 }
      next += 1
    }
    thread.join()
    #expect(faults == 0)
    #expect(ring.count == 0)
  }
}
