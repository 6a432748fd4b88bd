import Primitives
import Testing
import Wire

@testable import Rendezvous

struct ClientRecordTests {
  @Test func `keeps a client at rest in 296 bytes`() {
    #expect(MemoryLayout<ClientRecord>.stride == 296)
  }

  /// Method: 10⁵ numbers drawn near the top, compared with a set that forgets nothing.
  @Test(arguments: UInt64(1)...4)
  func `agrees with a set about which of 256 numbers were seen`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var window = NumberWindow()
    var seen: Set<UInt32> = []
    var top: UInt32 = 0
    for _ in 0..<25_000 {
      let jump = random.next() % 100 == 0 ? random.next() % 1200 : random.next() % 3
      let back = random.next() % 400
      let number = UInt32(clamping: Int64(top) + Int64(jump) - Int64(random.next() % 2 * back))
      let isFresh = !seen.contains(number) && (seen.isEmpty || number > top || top - number < 256)
      #expect(window.isFresh(number) == isFresh, "\(number) of \(top), EARSHOT_SEED=\(seed)")
      guard isFresh else { continue }
      #expect(window.insert(number) == (seen.isEmpty || number > top))
      seen.insert(number)
      top = max(top, number)
    }
  }

  @Test func `gives out connection IDs of its boot, none twice`() {
    var random = RandomSource(seed: 3)
    var ids = ConnectionIDs(boot: 21, random: &random)
    var seen: Set<UInt32> = []
    for _ in 0..<100_000 {
      let id = ids.makeID { _ in false }.rawValue
      #expect(id >> 28 == 5)
      seen.insert(id)
    }
    #expect(seen.count == 100_000)
  }
}
