internal import Primitives

/// How our media frames look as RTP, for captures: Wireshark knows RTP and not us.
///
/// On our wire the whole packet is sealed and the header is a few bytes; its fields map to RTP's
/// one to one (RFC 3550 §5.1, and RFC 7587 for Opus: 48 kHz, two channels, whatever is in it).
package struct RTPMapping: Equatable, Sendable {
  /// The dynamic payload type browsers use for Opus.
  package static let opusPayloadType: UInt8 = 111
  package static let headerByteCount = 12

  package var payloadType: UInt8
  /// The first packet after a silence.
  package var isMarked: Bool
  package var sequenceNumber: UInt16
  /// In ticks of 48 kHz.
  package var timestamp: UInt32
  /// Which stream (SSRC).
  package var source: UInt32

  package init(
    payloadType: UInt8 = RTPMapping.opusPayloadType, isMarked: Bool = false,
    sequenceNumber: UInt16, timestamp: UInt32, source: UInt32
  ) {
    self.payloadType = payloadType
    self.isMarked = isMarked
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.source = source
  }

  /// An audio frame of ours.
  ///
  /// - Parameter mediaStep: its audio time in steps of 10 ms, unwrapped as far as is known.
  package static func audio(
    mediaStep: UInt32, sequenceNumber: UInt16, source: UInt32, isMarked: Bool = false
  ) -> RTPMapping {
    RTPMapping(
      isMarked: isMarked, sequenceNumber: sequenceNumber, timestamp: mediaStep &* 480,
      source: source)
  }

  /// The RTP packet: header and payload.
  package func packet(_ payload: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.headerByteCount + payload.count)
    bytes.append(0x80)
    bytes.append((isMarked ? 0x80 : 0) | payloadType & 0x7F)
    bytes.append(bigEndian: sequenceNumber)
    bytes.append(bigEndian: timestamp)
    bytes.append(bigEndian: source)
    for index in 0..<payload.count { bytes.append(payload[index]) }
    return bytes
  }

  /// Reads the header of an RTP packet; `nil` for anything else. Contributing sources and header
  /// extensions are stepped over.
  ///
  /// - Returns: the header, and where the payload starts.
  package static func parse(_ packet: Span<UInt8>) -> (header: RTPMapping, payloadStart: Int)? {
    var reader = ByteReader(packet)
    do throws(WireError) {
      let flags = try reader.readUInt8("flags")
      guard flags >> 6 == 2 else { return nil }
      let type = try reader.readUInt8("PT")
      // RTCP on the same port (RFC 5761 §4).
      guard !(192...223).contains(type) else { return nil }
      let header = RTPMapping(
        payloadType: type & 0x7F, isMarked: type & 0x80 != 0,
        sequenceNumber: try reader.readUInt16("sequence number").byteSwapped,
        timestamp: try reader.readUInt32("timestamp").byteSwapped,
        source: try reader.readUInt32("SSRC").byteSwapped)
      _ = try reader.readRange(4 * Int(flags & 0x0F), "CSRC")
      if flags & 0x10 != 0 {
        _ = try reader.readUInt16("profile")
        let words = Int(try reader.readUInt16("extension length").byteSwapped)
        _ = try reader.readRange(4 * words, "extension")
      }
      return (header, reader.offset)
    } catch {
      return nil
    }
  }
}
