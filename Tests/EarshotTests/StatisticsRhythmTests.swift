import Earshot
import Testing

extension CallTests {
  /// Goal: the numbers of a call come every two seconds, whatever other calls do meanwhile.
  @Test(.timeLimit(.minutes(1)))
  func `statistics of a call come while other calls begin and end`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"], calls: 2)
    for endpoint in town.endpoints.dropFirst() {
      let events = await endpoint.events()
      Task {
        for await event in events {
          guard case .incomingCall(let call) = event else { continue }
          try await endpoint.call(call.id).accept(CallOptions(source: Tone(), sink: Ear()))
        }
      }
    }
    var story = await Story(town.alice)
    let long = try await town.alice.call("bob", options: CallOptions(source: Tone(), sink: Ear()))
    await story.connected()
    var times: [Int] = []
    // Each of the short calls takes a part of a second.
    var count = 0
    while times.count < 4, count < 200 {
      count += 1
      let short = try await town.alice.call(
        "carol", options: CallOptions(source: Tone(), sink: Ear()))
      let isOver = await story.first { event -> Bool? in
        switch event {
        case .statistics(long.id, let numbers): times.append(numbers.atMs)
        case .callStateChanged(short.id, .connected, _):
          Task { await short.hangUp() }
        case .callEnded(short.id, _): return true
        default: break
        }
        return nil
      }
      #expect(isOver == true)
    }
    #expect(times.count >= 4, "\(times) in \(count) calls")
    let steps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(steps.allSatisfy { (1_900...2_100).contains($0) }, "\(times)")
    await town.close()
  }
}
