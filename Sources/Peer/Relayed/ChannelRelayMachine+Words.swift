import GroupKeys
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
      return ChannelWordFrame.writeKey(
        message.bytes.span, uid: message.recipient, to: &packet)
    }
    if writeMute(into: &packet, now: now) { return }
    for _ in 0..<Self.questionsAtOnce {
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
      !association.isClosing
    else { return nil }
    Session.beginPacket(&packet)
    let start = packet.count
    for _ in 0..<Self.questionsAtOnce {
      guard let uid = members.popQuestion(now: now) else { break }
      ChannelWordFrame.writeQuestion(uid: uid, to: &packet)
    }
    if packet.count > start,
      association.seal(&packet, elicits: false, hasMessages: false, now: now)
    {
      return link.sessionPath
    }
    packet.removeAll()
    return nil
  }

  /// The own sound is kept back from now on, or goes on. What is sent others decide.
  package mutating func setAudioMuted(_ isMuted: Bool, now: Instant) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    talk.mutes.set(MuteWord(milliseconds: unix, isMuted: isMuted), now: now)
  }

  /// Writes the own word for the next member that is to have it.
  ///
  /// - Returns: whether there was one, and a key: who only listens is not heard anyway.
  @_lifetime(packet: copy packet)
  private mutating func writeMute(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard let word = talk.mutes.own, let uid = talk.mutes.popListener(now: now),
      let frame = keys.seal(word.bytes, metadata: MuteWord.metadata)
    else { return false }
    let message = [MuteWord.messageType] + frame
    ChannelWordFrame.writeKey(message.span, uid: uid, to: &packet)
    return true
  }

  /// A member's message whose first byte says that it is about its sound.
  mutating func readMute(_ message: [UInt8], of uid: UInt32, now: Instant) {
    let frame = Array(message.dropFirst())
    guard let text = keys.open(frame, from: uid, metadata: MuteWord.metadata, now: now),
      let word = MuteWord(text), talk.mutes.handle(word, of: uid, now: now)
    else { return }
    publish(.audioMuted(uid: uid, isMuted: word.isMuted))
  }

  /// Sound of a member has opened.
  mutating func noteSound(of uid: UInt32, now: Instant) {
    guard talk.mutes.handleSound(of: uid, now: now) else { return }
    publish(.audioMuted(uid: uid, isMuted: false))
  }

  private static let questionsAtOnce = 20
}
