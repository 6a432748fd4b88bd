import GroupKeys
package import Primitives
package import Wire

/// Words between members: keys, questions for cards, and that the own sound is kept back, of which
/// small channels are told (docs/protocol/sframe.md §4).
extension ChannelRelayMachine {
  /// Cards to ask for, and one message about keys.
  @_lifetime(packet: copy packet)
  mutating func writeWords(into packet: inout OutputSpan<UInt8>, now: Instant) {
    if let message = keys.pollMessage(identity: identity, now: now) {
      return ChannelWordFrame.writeKey(
        message.bytes.span, uid: message.recipient, to: &packet)
    }
    if talk.write(into: &packet, &keys, now: now) { return }
    for _ in 0..<Self.questionsAtOnce {
      guard let uid = members.popQuestion(now: now) ?? talk.seats.popQuestion(now: now)
      else { return }
      ChannelWordFrame.writeQuestion(uid: uid, to: &packet)
    }
  }

  /// The own sound is kept back from now on, or goes on. What is sent others decide.
  package mutating func setAudioMuted(_ isMuted: Bool, now: Instant) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    talk.mutes.set(MuteWord(milliseconds: unix, isMuted: isMuted), now: now)
  }

  /// The own pictures are turned like that, from one of them on.
  package mutating func setTurn(_ turn: PictureRotation, mediaTime: UInt32, now: Instant) {
    setMedia(now: now) { ($0.quarters, $0.mediaTime) = (turn.rawValue, mediaTime) }
  }

  /// Music plays in the own sound, or not any more.
  package mutating func setMusic(_ isOn: Bool, now: Instant) {
    setMedia(now: now) { $0.hasMusic = isOn }
  }

  private mutating func setMedia(now: Instant, _ change: (inout MediaWord) -> Void) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    var word = talk.mutes.ownMedia ?? MediaWord(milliseconds: unix)
    change(&word)
    word.milliseconds = unix
    talk.mutes.set(word, now: now)
  }

  /// Sound of a member has opened.
  mutating func noteSound(of uid: UInt32, now: Instant) {
    guard talk.mutes.handleSound(of: uid, now: now) else { return }
    publish(.audioMuted(uid: uid, isMuted: false))
  }

  private static let questionsAtOnce = 20
}
