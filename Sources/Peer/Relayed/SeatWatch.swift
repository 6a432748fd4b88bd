import Primitives

/// Who of a small channel's members has a seat at the relay (docs/protocol/relay.md §3). The relay
/// shows the cards of those who have one. Of whom nothing comes its card is asked for again now and
/// then; a relay that answers others, and not that, has no seat for it any more.
struct SeatWatch {
  private struct Entry {
    let uid: UInt32
    /// When something of it came last: sound, a picture, its card.
    var lastSign: Instant
    var lastQuestion: Instant?
    /// Questions since then.
    var questionCount = 0
    /// When so many of them had been asked that an answer would have come.
    var overdue: Instant?
    var isSeated = true
  }

  private var entries: [Entry] = []
  private var news: [(uid: UInt32, isSeated: Bool)] = []

  // MARK: - Inputs

  /// The relay has shown the card of a member, and it was the right one.
  mutating func add(_ uid: UInt32, now: Instant) {
    if entries.contains(where: { $0.uid == uid }) { return noteSign(of: uid, now: now) }
    entries.append(Entry(uid: uid, lastSign: now))
  }

  mutating func remove(_ uid: UInt32) { entries.removeAll { $0.uid == uid } }

  /// Something of a member has come by the relay.
  mutating func noteSign(of uid: UInt32, now: Instant) {
    guard let index = entries.firstIndex(where: { $0.uid == uid }) else { return }
    begin(index, now: now)
    set(index, isSeated: true)
  }

  /// There is a session with the relay, or another one: nothing is known of who lost its own.
  mutating func restart(now: Instant) {
    for index in entries.indices { begin(index, now: now) }
  }

  private mutating func begin(_ index: Int, now: Instant) {
    entries[index].lastSign = now
    entries[index].questionCount = 0
    entries[index].overdue = nil
  }

  /// - Parameter lastReceived: When the relay said anything at all.
  mutating func handleTimeout(lastReceived: Instant?) {
    for index in entries.indices {
      guard let overdue = entries[index].overdue, let lastReceived, lastReceived >= overdue
      else { continue }
      set(index, isSeated: false)
    }
  }

  private mutating func set(_ index: Int, isSeated: Bool) {
    guard entries[index].isSeated != isSeated else { return }
    entries[index].isSeated = isSeated
    news.append((entries[index].uid, isSeated))
  }

  // MARK: - Outputs

  /// Whose card is to be asked for now.
  mutating func popQuestion(now: Instant) -> UInt32? {
    guard isSmall, let index = entries.firstIndex(where: { due($0) <= now }) else { return nil }
    entries[index].lastQuestion = now
    entries[index].questionCount += 1
    if entries[index].questionCount == Self.leastQuestions {
      entries[index].overdue = now + Self.answerTime
    }
    return entries[index].uid
  }

  /// A member that has lost its seat, or has one again.
  mutating func popNews() -> (uid: UInt32, isSeated: Bool)? {
    news.isEmpty ? nil : news.removeFirst()
  }

  var nextDeadline: Instant? { isSmall ? entries.lazy.map(due).min() : nil }

  func isSeated(_ uid: UInt32) -> Bool { entries.first { $0.uid == uid }?.isSeated ?? false }

  private func due(_ entry: Entry) -> Instant {
    guard entry.questionCount > 0, let asked = entry.lastQuestion else {
      return entry.lastSign + Self.calm
    }
    return asked + (entry.isSeated ? Self.pace : Self.calm)
  }

  /// In a larger channel nobody takes over for who has no seat (docs/protocol/channels.md §9).
  private var isSmall: Bool { entries.count < Self.mostMembers }

  private static let mostMembers = 17
  /// Who says nothing is asked about so often, and when no answer comes.
  private static let calm = Duration.seconds(5)
  private static let pace = Duration.seconds(1)
  /// Questions and answers may get lost: of 10 % six in a row are, one time in 20 000.
  private static let leastQuestions = 6
  /// By then the answer would have come.
  private static let answerTime = Duration.milliseconds(500)
}
