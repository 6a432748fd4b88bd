package import Primitives

/// Which codecs a side takes part with, and on which streams (docs/protocol/calling.md §6).
package struct MediaDescription: Equatable, Sendable {
  /// A codec's number; numbers that we do not know are kept and ignored.
  package struct Codec: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let opus = Codec(rawValue: 1)
    package static let vp8 = Codec(rawValue: 2)
    /// No media: the call carries a probe (docs/protocol/probe.md §3).
    package static let probe = Codec(rawValue: 3)
  }

  package struct Entry: Hashable, Sendable {
    package var codec: Codec
    package var stream: UInt8
    package var isStereo: Bool

    package init(_ codec: Codec, stream: UInt8, isStereo: Bool = false) {
      self.codec = codec
      self.stream = stream
      self.isStereo = isStereo
    }
  }

  /// Two codecs on each of four streams: more than any version of ours has use for.
  package static let maximumCount = 8
  private static let entryByteCount = 3
  private static let isStereoBit: UInt8 = 1

  package let entries: [Entry]

  /// Keeps the first eight.
  package init(_ entries: [Entry] = []) { self.entries = Array(entries.prefix(Self.maximumCount)) }

  /// Reads the value of the TLV.
  package init(parsing value: [UInt8]) throws(WireError) {
    let count = value.count / Self.entryByteCount
    guard value.count % Self.entryByteCount == 0, count <= Self.maximumCount else {
      throw .invalid("media description length", at: 0)
    }
    var reader = ByteReader(value.span)
    var entries: [Entry] = []
    for _ in 0..<count {
      let codec = Codec(rawValue: try reader.readUInt8("codec"))
      let stream = try reader.readUInt8("stream")
      let flags = try reader.readUInt8("media flags")
      entries.append(Entry(codec, stream: stream, isStereo: flags & Self.isStereoBit != 0))
    }
    self.entries = entries
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for entry in entries {
      bytes.append(entry.codec.rawValue)
      bytes.append(entry.stream)
      bytes.append(entry.isStereo ? Self.isStereoBit : 0)
    }
    return bytes
  }

  /// With `codec` on stream 0 as well.
  package func adding(_ codec: Codec) -> MediaDescription {
    guard !entries.contains(where: { $0.codec == codec }) else { return self }
    return MediaDescription(entries + [Entry(codec, stream: 0)])
  }

  /// Whether both sides speak `codec`; without a common audio codec a call is rejected (§6).
  package func shares(_ codec: Codec, with other: MediaDescription) -> Bool {
    entries.contains { $0.codec == codec } && other.entries.contains { $0.codec == codec }
  }
}
