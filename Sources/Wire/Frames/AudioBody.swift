package import Primitives

/// A copy of an earlier frame of audio, carried in a later AUDIO frame (docs/protocol/frames.md
/// §5.1), without its bytes.
///
///      0 1 2 3 4 5 6 7
///     |M|cod|distance |   M: another copy follows; distance in 10 ms, 0 = in a byte of its own
///     | [distance]    |
///     | [codec]       |   only where cod = 3
///     | length        |   1 or 2 bytes (RFC 6716 §3.2.1)
package struct AudioCopy: Equatable, Sendable, BitwiseCopyable {
  /// What the copy is; `other` is for codecs that are not known here, and is stepped over.
  package enum Coding: UInt8, Sendable, BitwiseCopyable {
    /// The Opus packet that was first sent.
    case primary = 0
    /// An Opus packet of the same frame, encoded anew at a lower rate.
    case lowRate = 1
    /// The Opus packet that was first sent, because it was asked for (§5.3).
    case retransmission = 2
    case other = 3
    /// The XOR of two Opus packets as they were first sent (§5.1.1); on the wire coding 3, codec 1.
    case parity = 4
    /// No copy: how many frames the sender left out (§5.1.2); on the wire coding 3, codec 2.
    case unsentCount = 5

    fileprivate var bits: UInt8 { min(rawValue, Coding.other.rawValue) }
    /// The byte that follows coding 3.
    fileprivate var codec: UInt8? {
      switch self {
      case .parity: AudioCopy.parityCodec
      case .unsentCount: AudioCopy.unsentCountCodec
      case .primary, .lowRate, .retransmission, .other: nil
      }
    }
  }

  package var coding: Coding
  /// How much later the media time of the carrying frame is, in 10 ms, 1..255.
  package var distance: UInt8
  /// Where its bytes are in the body, 1..1275 of them.
  package var payload: PacketRange
  /// Of a parity: how much later the carrying frame is than the second of the two, in 10 ms, and
  /// the XOR of their lengths; 0 otherwise.
  package private(set) var secondDistance: UInt8 = 0
  package private(set) var lengthSum: UInt16 = 0

  package init(_ coding: Coding, distance: UInt8, payload: PacketRange) {
    self.coding = coding
    self.distance = distance
    self.payload = payload
  }

  /// Writes the header that goes with `byteCount` bytes of an Opus packet.
  ///
  /// - Parameters:
  ///   - coding: not `other`.
  ///   - distance: 1..255.
  ///   - byteCount: 1..1275.
  @_lifetime(packet: copy packet)
  package static func writeHeader(
    _ coding: Coding, distance: UInt8, byteCount: Int, isLast: Bool,
    to packet: inout OutputSpan<UInt8>
  ) {
    let short = distance <= Bits.distance ? distance : 0
    packet.append((isLast ? 0 : Bits.more) | coding.bits << 5 | short)
    if short == 0 { packet.append(distance) }
    if let codec = coding.codec { packet.append(codec) }
    if byteCount <= Self.shortest {
      packet.append(UInt8(truncatingIfNeeded: byteCount))
    } else {
      let low = (byteCount - Self.shortest - 1) & 3
      packet.append(UInt8(truncatingIfNeeded: Self.shortest + 1 + low))
      packet.append(UInt8(truncatingIfNeeded: (byteCount - Self.shortest - 1 - low) / 4))
    }
  }

  /// Writes what stands in front of the bytes of a parity; the header counts these three too.
  @_lifetime(packet: copy packet)
  package static func writeParityLead(
    secondDistance: UInt8, lengths: (Int, Int), to packet: inout OutputSpan<UInt8>
  ) {
    packet.append(secondDistance)
    packet.append(littleEndian: UInt16(truncatingIfNeeded: lengths.0 ^ lengths.1))
  }

  /// How long the header of such a copy is, in bytes: 2 to 5.
  package static func headerByteCount(
    _ coding: Coding = .primary, distance: UInt8, byteCount: Int
  ) -> Int {
    2 + (coding.codec == nil ? 0 : 1) + (distance > Bits.distance ? 1 : 0)
      + (byteCount > shortest ? 1 : 0)
  }

  /// Reads one header; the copy's place is not known yet, only its length.
  @_lifetime(reader: copy reader)
  static func parse(
    _ reader: inout ByteReader
  ) throws(WireError) -> (copy: AudioCopy, byteCount: Int, isLast: Bool) {
    let start = reader.offset
    let first = try reader.readUInt8("audio copy")
    var distance = first & Bits.distance
    if distance == 0 { distance = try reader.readUInt8("audio copy distance") }
    guard distance > 0 else { throw .invalid("audio copy distance", at: start) }
    var coding = Coding(rawValue: first >> 5 & 3) ?? .other
    if coding == .other {
      switch try reader.readUInt8("audio copy codec") {
      case parityCodec: coding = .parity
      case unsentCountCodec: coding = .unsentCount
      default: break
      }
    }
    var byteCount = Int(try reader.readUInt8("audio copy length"))
    if byteCount > shortest { byteCount += 4 * Int(try reader.readUInt8("audio copy length")) }
    guard byteCount > 0 else { throw .invalid("audio copy length", at: start) }
    let copy = AudioCopy(coding, distance: distance, payload: PacketRange(0..<0))
    return (copy, byteCount, first & Bits.more == 0)
  }

  /// Takes the lead of a parity off its bytes; one that makes no sense is stepped over.
  mutating func takeParityLead(from body: Span<UInt8>) {
    var reader = ByteReader(body.bytes(at: payload))
    do throws(WireError) {
      let second = try reader.readUInt8("audio parity distance")
      let sum = try reader.readUInt16("audio parity lengths")
      guard second > 0, second != distance, !reader.isAtEnd else {
        throw .invalid("audio parity distance", at: 0)
      }
      secondDistance = second
      lengthSum = sum
      let start = payload.start &+ Self.parityLeadByteCount
      payload = PacketRange(start..<(start &+ reader.remaining))
    } catch {
      coding = .other
    }
  }

  package static let parityLeadByteCount = 3
  fileprivate static let parityCodec: UInt8 = 1
  fileprivate static let unsentCountCodec: UInt8 = 2

  private enum Bits {
    static let more: UInt8 = 0b1000_0000
    static let distance: UInt8 = 0b0001_1111
  }
  /// The longest length that takes one byte.
  private static let shortest = 251
}

