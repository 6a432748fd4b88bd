import Testing
import Trials

/// Channels by a relay in which anything happens.
@Suite struct ChannelTrialTests {
  /// Goal: 2 s after the last change of who is there all rosters agree; who was cut off is dropped
  /// up to 20 s late. After 25 s everybody has its seat and hears all hosts. When all had seats is
  /// told: a relay that has just started is noticed by its members a little later. At no time
  /// does anybody hear what was said while it was not there, but for 2.2 s after it left. Nor is
  /// any host mute for more than 2 s for a member with which it is there.
  /// Method: up to 7 members at a time who come, go, change roles, lose the rendezvous; up to 10 %
  /// loss on each way; new starts of the rendezvous and of the relay. Who has left listens on.
  @Test(arguments: 0..<8)
  func `all hear all hosts, and nobody hears what is not for it`(part: Int) throws {
    let count = Trials.count(16, full: 1250)
    var (frames, heard, ends) = (0, 0, 0)
    var (rosters, seats, mute) = (Duration.zero, Duration.zero, Duration.zero)
    for index in 0..<count {
      let trial = try ChannelTrial(seed: Trials.firstSeed + UInt64(part * count + index))
      try trial.run()
      let failures = trial.failures.prefix(3)
      #expect(failures.isEmpty, "\(failures)")
      frames += trial.frameCount
      heard += trial.heardCount
      ends += trial.endCount
      rosters = max(rosters, trial.settling.rosters)
      seats = max(seats, trial.settling.seats)
      mute = max(mute, trial.voices.longest)
    }
    #expect(heard > frames)
    // Where a tenth is lost on each hop.
    withKnownIssue("2.1 and 2.2 s in two of 5000 worlds", isIntermittent: true) {
      #expect(mute <= VoiceWatch.goal)
    } when: {
      Trials.isFull
    }
    Trials.report(
      "channels: \(count) channels, \(ends) members, \(frames) frames, heard \(heard) times; "
        + "after the last change all agreed within \(rosters), all had seats within \(seats); "
        + "nobody who was there was mute for more than \(mute)")
  }
}
