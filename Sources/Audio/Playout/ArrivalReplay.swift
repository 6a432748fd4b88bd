package import Primitives

/// Hears an `ArrivalRecording` again: as it was, or as it would have been with other settings.
package struct ArrivalReplay: ~Copyable {
  package var buffer: JitterBuffer
  /// Whether copies, and frames that were sent again, are handed to the buffer.
  package var usesCopies = true
  package var usesRetransmissions = true
  private let bytes: [UInt8]
  private var offset: Int
  private var time: Int64 = 0
  private var mediaTime: UInt16 = 0
  /// Pulls that one record of a pull or a pause stands for, and what is to come of the last one.
  private let pullsByRecord: Int
  private var pending: (pulls: Int, isPause: Bool) = (0, false)

  /// - Throws: `WireError` when `bytes` do not begin as a recording does.
  package init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes.span)
    guard try reader.readBytes(4, "magic") == ArrivalRecording.magic else {
      throw WireError(.invalid, "magic", at: 0)
    }
    let version = try reader.readUInt8("version")
    guard (1...ArrivalRecording.version).contains(version) else {
      throw WireError(.invalid, "version", at: 4)
    }
    let channels = Int(try reader.readUInt8("channels"))
    guard (1...2).contains(channels) else { throw .invalid("channels", at: 5) }
    do throws(OpusError) {
      buffer = try JitterBuffer(channels: channels)
    } catch {
      throw .invalid("channels", at: 5)
    }
    self.bytes = bytes
    pullsByRecord = version == 1 ? 2 : 1
    offset = reader.offset
  }

  /// Goes on to the next pull, and gives what it gave.
  ///
  /// - Parameter output: at least 240 samples for each channel.
  /// - Returns: `false` at the end, and where a recording that was cut off ends.
  /// - Throws: `WireError` for a record that is none.
  @_lifetime(output: copy output)
  package mutating func pull(into output: inout MutableSpan<Int16>) throws(WireError) -> Bool {
    let bytes = self.bytes
    if pending.pulls > 0 { return give(&output) }
    while offset < bytes.count {
      var reader = ByteReader(bytes.span.extracting(offset..<bytes.count))
      let kind = try reader.readUInt8("kind")
      if kind == 0 {
        time &+= try Self.readSigned(&reader)
        offset += reader.offset
        pending = (pullsByRecord, false)
        return give(&output)
      }
      if kind == 6 {
        offset += reader.offset
        pending = (pullsByRecord, true)
        return give(&output)
      }
      if kind == 5 {
        buffer.hold(atLeast: try Self.readSigned(&reader))
        offset += reader.offset
      } else if kind == 7 {
        buffer.noteUnsent(try Self.read(&reader))
        offset += reader.offset
      } else {
        let packet = try readPacket(kind, &reader)
        let start = offset
        offset += reader.offset
        guard uses(packet.origin) else { continue }
        buffer.insert(
          bytes.span.extracting((start + packet.payload.lowerBound)..<offset),
          mediaTime: mediaTime, arrival: Self.instant(time), origin: packet.origin,
          isMarked: kind & ArrivalRecording.mark != 0)
      }
    }
    return false
  }

  @_lifetime(output: copy output)
  private mutating func give(_ output: inout MutableSpan<Int16>) -> Bool {
    pending.pulls -= 1
    if pending.isPause {
      buffer.pause()
      for index in 0..<(AudioFormat.pullSampleCount * buffer.channels) { output[index] = 0 }
    } else {
      _ = buffer.pull(into: &output, now: Self.instant(time))
    }
    return true
  }

  private func uses(_ origin: PacketOrigin) -> Bool {
    switch origin {
    case .primary: true
    case .copy: usesCopies
    case .retransmission: usesRetransmissions
    }
  }

  @_lifetime(reader: copy reader)
  private mutating func readPacket(
    _ kind: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> (origin: PacketOrigin, payload: Range<Int>) {
    let origin: PacketOrigin
    switch kind & ~ArrivalRecording.mark {
    case 1: origin = .primary
    case 2, 3:
      let steps = UInt16(truncatingIfNeeded: try Self.read(&reader))
      origin = .copy(steps: steps, isLowRate: kind & ~ArrivalRecording.mark == 3)
    case 4: origin = .retransmission
    default: throw WireError(.invalid, "kind", at: offset)
    }
    time &+= try Self.readSigned(&reader)
    mediaTime &+= UInt16(truncatingIfNeeded: try Self.readSigned(&reader))
    let length = Int(truncatingIfNeeded: min(try Self.read(&reader), 1 << 16))
    return (origin, try reader.readRange(length, "payload"))
  }

  @_lifetime(reader: copy reader)
  private static func readSigned(_ reader: inout ByteReader) throws(WireError) -> Int64 {
    let value = try read(&reader)
    return Int64(bitPattern: value >> 1) ^ -Int64(value & 1)
  }

  @_lifetime(reader: copy reader)
  private static func read(_ reader: inout ByteReader) throws(WireError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try reader.readUInt8("number")
      value |= UInt64(byte & 0x7F) &<< shift
      if byte & 0x80 == 0 { return value }
    }
    throw WireError(.invalid, "number", at: reader.offset)
  }

  private static func instant(_ time: Int64) -> Instant {
    Instant(nanoseconds: UInt64(max(0, time)))
  }
}