/// What follows the media time of an AUDIO frame: copies of earlier frames, if it says so, and its
/// own Opus packet (docs/protocol/frames.md §5).
///
/// Headers come first, then the bytes of the copies, then the frame's own, to the end.
package struct AudioBody: Sendable, BitwiseCopyable {
  /// More copies than this make the frame invalid.
  package static let maximumCopyCount = 12

  package private(set) var copyCount = 0
  /// How many frames of the stream the sender has left out so far, mod 2^16; `nil` = not said.
  package private(set) var unsentCount: UInt16?
  private var copies: InlineArray<12, AudioCopy>
  /// The frame's own Opus packet; empty in a packet that has copies only.
  package let primary: PacketRange

  /// Checks all of `body`; every range is then a place in it.
  package init(_ body: Span<UInt8>, hasCopies: Bool) throws(WireError) {
    var reader = ByteReader(body)
    copies = InlineArray(
      repeating: AudioCopy(.other, distance: 1, payload: PacketRange(0..<0)))
    var lengths = InlineArray<12, Int>(repeating: 0)
    var isLast = !hasCopies
    while !isLast {
      guard copyCount < Self.maximumCopyCount else {
        throw .invalid("audio copies", at: reader.offset)
      }
      let header = try AudioCopy.parse(&reader)
      copies[copyCount] = header.copy
      lengths[copyCount] = header.byteCount
      copyCount += 1
      isLast = header.isLast
    }
    for index in 0..<copyCount {
      copies[index].payload = PacketRange(try reader.readRange(lengths[index], "audio copy"))
      if copies[index].coding == .parity { copies[index].takeParityLead(from: body) }
      if copies[index].coding == .unsentCount {
        unsentCount = Self.readCount(at: copies[index].payload, in: body)
      }
    }
    let start = reader.offset
    primary = PacketRange(try reader.readRange(reader.remaining, "audio payload"))
    let least = hasCopies ? 0 : AudioMediaFrame.payloadByteCounts.lowerBound
    guard (least...AudioMediaFrame.payloadByteCounts.upperBound).contains(primary.count) else {
      throw .invalid("audio payload", at: start)
    }
  }

  /// - Parameter index: below `copyCount`.
  package func copy(_ index: Int) -> AudioCopy { copies[index] }

  /// `nil` where it has another length: it says nothing that is known here.
  private static func readCount(at place: PacketRange, in body: Span<UInt8>) -> UInt16? {
    guard place.count == unsentCountByteCount else { return nil }
    return UInt16(body[place.start]) | UInt16(body[place.start &+ 1]) << 8
  }

  private static let unsentCountByteCount = 2
  /// What a body that says `unsentCount` is longer than one that does not.
  package static let unsentCountCost = 3 + unsentCountByteCount

  /// Where the headers of a body's copies end; `nil` where no other copy has room.
  package static func headerEnd(of body: Span<UInt8>, hasCopies: Bool) -> Int? {
    guard hasCopies else { return 0 }
    var reader = ByteReader(body)
    for _ in 0..<(maximumCopyCount - 1) {
      do throws(WireError) {
        if try AudioCopy.parse(&reader).isLast { return reader.offset }
      } catch {
        return nil  // Our own: `AudioSender` writes none such.
      }
    }
    return nil
  }
}
