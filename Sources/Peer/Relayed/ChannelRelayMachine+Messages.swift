import GroupKeys
package import Primitives
import Wire

/// Messages to all members of a channel (docs/protocol/relay.md §3).
extension ChannelRelayMachine {
  /// What became of a message that was to be sent.
  package enum Sending: Equatable, Sendable {
    case sent
    /// No seat, or one that only listens.
    case notPublishing
    /// More than 30 a second.
    case tooMany
    /// A relay of before.
    case notUnderstood
  }

  /// Seals a message for all who are in the channel now, and sends it: reliable on both hops.
  ///
  /// - Parameter bytes: 1 to 1024 of them.
  package mutating func send(_ bytes: [UInt8], now: Instant) -> Sending {
    guard isConnected, keys.isPublishing else { return .notPublishing }
    guard link.standing.terms?.payload.hasChannelData == true else { return .notUnderstood }
    guard let message = messages.makeMessage(bytes, now: now) else { return .tooMany }
    let (room, text) = (GroupKeyMachine.headerRoom, message.encoded)
    var frame = [UInt8](repeating: 0, count: room) + text
    frame += [UInt8](repeating: 0, count: GroupKeyMachine.tagByteCount)
    let metadata = DataMessage.metadata
    do throws(SFrameError) {
      var span = frame.mutableSpan
      let place = try keys.seal(
        &span, text: room..<(room + text.count), metadata: metadata.span)
      link.send(.channelData(ChannelData(uid: 0, frame: Array(frame[place]))), now: now)
      return .sent
    } catch {
      return .notPublishing
    }
  }

  mutating func receive(_ data: ChannelData, now: Instant) {
    var frame = data.frame
    let metadata = DataMessage.metadata
    let message: DataMessage
    do {
      var span = frame.mutableSpan
      let text = try keys.open(
        &span, at: 0..<data.frame.count, from: data.uid, metadata: metadata.span, now: now)
      message = try DataMessage(parsing: frame.span.extracting(text))
    } catch {
      return  // Not that member's, or its key is not here.
    }
    for bytes in messages.handle(message, of: data.uid, now: now) {
      publish(.message(uid: data.uid, bytes))
    }
  }
}
