import Channels
import Primitives
import Wire

/// Whether the relay is still there (docs/protocol/relay.md §4). A member that sends hears its
/// reports, and one that listens hears hosts. Where neither comes when it is due the relay is asked
/// by PING, more often than usual, and counts as lost when it does not answer.
struct SilenceWatch {
  /// It was told that nothing comes, and nothing has come since.
  private(set) var isLost = false
  /// When a packet last opened.
  private var lastReceived: Instant
  /// When a frame of ours left first since then.
  private var firstUnanswered: Instant?
  /// When something of a host came, and something of one that was not silent.
  private var lastMedia: Instant?
  private var lastSound: Instant?
  /// Since when, and until when, a host's sound is to begin: there is a session, or one more host.
  private var beginning: (since: Instant, until: Instant)?
  /// Who listens in a small channel asks while nobody is heard as well: whoever speaks next is back
  /// at a relay that was started again within a round trip.
  private var isSmall = false
  /// Join numbers of the roster's hosts, without ourselves.
  private var hosts: Set<UInt64> = []
  /// PINGs since `lastReceived`.
  private var questionCount = 0
  private var lastQuestion = Instant.zero
  /// Members that hear the same do not all ask at the same time.
  private let scatter: Duration

  /// - Parameter chance: 0..<1.
  init(chance: Double, now: Instant) {
    lastReceived = now
    scatter = .nanoseconds(Int64(chance * Double(Self.mostScatter.nanoseconds)))
  }

  // MARK: - Inputs

  /// There is a session, or another one.
  mutating func restart(now: Instant) {
    (lastMedia, lastSound) = (nil, nil)
    isLost = false
    handlePacket(now: now)
    beginning = (now, now + Self.beginningTime)
  }

  /// A host has come. A relay that was started again since something came of it knows nothing of
  /// us, and who listens would not notice.
  private mutating func handleHost(now: Instant) {
    let end = now + Self.beginningTime
    guard let former = beginning, now < former.until || !mayBegin(after: former.since, now: now)
    else { return beginning = (now, end) }
    // Hosts that come one after the other put no question off.
    if isSmall { beginning = (former.since, end) }
  }

  /// In a large channel one member that comes and goes must not make thousands ask all the time.
  private func mayBegin(after former: Instant, now: Instant) -> Bool {
    isSmall || now - former >= Self.memory
  }

  /// The roster of the channel has changed.
  mutating func handleRoster(_ members: [ChannelMember], own: UInt32, now: Instant) {
    isSmall = members.count <= Self.smallChannel
    let former = hosts
    hosts = Set(members.filter { $0.role == .host && $0.uid != own }.map(\.joinNumber))
    if !hosts.isSubset(of: former) { handleHost(now: now) }
  }

  /// A packet of the relay has opened.
  ///
  /// - Returns: Whether the relay was lost and is there again.
  @discardableResult
  mutating func handlePacket(now: Instant) -> Bool {
    lastReceived = now
    firstUnanswered = nil
    questionCount = 0
    defer { isLost = false }
    return isLost
  }

  /// Sound or a picture of a host has come.
  mutating func handleMedia(isSilent: Bool, now: Instant) {
    lastMedia = now
    if !isSilent { lastSound = now }
  }

  /// A frame of ours has left, which the relay reports.
  mutating func handleSent(now: Instant) { firstUnanswered = firstUnanswered ?? now }

  /// - Returns: Whether the relay counts as lost from now on.
  mutating func handleTimeout(roundTrip: Duration?, now: Instant) -> Bool {
    guard !isLost, let end = end(roundTrip), end <= now else { return false }
    isLost = true
    return true
  }

  // MARK: - Outputs

  /// Whether to ask the relay now.
  mutating func popQuestion(now: Instant) -> Bool {
    guard let due = nextQuestion, due <= now else { return false }
    questionCount += 1
    lastQuestion = now
    return true
  }

  func nextDeadline(roundTrip: Duration?) -> Instant? {
    isLost ? nextQuestion : earliest(nextQuestion, end(roundTrip))
  }

  // MARK: - Parts

  private var nextQuestion: Instant? {
    if isLost { return max(lastReceived, lastQuestion) + Self.lostPace }
    guard questionCount < mostQuestions else { return nil }
    if questionCount > 0 { return lastQuestion + Self.pace }
    let own = firstUnanswered.map { $0 + Self.reportPatience }
    return earliest(own, earliest(patience.map { lastReceived + $0 + scatter }, firstQuestion))
  }

  /// When the relay counts as lost.
  private func end(_ roundTrip: Duration?) -> Instant? {
    let reported = firstUnanswered.map { $0 + Self.silence }
    guard patience != nil || firstQuestion != nil, questionCount >= mostQuestions else {
      return reported
    }
    let trip = min(roundTrip ?? .zero, Self.silence)
    return earliest(reported, lastQuestion + Self.answerTime + trip)
  }

  /// How long nothing comes to who listens without a reason; `nil` = as long as it may be.
  private var patience: Duration? {
    if isSpoken { return Self.gap }
    let isRemembered = lastMedia.map { lastReceived - $0 < Self.memory } ?? false
    return isRemembered || isSmall ? Self.silentGap : nil
  }

  /// When nothing has come although sound is to begin.
  private var firstQuestion: Instant? {
    guard let beginning, lastReceived < beginning.until else { return nil }
    let wait = isSmall ? scatter : scatter * Self.largeScatter
    return max(lastReceived + Self.beginningGap, beginning.since) + wait
  }

  /// After so many without an answer the relay is lost.
  private var mostQuestions: Int { isSpoken ? Self.questionsInSpeech : Self.questions }

  /// Somebody spoke when the last packet came.
  private var isSpoken: Bool { lastSound.map { lastReceived - $0 < Self.speechPause } ?? false }

  /// Five reports of the relay, and a round trip.
  private static let silence = Duration.seconds(1)
  /// Two reports, and a round trip.
  private static let reportPatience = Duration.milliseconds(450)
  /// Frames of sound come each 20 to 60 ms, and may wait for a narrow line.
  private static let gap = Duration.milliseconds(500)
  /// The same while sound is to begin, and how long it may take to. Where nobody speaks as yet the
  /// answers to three or four PINGs show that the relay is there.
  private static let beginningGap = Duration.milliseconds(300)
  private static let beginningTime = Duration.seconds(1)
  /// Thousands do not ask within a tenth of a second because one host has come.
  private static let largeScatter = 10
  /// Of silence one frame comes each second (docs/protocol/relay.md §4), and may be late.
  private static let silentGap = Duration.milliseconds(1200)
  private static let speechPause = Duration.milliseconds(150)
  /// Where hosts have been quiet for so long, or are gone, the usual PING is enough in a large
  /// channel.
  private static let memory = Duration.seconds(5)
  private static let smallChannel = ChannelLimits().smallChannel
  private static let mostScatter = Duration.milliseconds(100)
  /// From one PING without an answer to the next.
  private static let pace = Duration.milliseconds(120)
  /// The same while it is lost: one that was started again says that it does not know us.
  private static let lostPace = Duration.seconds(1)
  /// Of 10 % loss each way five PINGs in a row have no answer one time in 4000, and eight one time
  /// in 590 000. In speech many frames are missing as well.
  private static let questionsInSpeech = 5
  private static let questions = 8
  /// Beside a round trip.
  private static let answerTime = Duration.milliseconds(200)
}
