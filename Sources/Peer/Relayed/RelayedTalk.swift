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
