import GroupKeys
import Primitives
import Wire

/// Who of a small channel keeps its sound back, whose music plays, and how pictures are turned, by
/// each one's own word (docs/protocol/sframe.md §4).
/// A word goes to each member four times in two seconds, and each five while the sound is kept
/// back, or once there was music or a turn: who comes later hears of it, and who heard nothing of
/// it hears the next one.
struct RelayedMutes {
  private struct Listener {
    let uid: UInt32
    var next: Instant
    /// How often it was told since the last change.
    var count = 0
  }

  private struct Speaker {
    let uid: UInt32
    var word: MuteWord
    /// When that word came.
    var since: Instant
  }

  /// What this side says; `nil` = it has never kept its sound back.
  private(set) var own: MuteWord?
  /// What is said of the own music and pictures; `nil` = there never was anything to say.
  private(set) var ownMedia: MediaWord?
  private var media: [(uid: UInt32, word: MediaWord, since: Instant)] = []
  private var listeners: [Listener] = []
  private var speakers: [Speaker] = []

  // MARK: - Inputs

  /// The own sound is kept back from now on, or goes on.
  mutating func set(_ word: MuteWord, now: Instant) {
    guard word.isMuted != own?.isMuted ?? false else { return }
    // Of two words the later one holds, also of two in the same millisecond.
    let time = max(word.milliseconds, (own?.milliseconds ?? 0) &+ 1)
    own = MuteWord(milliseconds: time, isMuted: word.isMuted)
    restart(now: now)
  }

  /// The own music and pictures are like that; said of any picture.
  mutating func set(_ word: MediaWord, now: Instant) {
    guard word.says(what: ownMedia ?? MediaWord(milliseconds: 0)) else {
      let former = ownMedia?.milliseconds ?? 0
      ownMedia = word
      ownMedia?.milliseconds = max(word.milliseconds, former &+ 1)
      return restart(now: now)
    }
    // Who comes later is told of a time that it understands: half of all times are past.
    guard let former = ownMedia?.mediaTime else { return }
    let past = (word.mediaTime &- former) & 0xFF_FFFF
    if past > Self.longAgo, past < 0x80_0000 { ownMedia?.mediaTime = word.mediaTime }
  }

  /// A member has been verified.
  mutating func add(_ uid: UInt32, now: Instant) {
    guard !listeners.contains(where: { $0.uid == uid }) else { return }
    listeners.append(Listener(uid: uid, next: now))
  }

  mutating func remove(_ uid: UInt32) {
    listeners.removeAll { $0.uid == uid }
    speakers.removeAll { $0.uid == uid }
    media.removeAll { $0.uid == uid }
  }

  /// There is another session with the relay: nobody has heard of it.
  mutating func restart(now: Instant) {
    for index in listeners.indices {
      listeners[index].next = now
      listeners[index].count = 0
    }
  }

  /// A member's word has opened.
  ///
  /// - Returns: Whether something is different now.
  mutating func handle(_ word: MuteWord, of uid: UInt32, now: Instant) -> Bool {
    guard let index = speakers.firstIndex(where: { $0.uid == uid }) else {
      guard listeners.contains(where: { $0.uid == uid }) else { return false }
      speakers.append(Speaker(uid: uid, word: word, since: now))
      return word.isMuted
    }
    // The one before may come late. One that follows too soon is said again.
    guard word.milliseconds > speakers[index].word.milliseconds,
      now >= speakers[index].since + Self.pace
    else { return false }
    let isChange = word.isMuted != speakers[index].word.isMuted
    speakers[index] = Speaker(uid: uid, word: word, since: now)
    return isChange
  }

  /// A member's word about its music and pictures has opened.
  ///
  /// - Returns: The one before, where something is different now.
  mutating func handle(_ word: MediaWord, of uid: UInt32, now: Instant) -> MediaWord? {
    guard let index = media.firstIndex(where: { $0.uid == uid }) else {
      guard listeners.contains(where: { $0.uid == uid }) else { return nil }
      media.append((uid, word, now))
      let none = MediaWord(milliseconds: 0)
      return word.says(what: none) ? nil : none
    }
    let former = media[index]
    guard word.milliseconds > former.word.milliseconds, now >= former.since + Self.pace else {
      return nil
    }
    media[index] = (uid, word, now)
    return word.says(what: former.word) ? nil : former.word
  }

  /// Sound of a member has opened: it is not kept back any more, whatever has got lost.
  ///
  /// - Returns: Whether that is different.
  mutating func handleSound(of uid: UInt32, now: Instant) -> Bool {
    // What was on its way when the word was said may come behind it.
    guard let index = speakers.firstIndex(where: { $0.uid == uid && $0.word.isMuted }),
      now >= speakers[index].since + Self.underWay
    else { return false }
    speakers[index].word.isMuted = false
    return true
  }

  // MARK: - Outputs

  /// A member that is to be told now.
  mutating func popListener(now: Instant) -> UInt32? {
    guard hasWord, isSmall,
      let index = listeners.firstIndex(where: { isWanted($0) && $0.next <= now })
    else { return nil }
    let count = listeners[index].count
    let pause = count < Self.pauses.count ? Self.pauses[count] : Self.calm
    listeners[index].next = now + pause
    listeners[index].count = min(count + 1, Self.pauses.count + 1)
    return listeners[index].uid
  }

  var nextDeadline: Instant? {
    guard hasWord, isSmall else { return nil }
    return listeners.lazy.filter { isWanted($0) }.map(\.next).min()
  }

  private var hasWord: Bool { own != nil || ownMedia != nil }

  private func isWanted(_ listener: Listener) -> Bool {
    own?.isMuted == true || ownMedia != nil || listener.count <= Self.pauses.count
  }

  /// A word a member: a large channel is not told.
  private var isSmall: Bool { listeners.count < Self.mostMembers }

  /// As for seats (`SeatWatch`).
  private static let mostMembers = 17
  private static let pauses: [Duration] = [.milliseconds(250), .milliseconds(750), .seconds(1)]
  private static let calm = Duration.seconds(5)
  /// From one word of a member to the next that changes something: it cannot tell without end.
  private static let pace = Duration.milliseconds(500)
  /// 30 s, in 10 ms / 256.
  private static let longAgo: UInt32 = 768_000
  /// From a host over the relay, on two lines with full queues.
  private static let underWay = Duration.seconds(1)
}
