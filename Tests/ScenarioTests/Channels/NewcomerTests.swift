import Primitives
import Testing
import Wire

/// How soon who comes to a channel by a relay is heard by those who are there, and hears them.
struct NewcomerTests {
  /// Goal: 3 RTT and 80 ms after it has its grant. It speaks as soon as it is let.
  @Test(arguments: [1, 10, 30], 1...6 as ClosedRange<UInt64>)
  func `a newcomer is heard, and hears, within three round trips and 80 ms`(
    delay: Int, seed: UInt64
  ) throws {
    let world = try RelayedWorld(seed: seed)
    world.line = { _, _, _ in [delay] }
    for uid in 1...2 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(4, .audience)
    world.run(.milliseconds(2000 + Int64(seed) * 37))
    let newcomer = try world.join(3)
    let began = world.now
    var heard: [UInt32: Duration] = [:]
    for step in 0..<100 {
      for uid in 1...3 as ClosedRange<UInt32> { world.speak(uid, UInt16(1000 + step * 2)) }
      for _ in 0..<4 {
        world.run(.milliseconds(5))
        for member in world.members where member.uid != 3 && member.heard[3]?.isEmpty == false {
          heard[member.uid] = heard[member.uid] ?? world.now - began
        }
        if newcomer.heard[1]?.isEmpty == false, newcomer.heard[2]?.isEmpty == false {
          heard[3] = heard[3] ?? world.now - began
        }
      }
    }
    // What is sealed right before the key goes out is not for a newcomer: the next frame is.
    let limit = Duration.milliseconds(Int64(delay * 6 + 80 + (delay > 10 ? 20 : 0)))
    for uid in 1...4 as ClosedRange<UInt32> {
      let time = heard[uid] ?? .seconds(9)
      #expect(time <= limit, "seed \(seed), RTT \(delay * 2) ms: \(uid) after \(time)")
    }
  }
}
