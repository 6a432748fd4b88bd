package import GroupKeys
package import Primitives
import SecureSession
import Wire

/// Words between members: keys, questions for cards, and that the own sound is kept back, of which
/// small channels are told (docs/protocol/sframe.md §4).
extension ChannelRelayMachine {
  /// Cards to ask for, and one message about keys.
  @_lifetime(packet: copy packet)
  mutating func writeWords(into packet: inout OutputSpan<UInt8>, now: Instant) {
    if let message = keys.pollMessage(identity: identity, now: now) {
      return ChannelWordFrame.writeKey(message.bytes.span, uid: message.recipient, to: &packet)
    }
    if talk.write(into: &packet, &keys, now: now) { return }
    for _ in 0..<RelayedMembers.questionsAtOnce {
      guard let uid = members.popQuestion(now: now) ?? talk.seats.popQuestion(now: now)
      else { return }
      ChannelWordFrame.writeQuestion(uid: uid, to: &packet)
    }
  }

  /// Cards to ask for, in the first packet of a session: it need not be confirmed for that.
  @_lifetime(packet: copy packet)
  mutating func writeFirstQuestions(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard !isConnected, !link.standing.isConfirmed, let association = link.association,
      members.writeFirstQuestions(into: &packet, on: association, now: now)
    else { return nil }
    return link.sessionPath
  }

  /// The own sound is kept back from now on, or goes on. What is sent others decide.
  package mutating func setAudioMuted(_ isMuted: Bool, now: Instant) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    talk.mutes.set(MuteWord(milliseconds: unix, isMuted: isMuted), now: now)
  }

  /// The own music or pictures are another thing from now on.
  package mutating func setMedia(now: Instant, _ change: (inout MediaWord) -> Void) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    var word = talk.mutes.ownMedia ?? MediaWord(milliseconds: unix)
    change(&word)
    word.milliseconds = unix
    talk.mutes.set(word, now: now)
  }
}
