import GroupKeys
package import Primitives
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
      guard let uid = members.popQuestion(now: now) ?? seats.popQuestion(now: now)
      else { return }
      ChannelWordFrame.writeQuestion(uid: uid, to: &packet)
    }
  }

  /// The own sound is kept back from now on, or goes on. What is sent is not this machine's to stop.
  package mutating func setAudioMuted(_ isMuted: Bool, now: Instant) {
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    mutes.set(MuteWord(milliseconds: unix, isMuted: isMuted), now: now)
  }

  /// Writes the own word for the next member that is to have it.
  ///
  /// - Returns: whether there was one.
  @_lifetime(packet: copy packet)
  mutating func writeMute(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard let word = mutes.own, let uid = mutes.popListener(now: now),
      let message = seal(word)
    else { return false }
    ChannelWordFrame.writeKey(message.span, uid: uid, to: &packet)
    return true
  }

  /// - Returns: `nil` where we have no key: who only listens is not heard anyway.
  private mutating func seal(_ word: MuteWord) -> [UInt8]? {
    let room = GroupKeyMachine.headerRoom
    let text = room..<(room + MuteWord.byteCount)
    var frame = [UInt8](repeating: 0, count: room)
    frame += word.bytes
    frame += [UInt8](repeating: 0, count: GroupKeyMachine.tagByteCount)
    let metadata = MuteWord.metadata
    do throws(SFrameError) {
      var span = frame.mutableSpan
      let place = try keys.seal(&span, text: text, metadata: metadata.span)
      return [MuteWord.messageType] + frame[place]
    } catch {
      return nil
    }
  }

  /// A member's message whose first byte says that it is about its sound.
  mutating func readMute(_ message: [UInt8], of uid: UInt32, now: Instant) {
    var message = message
    let place = 1..<message.count
    let metadata = MuteWord.metadata
    let word: MuteWord
    do {
      var span = message.mutableSpan
      let text = try keys.open(
        &span, at: place, from: uid, metadata: metadata.span, now: now)
      word = try MuteWord(parsing: message.span.extracting(text))
    } catch {
      return  // Not its own, or said before: the next one is not far.
    }
    if mutes.handle(word, of: uid, now: now) {
      publish(.audioMuted(uid: uid, isMuted: word.isMuted))
    }
  }

  /// Sound of a member has opened.
  mutating func noteSound(of uid: UInt32, now: Instant) {
    if mutes.handleSound(of: uid, now: now) { publish(.audioMuted(uid: uid, isMuted: false)) }
  }

  private static let questionsAtOnce = 20
}
