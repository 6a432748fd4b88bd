import LineCommand
import LinkModel
import Primitives
import Testing

@Suite struct LineRelayTests {
  private static let route = LineRelay.Route(client: 0, portal: 0)

  private static func line(_ change: (inout LinkConditions) -> Void) -> LinkConditions {
    var conditions = LinkConditions(delay: .milliseconds(20))
    change(&conditions)
    return conditions
  }

  /// The times at which 500 datagrams of one every 10 ms come out.
  private static func times(seed: UInt64, _ direction: LineRelay.Direction) -> [Instant] {
    let lossy = line {
      $0.loss = .random(0.1)
      $0.jitter = .exponential(mean: .milliseconds(3))
      $0.duplication = 0.05
    }
    var relay = LineRelay(up: lossy, down: line { _ in }, seed: seed)
    let bytes: [UInt8] = [1, 2, 3]
    for index in 0..<500 {
      relay.take(bytes.span, direction, route, ecn: 0, now: .zero + .milliseconds(10 * index))
    }
    var buffer: [UInt8] = []
    var times: [Instant] = []
    while let delivery = relay.pop(at: .zero + .seconds(60), into: &buffer) {
      times.append(delivery.due)
    }
    return times
  }

  @Test func `a seed says what happens, and each direction has a line of its own`() {
    #expect(Self.times(seed: 1, .up) == Self.times(seed: 1, .up))
    #expect(Self.times(seed: 1, .up) != Self.times(seed: 2, .up))
    let down = Self.times(seed: 1, .down)
    #expect(down.count == 500)
    #expect(down.first == .zero + .milliseconds(20))
  }

  @Test func `the relay and the simulated link do the same to the same datagrams`() {
    let conditions = Self.line {
      $0.loss = .bursts(.bursts(losing: 0.05, ofLength: 4))
      $0.rate = .init(200_000, queue: .time(.milliseconds(100)))
    }
    var random = RandomSource(seed: 9)
    var link = SimulatedLink(conditions, random: random.split())
    var relay = LineRelay(up: conditions, down: conditions, seed: 9)
    let bytes = [UInt8](repeating: 7, count: 400)
    var expected: [Instant] = []
    for index in 0..<1000 {
      let now = Instant.zero + .milliseconds(12 * index)
      let passage = link.carry(byteCount: 400, at: now)
      if passage.fate == .arrives { expected.append(passage.arrival) }
      relay.take(bytes.span, .up, Self.route, ecn: 0, now: now)
    }
    var buffer: [UInt8] = []
    var actual: [Instant] = []
    while let delivery = relay.pop(at: .zero + .seconds(60), into: &buffer) {
      actual.append(delivery.due)
      #expect(buffer == bytes)
    }
    #expect(actual == expected)
    #expect((500..<1000).contains(actual.count))
  }

  @Test func `nothing comes out before its time, and a change counts from then on`() {
    var relay = LineRelay(up: Self.line { _ in }, down: Self.line { _ in }, seed: 1)
    let bytes: [UInt8] = [5]
    relay.take(bytes.span, .up, Self.route, ecn: 2, now: .zero)
    var buffer: [UInt8] = []
    #expect(relay.nextTime == .zero + .milliseconds(20))
    #expect(relay.pop(at: .zero + .milliseconds(19), into: &buffer) == nil)
    #expect(relay.pop(at: .zero + .milliseconds(20), into: &buffer)?.ecn == 2)
    relay.change(.up) { $0.delay = .milliseconds(50) }
    relay.take(bytes.span, .up, Self.route, ecn: 0, now: .zero)
    #expect(relay.nextTime == .zero + .milliseconds(50))
  }
}
