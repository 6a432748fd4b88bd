import Glibc
import Primitives
import Testing

@testable import Reactor

@Suite struct AddressWatchTests {
  private final class Calls {
    var count = 0
    var first: Instant?
  }

  /// Stands for the kernel's socket: whatever is written to one end comes out of the other.
  private static func pair() throws -> [Int32] {
    var numbers: [Int32] = [0, 0]
    let result = unsafe socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &numbers)
    try #require(result == 0)
    return numbers
  }

  @Test func `tells once of changes that come together, and again of later ones`() throws {
    let loop = try EventLoop()
    let numbers = try Self.pair()
    let kernel = FileDescriptor(owning: numbers[0])
    let number = kernel.number
    let calls = Calls()
    let change = { (count: Int) in
      for _ in 0..<count { #expect(unsafe write(number, "x", 1) == 1) }
    }
    let watch = try AddressWatch(FileDescriptor(owning: numbers[1]), on: loop) {
      calls.count += 1
      if calls.count == 1 { change(2) } else { loop.stop() }
    }
    change(3)
    loop.run()
    #expect(calls.count == 2)
    watch.stop()
    _ = kernel.number
  }

  @Test func `the kernel lets every program watch`() throws {
    let loop = try EventLoop()
    let watch = try AddressWatch(on: loop) {}
    watch.stop()
    watch.stop()
  }
}
