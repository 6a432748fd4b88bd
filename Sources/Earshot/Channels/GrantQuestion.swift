internal import Primitives

/// Whether another grant for a relay is waited for: one question at a time, and not at the pace of
/// round trips where each answer is the wrong one.
struct GrantQuestion {
  private var isOpen = false
  private var number = 0
  /// Since when questions are counted, and how many there were.
  private var since = Instant.zero
  private var count = 0
  /// How often the one that is open was repeated.
  private var repetitions = 0
  /// The relay that was granted and of which nothing is heard: a grant for it is no answer.
  private var lost: PeerID?
  /// The one that is open is about nothing but that.
  private var isAboutLoss = false

  /// A grant has come.
  ///
  /// - Parameter relay: The relay that it is for; `nil` = nothing is wanted any more.
  mutating func close(by relay: PeerID? = nil) {
    if let relay, relay == lost { return }
    (isOpen, lost, isAboutLoss) = (false, nil, false)
  }

  /// A seat has been taken, or is heard again.
  mutating func handleSeat() {
    if isAboutLoss { isOpen = false }
    (lost, isAboutLoss) = (nil, false)
  }

  /// - Parameter lost: The relay of which nothing is heard.
  /// - Returns: Its number, and how long to wait before it is asked; `nil` while one is open.
  mutating func open(
    after wait: Duration, _ lost: PeerID? = nil, now: Instant
  ) -> (number: Int, wait: Duration)? {
    if let lost, self.lost != lost { (self.lost, repetitions) = (lost, 0) }
    guard !isOpen else { return nil }
    if now >= since + Self.window { (since, count) = (now, 0) }
    (isOpen, number, count, repetitions) = (true, number + 1, count + 1, 0)
    isAboutLoss = lost != nil
    return (number, count > Self.most ? max(wait, Self.window) : wait)
  }

  /// Whether that question is to be repeated.
  func isOpen(_ number: Int) -> Bool { isOpen && self.number == number }

  /// What is said this time of a relay that was lost. A rendezvous that does not know the word
  /// understands each fifth question.
  var lostRelay: PeerID? { repetitions % 5 == 4 ? nil : lost }

  /// How long to wait before it is repeated. After a restart of the rendezvous the relay is back
  /// soon, and members that have their new seats at other times do not hear each other in between.
  mutating func popPace() -> Duration {
    repetitions += 1
    if lost != nil, repetitions <= Self.lossRepetitions {
      return repetitions == 1 ? Self.lossAnswer : Self.lossPace
    }
    return repetitions <= Self.quickRepetitions ? Self.quickPace : Self.pace
  }

  /// From one question for a relay to the next.
  private static let pace = Duration.seconds(3)
  /// How late a closed endpoint is seen while waiting for that.
  static let step = Duration.milliseconds(100)
  private static let quickRepetitions = 4
  private static let quickPace = Duration.milliseconds(500)
  /// The rendezvous asks the relay for 600 ms, and answers the question after that.
  private static let lossAnswer = Duration.milliseconds(650)
  private static let lossPace = Duration.milliseconds(200)
  private static let lossRepetitions = 10
  /// For a seat to be taken by a new grant before its relay counts as lost.
  static let seatPatience = Duration.seconds(1)
  /// For the same until that is told; members call each other then (`ChannelWay`).
  static let tellingPatience = Duration.milliseconds(600)

  /// Roles may change as often within two seconds.
  private static let most = 4
  private static let window = Duration.seconds(2)
}
