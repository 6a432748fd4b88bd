import Reactor
import Testing

struct LocalTimeTests {
  @Test func `a time of day has three numbers of two digits`() {
    let parts = LocalTime.clock.split(separator: ":")
    #expect(parts.count == 3 && parts.allSatisfy { $0.count == 2 && Int($0) != nil })
  }
}
