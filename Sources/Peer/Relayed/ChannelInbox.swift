import Primitives
import Wire

/// The channel frames of one packet of a relay, and a copy of the packet to open them in. One
/// memory for all packets.
final class ChannelInbox {
  private(set) var frames: [Frame] = []
  private(set) var packet: [UInt8] = []

  init() {
    packet.reserveCapacity(Datagram.maximumByteCount)
    frames.reserveCapacity(Self.limit)
  }

  /// Takes a frame that is a channel's; more than a relay writes into one packet are dropped.
  func append(_ frame: Frame, in bytes: Span<UInt8>) {
    switch frame {
    case .channelAudio, .channelCopy, .channelSource, .channelKey, .channelCard, .channelPicture,
      .channelWants, .channelLow, .channelUnsent, .video, .videoNack:
      break
    default: return
    }
    if frames.isEmpty {
      packet.removeAll(keepingCapacity: true)
      for index in bytes.indices { packet.append(bytes[index]) }
    }
    if frames.count < Self.limit { frames.append(frame) }
  }

  func removeAll() { frames.removeAll(keepingCapacity: true) }

  func bytes(at range: PacketRange) -> [UInt8] {
    Array(packet[range.range.clamped(to: 0..<packet.count)])
  }

  /// The packet's bytes, to be changed in place and put back.
  func takePacket() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &packet)
    return taken
  }

  func putBack(_ bytes: consuming [UInt8]) { packet = bytes }

  private static let limit = 16
}
