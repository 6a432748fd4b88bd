import Reactor
import Testing

@Suite struct BlockingWorkTests {
  @Test func `work on a thread of its own gives its result`() async {
    let results = await withTaskGroup(of: Int?.self) { group in
      for number in 0..<20 {
        group.addTask { await BlockingWork.run(named: "earshot-test") { number * number } }
      }
      return await group.reduce(into: 0) { $0 += $1 ?? -10_000 }
    }
    #expect(results == (0..<20).reduce(0) { $0 + $1 * $1 })
  }
}
