package import Primitives

/// PROBE_REPORT: when PROBE_PACKETs arrived (docs/protocol/probe.md §1); its entries stay in the
/// packet.
package struct ProbeReportFrame: Equatable, Sendable, BitwiseCopyable {
  package static let headerByteCount = 27
  package static let maximumCount = 480
  /// The step of its times.
  package static let nanosecondsPerTick: UInt64 = 16_000
  /// The entry of a packet that has not come.
  package static let missing: UInt16 = 0xFFFF
  /// The entry of a packet that came with the one before it.
  package static let bias: Int32 = 16384
  /// What an entry can say, in ticks.
  package static let differences: ClosedRange<Int32> = -16384...49150

  package var run: UInt32
  /// Sequence number of the first entry.
  package var first: UInt32
  /// When the first entry's packet arrived, in ticks, wraps; or the first that came after it.
  package var arrival: UInt32
  package var duplicateCount: UInt16
  package var reorderedCount: UInt16
  /// PROBE_PACKETs that the reflector has sent.
  package var sentCount: UInt32
  /// PROBE_PACKETs that came with Congestion Experienced, and with no ECN-capable mark at all.
  package var markedCount: UInt16
  package var bleachedCount: UInt16
  package var entries: PacketRange

  package init(
    run: UInt32, first: UInt32, arrival: UInt32, duplicateCount: UInt16, reorderedCount: UInt16,
    sentCount: UInt32, markedCount: UInt16 = 0, bleachedCount: UInt16 = 0
  ) {
    self.run = run
    self.first = first
    self.arrival = arrival
    self.duplicateCount = duplicateCount
    self.reorderedCount = reorderedCount
    self.sentCount = sentCount
    self.markedCount = markedCount
    self.bleachedCount = bleachedCount
    entries = PacketRange(0..<0)
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    run = try reader.readUInt32("probe run")
    first = try reader.readUInt32("probe first")
    arrival = try reader.readUInt32("probe arrival")
    duplicateCount = try reader.readUInt16("probe duplicates")
    reorderedCount = try reader.readUInt16("probe reordered")
    sentCount = try reader.readUInt32("probe sent")
    markedCount = try reader.readUInt16("probe marked")
    bleachedCount = try reader.readUInt16("probe bleached")
    let count = Int(try reader.readUInt16("probe entries"))
    guard run != 0, count <= Self.maximumCount else {
      throw .invalid("probe report", at: start)
    }
    entries = PacketRange(try reader.readRange(2 * count, "probe entries"))
  }

  /// Writes the header; `count` entries must follow.
  @_lifetime(packet: copy packet)
  package func writeHeader(to packet: inout OutputSpan<UInt8>, count: Int) {
    packet.append(FrameType.probeReport)
    packet.append(littleEndian: run)
    packet.append(littleEndian: first)
    packet.append(littleEndian: arrival)
    packet.append(littleEndian: duplicateCount)
    packet.append(littleEndian: reorderedCount)
    packet.append(littleEndian: sentCount)
    packet.append(littleEndian: markedCount)
    packet.append(littleEndian: bleachedCount)
    packet.append(littleEndian: UInt16(clamping: count))
  }

  /// Walks the entries. `packet` is what the report was read from.
  @_lifetime(copy packet)
  package func arrivals(in packet: Span<UInt8>) -> ProbeArrivals {
    ProbeArrivals(self, packet.bytes(at: entries))
  }
}

/// Walks a report's entries: each number, and when it arrived.
package struct ProbeArrivals: ~Escapable {
  package struct Arrival: Equatable, Sendable, BitwiseCopyable {
    package var sequence: UInt32
    /// In ticks, wraps; `nil` = not received.
    package var ticks: UInt32?
  }

  private var reader: ByteReader
  private var sequence: UInt32
  private var ticks: UInt32
  private var isFirst = true

  @_lifetime(copy bytes)
  init(_ frame: ProbeReportFrame, _ bytes: Span<UInt8>) {
    reader = ByteReader(bytes)
    sequence = frame.first
    ticks = frame.arrival
  }

  @_lifetime(self: copy self)
  package mutating func next() -> Arrival? {
    guard reader.remaining >= 2 else { return nil }
    do throws(WireError) {
      let entry = try reader.readUInt16("probe entry")
      defer { sequence &+= 1 }
      guard entry != ProbeReportFrame.missing else { return Arrival(sequence: sequence) }
      // The first that came has the header's time, whatever its entry says.
      if !isFirst {
        ticks = ticks &+ UInt32(bitPattern: Int32(entry) - ProbeReportFrame.bias)
      }
      isFirst = false
      return Arrival(sequence: sequence, ticks: ticks)
    } catch {
      return nil
    }
  }
}
