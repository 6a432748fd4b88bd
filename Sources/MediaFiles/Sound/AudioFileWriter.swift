internal import CSndFile
internal import Glibc

/// Saves what was heard, at 48 kHz: `.wav` (16 bit) or `.opus` (Ogg Opus) by the name's ending
/// (station 22 of the house tour).
///
/// A program that is killed leaves a file that can be played: a WAV's header is brought up to date
/// ten times a second, and Ogg needs none. A WAV that outgrows 4 GiB becomes RF64.
package struct AudioFileWriter: ~Copyable {
  package enum Format: Equatable, Sendable { case wav, opus }

  package let path: String
  package let format: Format
  /// 1 or 2.
  package let channels: Int
  package private(set) var framesWritten = 0

  private var file: SoundFile
  private var framesSinceHeader = 0
  /// A WAV into a pipe: its header was written once, and says that the end is not known.
  private let isStream: Bool
  /// The header is made plain at the end; of a file that was open already, by its owner.
  private let isOpenedByName: Bool

  /// Creates the file, or empties the one that is there.
  ///
  /// - Parameter descriptor: an empty file that is open, to write to instead, and to close; `path`
  ///   is what it is called then.
  package init(
    _ path: String, channels: Int, owning descriptor: Int32? = nil
  ) throws(MediaFileError) {
    precondition((1...2).contains(channels), "a call is heard in mono or stereo")
    guard let format = Self.format(of: path) else { throw .unknownExtension(path) }
    let isStream = try Self.beginStream(path, format, descriptor, channels: channels)
    let container: SoundFormat = isStream ? .raw : format == .wav ? .rf64 : .oggOpus
    var file = try SoundFile(
      writing: path, as: container, channels: channels, owning: descriptor)
    switch format {
    case .wav where isStream: break
    case .wav:
      // An ordinary WAV as long as it is small enough to be one.
      file.command(Int32(SFC_RF64_AUTO_DOWNGRADE), flag: true)
      try file.updateHeader()
    case .opus:
      file.command(Int32(SFC_SET_OGG_PAGE_LATENCY_MS), value: 200)
    }
    self.isStream = isStream
    self.path = path
    self.format = format
    self.channels = channels
    isOpenedByName = descriptor == nil
    self.file = consume file
  }

  /// Appends interleaved samples, all of them or none that it keeps quiet about.
  package mutating func write(_ samples: Span<Int16>) throws(MediaFileError) {
    try file.write(samples)
    let frames = samples.count / channels
    framesWritten += frames
    framesSinceHeader += frames
    if format == .wav, !isStream, framesSinceHeader >= Self.framesPerHeader {
      framesSinceHeader = 0
      try file.updateHeader()
    }
  }

  /// Completes the file.
  package mutating func close() throws(MediaFileError) {
    if format == .wav, !isStream { try file.updateHeader() }
    try file.close()
    if format == .wav, isOpenedByName { WAVHeader.makePlain(path) }
  }

  /// Writes the header of a WAV without an end where the file cannot be wound back; whether it
  /// cannot. Closes `descriptor` where it throws.
  private static func beginStream(
    _ path: String, _ format: Format, _ descriptor: Int32?, channels: Int
  ) throws(MediaFileError) -> Bool {
    guard format == .wav, let descriptor, lseek(descriptor, 0, SEEK_CUR) < 0, errno == ESPIPE
    else { return false }
    let header = WAVHeader.endless(channels: channels, rate: 48_000)
    let count = unsafe Glibc.write(descriptor, header, header.count)
    guard count == header.count else {
      let reason = errno
      _ = Glibc.close(descriptor)
      throw .cannotWrite(path, reason: MediaFileError.text(count < 0 ? reason : EIO))
    }
    return true
  }

  private static func format(of path: String) -> Format? {
    let lowered = path.lowercased()
    if lowered.hasSuffix(".wav") { return .wav }
    return lowered.hasSuffix(".opus") ? .opus : nil
  }

  /// 100 ms.
  private static let framesPerHeader = 4800
}
