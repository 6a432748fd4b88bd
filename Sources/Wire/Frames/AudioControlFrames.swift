package import Primitives

/// AUDIO_REPORT: what the receiver of audio lost before anything repaired it, and how much time a
/// repair has (docs/protocol/frames.md §5.2). The counts are totals of the stream and wrap, so that
/// a report may be lost.
package struct AudioReportFrame: Equatable, Sendable, BitwiseCopyable {
  /// Without the type byte.
  package static let bodyByteCount = 15

  /// 0..3.
  package var stream: UInt8 = 0
  /// Frames whose fate is known, mod 2^16.
  package var framesExpected: UInt16 = 0
  /// Of these, the ones whose own packet did not come, mod 2^16.
  package var framesLost: UInt16 = 0
  /// Runs of lost frames, mod 2^16.
  package var lossBursts: UInt16 = 0
  /// Frames that nothing brought in time, mod 2^16.
  package var framesUnrepaired: UInt16 = 0
  /// The longest run of late, in frames; 255 = as many or more.
  package var longestBurst: UInt8 = 0
  /// How long before its time a packet arrives that is as late as nineteen of twenty, in ms.
  package var slackMilliseconds: Int16 = 0
  /// The playout delay aimed at, in ms beyond the fastest packet.
  package var targetDelayMilliseconds: UInt16 = 0
  /// Interarrival jitter (RFC 3550 §6.4.1) in ms; 255 = as much or more.
  package var jitterMilliseconds: UInt8 = 0

  package init() {}

  /// Reads what follows the type byte.
  package init(body: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(body)
    let flags = try reader.readUInt8("audio report flags")
    guard flags & ~3 == 0 else { throw .invalid("audio report flags", at: 0) }
    stream = flags
    framesExpected = try reader.readUInt16("frames expected")
    framesLost = try reader.readUInt16("frames lost")
    lossBursts = try reader.readUInt16("loss bursts")
    framesUnrepaired = try reader.readUInt16("frames unrepaired")
    longestBurst = try reader.readUInt8("longest burst")
    slackMilliseconds = Int16(bitPattern: try reader.readUInt16("slack"))
    targetDelayMilliseconds = try reader.readUInt16("target delay")
    jitterMilliseconds = try reader.readUInt8("jitter")
    try reader.expectEnd("audio report")
  }

  /// Writes the body, without the type.
  @_lifetime(packet: copy packet)
  package func writeBody(to packet: inout OutputSpan<UInt8>) {
    packet.append(stream & 3)
    packet.append(littleEndian: framesExpected)
    packet.append(littleEndian: framesLost)
    packet.append(littleEndian: lossBursts)
    packet.append(littleEndian: framesUnrepaired)
    packet.append(longestBurst)
    packet.append(littleEndian: UInt16(bitPattern: slackMilliseconds))
    packet.append(littleEndian: targetDelayMilliseconds)
    packet.append(jitterMilliseconds)
  }
}

/// AUDIO_REQUEST: frames that the receiver lacks and that could still be played
/// (docs/protocol/frames.md §5.3). Its body: a byte with the stream (bits 0..1), the length of a
/// frame (bits 2..3) and the number of entries (bits 4..7), and the entries.
package struct AudioRequestFrame: Sendable, BitwiseCopyable {
  /// A frame, by its media time, and which of the eight after it.
  package struct Entry: Equatable, Sendable, BitwiseCopyable {
    /// Of the first frame, in 10 ms, wraps.
    package var mediaTime: UInt16
    /// Bit i: the frame i + 1 frame lengths later is wanted too.
    package var following: UInt8

    package init(mediaTime: UInt16, following: UInt8 = 0) {
      self.mediaTime = mediaTime
      self.following = following
    }
  }

  package static let maximumEntryCount = 8
  package static let entryByteCount = 3
  /// The longest body.
  package static let maximumBodyByteCount = 1 + maximumEntryCount * entryByteCount

  /// 0..3.
  package var stream: UInt8 = 0
  /// How far apart the frames of an entry are.
  package let length: AudioMediaFrame.Length
  package private(set) var entryCount = 0
  private var entries = InlineArray<8, Entry>(repeating: Entry(mediaTime: 0))

  package init(length: AudioMediaFrame.Length) { self.length = length }

  /// Reads what follows the type byte.
  package init(body: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(body)
    let flags = try reader.readUInt8("audio request flags")
    let count = Int(flags >> 4)
    guard let length = AudioMediaFrame.Length(rawValue: flags >> 2 & 3),
      (1...Self.maximumEntryCount).contains(count)
    else {
      throw .invalid("audio request flags", at: 0)
    }
    stream = flags & 3
    self.length = length
    for index in 0..<count {
      let mediaTime = try reader.readUInt16("requested media time")
      let following = try reader.readUInt8("requested frames")
      entries[index] = Entry(mediaTime: mediaTime, following: following)
    }
    entryCount = count
    try reader.expectEnd("audio request")
  }

  /// - Parameter index: below `entryCount`.
  package func entry(_ index: Int) -> Entry { entries[index] }

  /// Asks for one more frame; `false` if there is no room.
  package mutating func add(mediaTime: UInt16) -> Bool {
    let frameSteps = length.mediaTimeSteps
    if entryCount > 0 {
      let last = entries[entryCount - 1]
      let steps = mediaTime &- last.mediaTime
      if steps > 0, steps % frameSteps == 0, steps / frameSteps <= 8 {
        entries[entryCount - 1].following |= 1 << UInt8(truncatingIfNeeded: steps / frameSteps - 1)
        return true
      }
    }
    guard entryCount < Self.maximumEntryCount else { return false }
    entries[entryCount] = Entry(mediaTime: mediaTime)
    entryCount += 1
    return true
  }

  /// Writes the body, without the type; only with entries.
  @_lifetime(packet: copy packet)
  package func writeBody(to packet: inout OutputSpan<UInt8>) {
    packet.append(
      stream & 3 | length.rawValue << 2 | UInt8(truncatingIfNeeded: entryCount) << 4)
    for index in 0..<entryCount {
      packet.append(littleEndian: entries[index].mediaTime)
      packet.append(entries[index].following)
    }
  }
}
