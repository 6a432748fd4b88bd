import Primitives
import Testing
import Trials

@testable import GroupKeys

@Suite struct KeyPropertyTests {
  /// Goal: nobody ever opens a frame of a time when it was not a member, and all members hear each
  /// other 2 s after the last change, whatever a rendezvous and a relay do to the envelopes.
  /// Method: channels of up to 8 members, up to 40 % of the envelopes lost, others late, twice,
  /// changed, swapped or kept back; those who left, and a ghost without a token, are given all that
  /// is ever sent.
  @Test(arguments: 0..<8)
  func `only members hear, and all of them`(part: Int) throws {
    let count = Trials.count(30, full: 1250)
    var (rosters, frames, opened) = (0, 0, 0)
    for index in 0..<count {
      let seed = UInt64(part * count + index)
      let world = KeyWorld(seed: seed)
      try world.run()
      let failures = world.failures.prefix(3)
      #expect(failures.isEmpty, "seed \(seed)")
      rosters += world.rosterCount
      frames += world.frameCount
      opened += world.openedCount
    }
    #expect(opened > frames)
    Trials.report(
      "keys: \(count) channels, \(rosters) rosters, \(frames) frames, opened \(opened) times")
  }
}
