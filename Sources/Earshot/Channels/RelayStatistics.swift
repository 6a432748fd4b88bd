/// The numbers of a seat at a relay (`ChannelRelayStep.statistics`), since it was taken. What a
/// call has in one is in two here: the way to the relay and back, and what comes of each host.
public struct RelayStatistics: Sendable, Equatable {
  /// One host's.
  public struct Host: Sendable, Equatable {
    /// Whose.
    public var uid: UInt32
    /// What was received of it: `received`, `audio`, `videoReceived`, and the grade `qualityRx`.
    /// Both ways count, its own to the relay and the one from there. Sound counts since the host
    /// was heard first, over all relays. What the relay leaves out, because somebody is louder or
    /// because it is silence, is not lost. Nobody measures the round trip to it: there is none,
    /// and no `mouthToEarMs`.
    public var numbers: CallStatistics

    package init(uid: UInt32, numbers: CallStatistics) {
      self.uid = uid
      self.numbers = numbers
    }
  }

  /// Of the way to the relay and back: `sent`, `videoSent`, `congestion`, round trips, `usage`, and
  /// both grades. `received` is of all hosts together, its jitter the least of them, and
  /// `usage.calls` says how many they are.
  public var own: CallStatistics
  /// Of those who are heard or seen, by rising uid; in `ChannelRelayStep.ended` also the last 64
  /// who are gone.
  public var hosts: [Host]

  package init(own: CallStatistics, hosts: [Host]) {
    self.own = own
    self.hosts = hosts
  }
}
