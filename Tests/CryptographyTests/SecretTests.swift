import Primitives
import Testing

@testable import Cryptography

@Suite struct SecretTests {
  @Test func `compares contents and lengths`() {
    func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      Secret.areEqual(left.span, right.span)
    }
    #expect(areEqual([1, 2, 3], [1, 2, 3]) && areEqual([], []))
    #expect(!areEqual([1, 2, 3], [1, 2, 4]) && !areEqual([1, 2, 3], [1, 2]))
  }

  @Test func `wiped and erased bytes are zero`() {
    var bytes: [UInt8] = [1, 2, 3]
    var span = bytes.mutableSpan
    Secret.wipe(&span)
    #expect(bytes == [0, 0, 0])
    Secret.wipe(&bytes)
    #expect(bytes.isEmpty)
    var random = RandomSource(seed: 6)
    var block = SecretBytes(copying: random.bytes(64).span)
    block.erase()
    let isZero = (0..<64).allSatisfy { block.span[$0] == 0 }
    #expect(isZero)
  }

  @Test func `secrets of any length begin as zeros, and are apart`() {
    var random = RandomSource(seed: 7)
    // Slots of one to eight times 64 bytes, and slabs beyond; given back and taken again.
    for _ in 0..<3 {
      for count in [0, 1, 31, 32, 64, 65, 128, 200, 512, 513, 20_000] {
        let fresh = SecretBytes(zeros: count)
        let isZero = (0..<count).allSatisfy { fresh.span[$0] == 0 }
        #expect(isZero && fresh.span.count == count)
        let bytes = (random.bytes(count), random.bytes(count))
        let left = SecretBytes(copying: bytes.0.span)
        let right = SecretBytes(copying: bytes.1.span)
        let isLeftKept = Secret.areEqual(left.span, bytes.0.span)
        let isRightKept = Secret.areEqual(right.span, bytes.1.span)
        #expect(isLeftKept && isRightKept)
      }
    }
  }

  @Test func `the pool serves several threads`() async {
    let wrong = await withTaskGroup(of: Int.self) { group in
      for seed in 0..<8 {
        group.addTask { Self.wrongSecrets(seed: UInt64(seed)) }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }

  /// Takes and gives back many secrets, and counts those that somebody else wrote to.
  private static func wrongSecrets(seed: UInt64) -> Int {
    var random = RandomSource(seed: seed)
    var wrong = 0
    for _ in 0..<2000 {
      let bytes = (random.bytes(32), random.bytes(96))
      let left = SecretBytes(copying: bytes.0.span)
      let right = SecretBytes(copying: bytes.1.span)
      if !Secret.areEqual(left.span, bytes.0.span) { wrong += 1 }
      if !Secret.areEqual(right.span, bytes.1.span) { wrong += 1 }
    }
    return wrong
  }

  @Test func `the pool gives the same place again, empty`() {
    let first = unsafe SecretPool.allocate(40)
    unsafe first.initialize(repeating: 9, count: 40)
    unsafe SecretPool.free(first, 40)
    // Other tests draw from the same pool at the same time: what is certain is that it is empty.
    let second = unsafe SecretPool.allocate(64)
    let isZero = (0..<64).allSatisfy { unsafe second[$0] == 0 }
    #expect(isZero)
    unsafe SecretPool.free(second, 64)
  }
}
