import Primitives
import Testing

/// A struct that the compiler would rather copy than pass.
private struct Block: ~Copyable {
  private let place = InPlace()
  private var words = InlineArray<1024, UInt64>(repeating: 0)

  var address: UInt { unsafe withUnsafePointer(to: self) { UInt(bitPattern: $0) } }

  @inline(never) mutating func store(_ word: UInt64) -> UInt {
    words[0] = word
    return address
  }
}

@Suite struct InPlaceTests {
  @Test func `a struct with it is passed by address`() {
    var block = Block()
    let first = block.store(1)
    #expect(block.store(2) == first)
    #expect(Self.address(of: block) == first)
  }

  /// From another depth of the stack, where a copy would lie elsewhere.
  @inline(never) private static func address(of block: borrowing Block) -> UInt { block.address }
}
