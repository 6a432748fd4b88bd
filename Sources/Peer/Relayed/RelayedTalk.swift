import GroupKeys
import Primitives
import Wire

/// What a member knows of the others of its channel by their words, and by what comes of them.
struct RelayedTalk {
  var seats = SeatWatch()
  var mutes = RelayedMutes()
  var messages: RelayedMessages

  /// The relay has shown the card of a member, and it was the right one.
  mutating func add(_ uid: UInt32, now: Instant) {
    seats.add(uid, now: now)
    mutes.add(uid, now: now)
  }

  /// - Returns: Messages of it that need not wait any longer.
  @discardableResult
  mutating func remove(_ uid: UInt32) -> [MessageNews] {
    seats.remove(uid)
    mutes.remove(uid)
    return messages.remove(uid)
  }

  /// There is a session with the relay, or another one.
  mutating func restart(now: Instant) {
    seats.restart(now: now)
    mutes.restart(now: now)
  }

  /// Writes the own words for the next member that is to have them.
  ///
  /// - Returns: Whether there were some, and a key: who only listens is not heard anyway.
  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, _ keys: inout GroupKeyMachine, now: Instant
  ) -> Bool {
    guard let uid = mutes.popListener(now: now), keys.isPublishing else { return false }
    let start = packet.count
    let words = [
      mutes.own.map { (MuteWord.messageType, $0.bytes) },
      mutes.ownMedia.map { (MediaWord.messageType, $0.bytes) },
    ]
    for case (let type, let text)? in words {
      guard let frame = keys.seal(text, metadata: type) else { continue }
      let message = [type] + frame
      ChannelWordFrame.writeKey(message.span, uid: uid, to: &packet)
    }
    return packet.count > start
  }

  /// Reads a member's message whose first byte says that it is such a word.
  mutating func read(
    _ message: [UInt8], of uid: UInt32, _ keys: inout GroupKeyMachine, now: Instant
  ) -> [ChannelRelayEvent] {
    let frame = Array(message.dropFirst())
    // Its type and its metadata are one number.
    guard let type = message.first,
      let text = keys.open(frame, from: uid, metadata: type, now: now)
    else { return [] }
    if type == MuteWord.messageType {
      guard let word = MuteWord(text), mutes.handle(word, of: uid, now: now) else { return [] }
      return [.audioMuted(uid: uid, isMuted: word.isMuted)]
    }
    guard let word = MediaWord(text), let turn = PictureRotation(rawValue: word.quarters),
      let former = mutes.handle(word, of: uid, now: now)
    else { return [] }
    var events: [ChannelRelayEvent] = []
    if word.hasMusic != former.hasMusic { events.append(.music(uid: uid, isOn: word.hasMusic)) }
    let switched = word.off.symmetricDifference(former.off)
    for part in SwitchedOff.parts where switched.contains(part) {
      events.append(.switched(uid: uid, part, isOn: !word.off.contains(part)))
    }
    if word.quarters != former.quarters {
      events.append(.picturesTurned(uid: uid, turn, mediaTime: word.mediaTime))
    }
    return events
  }

  var nextDeadline: Instant? {
    earliest(earliest(seats.nextDeadline, mutes.nextDeadline), messages.nextDeadline)
  }
}

/// Short texts that are sealed as frames of sound are. Of metadata they have one byte, which says
/// what they are.
extension GroupKeyMachine {
  /// - Returns: `nil` where we have no key.
  mutating func seal(_ text: [UInt8], metadata: UInt8) -> [UInt8]? {
    let room = Self.headerRoom
    var frame = [UInt8](repeating: 0, count: room) + text
    frame += [UInt8](repeating: 0, count: Self.tagByteCount)
    let metadata: InlineArray<1, UInt8> = [metadata]
    do throws(SFrameError) {
      var span = frame.mutableSpan
      let place = try seal(&span, text: room..<(room + text.count), metadata: metadata.span)
      return Array(frame[place])
    } catch {
      return nil
    }
  }

  /// - Returns: `nil` where it is not that member's, or has been opened before.
  mutating func open(
    _ frame: [UInt8], from uid: UInt32, metadata: UInt8, now: Instant
  ) -> [UInt8]? {
    var bytes = frame
    let metadata: InlineArray<1, UInt8> = [metadata]
    do throws(SFrameError) {
      var span = bytes.mutableSpan
      let text = try open(
        &span, at: frame.indices, from: uid, metadata: metadata.span, now: now)
      return Array(bytes[text])
    } catch {
      return nil
    }
  }
}
