import Glibc
import Testing

@testable import Reactor

struct ProcessNumbersTests {
  @Test func `tells what the process uses`() {
    let numbers = ProcessNumbers.read()
    #expect(numbers.cpuNanoseconds > 0)
    #expect(numbers.residentByteCount > 1 << 20)
    #expect(numbers.virtualByteCount > numbers.residentByteCount)
    #expect((3...numbers.openFileLimit).contains(numbers.openFileCount))
  }
}
