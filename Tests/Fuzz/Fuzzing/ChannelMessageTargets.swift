import Peer
import Primitives
import Wire

/// Messages to a channel, of a member whose packets open.
enum ChannelMessageTargets {
  static let all: [FuzzTarget] = [channelPart, channelParts]

  private static let channelPart = FuzzTarget(
    "channel-part", maximumByteCount: 1100,
    seeds: { parts.map(\.encoded) },
    run: { bytes in
      guard let part = try? DataPart(parsing: bytes.span) else { return }
      expect(part.place <= part.last, "a part is one of those there are")
      expect(part.encoded == bytes, "a part has one encoding")
    })

  /// Each part has two bytes of length before it; with one of no bytes, time passes.
  ///
  /// Goal: no message is longer than the longest, and nothing is told of that has not come.
  private static let channelParts = FuzzTarget(
    "channel-parts", maximumByteCount: 6000,
    seeds: {
      let all = parts.map { part -> [UInt8] in
        let bytes = part.encoded
        return [UInt8(truncatingIfNeeded: bytes.count), UInt8(bytes.count >> 8)] + bytes
      }
      return [all.flatMap { $0 }, all.reversed().flatMap { $0 + [0, 0] }]
    },
    run: { bytes in
      var messages = IncomingMessages(uid: 7, epoch: 1)
      var now = Instant(nanoseconds: 1_000_000_000)
      var (given, taken) = (0, 0)
      var rest = bytes[...]
      while rest.count >= 2 {
        let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
        let part = Array(rest.dropFirst(2).prefix(count))
        rest = rest.dropFirst(2 + count)
        var told: [MessageNews] = []
        if let part = try? DataPart(parsing: part.span) {
          given += part.bytes.count
          told = messages.handle(part, now: now)
        }
        if count == 0 { now = messages.patience ?? now + .seconds(1) }
        told += messages.handleTimeout(now: now)
        for news in told {
          switch news {
          case .message(let stream, let message):
            taken += message.count
            expect(DataPart.messageByteCounts.contains(message.count), "a message has a length")
            expect(DataPart.streams.contains(stream), "a message has a stream")
          case .missed(_, let missed, let cached):
            expect(missed > 0 && cached >= 0, "what is missed is something")
          }
        }
      }
      expect(taken <= given, "nothing is told that has not come")
    })

  /// Messages of one and of three parts, in order and not, and of a later seat.
  private static var parts: [DataPart] {
    let whole = [UInt8](repeating: 5, count: 1024)
    return [
      DataPart(epoch: 1, number: 1, bytes: [1]),
      DataPart(epoch: 1, number: 2, place: 0, last: 2, bytes: whole),
      DataPart(epoch: 1, number: 2, place: 2, last: 2, bytes: [3]),
      DataPart(epoch: 1, number: 2, place: 1, last: 2, bytes: whole),
      DataPart(epoch: 1, number: 4, bytes: [4]),
      DataPart(epoch: 1, number: 9, isOrdered: false, place: 1, last: 1, bytes: [9]),
      DataPart(epoch: 2, number: 1, isOrdered: false, bytes: [2]),
      DataPart(epoch: 2, number: 1, stream: 9, bytes: [6]),
      DataPart(epoch: 2, number: 3, stream: 9, bytes: [7]),
      DataPart(epoch: 2, number: 1, stream: 127, isOrdered: false, bytes: [8]),
    ]
  }
}
