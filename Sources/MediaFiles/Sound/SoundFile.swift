internal import CSndFile
internal import Glibc

/// An open libsndfile handle, closed when it goes out of scope.
@safe struct SoundFile: ~Copyable {
  let path: String
  let channels: Int
  let rate: Int
  /// Frames in the file; `nil` where only reading to the end would tell.
  let frames: Int?
  let isSeekable: Bool
  private let handle: OpaquePointer
  private var isOpen = true
  /// Of a file that was open already; closed after libsndfile has closed its own.
  private let descriptor: Int32?
  /// Where its WAV header has the mark that is made plain, once that is known.
  private var plainMark: Int?

  /// Opens a file to read.
  init(reading path: String) throws(MediaFileError) {
    try Self.checkReadable(path)
    let writer = try AwaitedWriter(of: path)
    defer { withExtendedLifetime(writer) {} }
    var info = SF_INFO()
    guard let handle = unsafe sf_open(path, Int32(SFM_READ), &info) else {
      throw Self.refusal(path)
    }
    unsafe self.handle = unsafe handle
    descriptor = nil
    self.path = path
    channels = Int(info.channels)
    rate = Int(info.samplerate)
    let count = info.frames
    frames = count == sf_count_t.max || count < 0 ? nil : Int(count)
    isSeekable = info.seekable != 0
  }

  /// Creates a file to write, or empties the one there is.
  ///
  /// - Parameter descriptor: an empty file that is open, to write to instead, and to close.
  init(
    writing path: String, as format: SoundFormat, channels: Int, rate: Int = 48_000,
    owning descriptor: Int32? = nil
  ) throws(MediaFileError) {
    var info = SF_INFO()
    info.samplerate = Int32(clamping: rate)
    info.channels = Int32(channels)
    info.format = format.code
    errno = 0
    let opened =
      if let descriptor {
        unsafe sf_open_fd(descriptor, Int32(SFM_WRITE), &info, 0)
      } else {
        unsafe sf_open(path, Int32(SFM_WRITE), &info)
      }
    guard let handle = unsafe opened else {
      let number = errno
      if let descriptor { _ = Glibc.close(descriptor) }
      if number == ENOSPC {
        throw .cannotWrite(path, reason: MediaFileError.text(number))
      }
      throw .cannotCreate(path, errorNumber: number == 0 ? EIO : number)
    }
    unsafe self.handle = unsafe handle
    self.descriptor = descriptor
    self.path = path
    self.channels = channels
    self.rate = rate
    frames = 0
    isSeekable = true
    if format == .wavFloat { command(Int32(SFC_SET_SCALE_INT_FLOAT_WRITE), flag: true) }
  }

  deinit {
    if isOpen {
      _ = unsafe sf_close(handle)
      if let descriptor { _ = Glibc.close(descriptor) }
    }
  }

  /// Reads up to `frames` frames, interleaved, to the start of `samples`.
  mutating func read(frames: Int, into samples: inout [Float]) throws(MediaFileError) -> Int {
    let wanted = min(frames, samples.count / channels)
    let handle = unsafe handle
    let count = unsafe samples.withUnsafeMutableBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe Int(sf_readf_float(handle, start, sf_count_t(wanted)))
    }
    if count < wanted, unsafe sf_error(handle) != 0 {
      throw .damaged(path, reason: unsafe String(cString: sf_strerror(handle)))
    }
    return count
  }

  mutating func rewind() throws(MediaFileError) {
    guard isSeekable, unsafe sf_seek(handle, 0, SEEK_SET) == 0 else {
      throw .damaged(path, reason: "it cannot be wound back to its start.")
    }
  }

  /// Writes all of `samples`, interleaved.
  mutating func write(_ samples: Span<Int16>) throws(MediaFileError) {
    let frames = samples.count / channels
    guard frames > 0 else { return }
    let handle = unsafe handle
    errno = 0
    let count = unsafe samples.withUnsafeBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe Int(sf_writef_short(handle, start, sf_count_t(frames)))
    }
    let code = unsafe sf_error(handle)
    if count != frames || code != 0 { throw writeFailure(errno) }
  }

  /// Brings the header up to date with what has been written.
  mutating func updateHeader() throws(MediaFileError) {
    errno = 0
    _ = unsafe sf_command(handle, Int32(SFC_UPDATE_HEADER_NOW), nil, 0)
    if unsafe sf_error(handle) != 0 { throw writeFailure(errno) }
    // Also what a killed program leaves is to be read by everybody.
    if let descriptor { plainMark = WAVHeader.makePlain(descriptor, at: plainMark) }
  }

  /// Sends a command whose argument is a flag.
  mutating func command(_ command: Int32, flag: Bool) {
    _ = unsafe sf_command(handle, command, nil, flag ? 1 : 0)
  }

  /// Sends a command whose argument is a number.
  mutating func command(_ command: Int32, value: Double) {
    var value = value
    _ = unsafe sf_command(handle, command, &value, Int32(MemoryLayout<Double>.size))
  }

  /// Writes what is still held back and closes; what `deinit` would do, with its errors.
  mutating func close() throws(MediaFileError) {
    guard isOpen else { return }
    isOpen = false
    errno = 0
    let code = unsafe sf_close(handle)
    let number = errno
    if let descriptor {
      WAVHeader.makePlain(descriptor)
      _ = Glibc.close(descriptor)
    }
    guard code == 0 else {
      let reason =
        number == 0 ? unsafe String(cString: sf_error_number(code)) : MediaFileError.text(number)
      throw .cannotWrite(path, reason: reason)
    }
  }

  private func writeFailure(_ number: Int32) -> MediaFileError {
    let reason =
      number == 0 ? unsafe String(cString: sf_strerror(handle)) : MediaFileError.text(number)
    return .cannotWrite(path, reason: reason)
  }

  private static func checkReadable(_ path: String) throws(MediaFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      throw errno == ENOENT ? .missing(path) : .unreadable(path, errorNumber: errno)
    }
    if status.st_mode & S_IFMT == S_IFDIR { throw .isDirectory(path) }
    guard unsafe access(path, R_OK) == 0 else { throw .unreadable(path, errorNumber: errno) }
    if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { throw .empty(path) }
  }

  private static func refusal(_ path: String) -> MediaFileError {
    let number = errno
    switch sf_error(nil) {
    case Int32(SF_ERR_SYSTEM): return .unreadable(path, errorNumber: number)
    case Int32(SF_ERR_UNRECOGNISED_FORMAT): return .unknownFormat(path)
    default:
      return .damaged(path, reason: unsafe String(cString: sf_strerror(nil)))
    }
  }
}

/// The formats that are written: ours, and those the tests read back.
enum SoundFormat: CaseIterable, Sendable {
  case wav, rf64, wavFloat, flac, aiff, oggVorbis, oggOpus
  /// Samples alone, little-endian: of a WAV into a pipe, whose header was written before.
  case raw

  /// Those whose files can be told by their content.
  static var allCases: [SoundFormat] {
    [.wav, .rf64, .wavFloat, .flac, .aiff, .oggVorbis, .oggOpus]
  }

  fileprivate var code: Int32 {
    switch self {
    case .wav: Int32(SF_FORMAT_WAV | SF_FORMAT_PCM_16)
    case .rf64: Int32(SF_FORMAT_RF64 | SF_FORMAT_PCM_16)
    case .wavFloat: Int32(SF_FORMAT_WAV | SF_FORMAT_FLOAT)
    case .flac: Int32(SF_FORMAT_FLAC | SF_FORMAT_PCM_16)
    case .aiff: Int32(SF_FORMAT_AIFF | SF_FORMAT_PCM_16)
    case .oggVorbis: Int32(SF_FORMAT_OGG | SF_FORMAT_VORBIS)
    case .oggOpus: Int32(SF_FORMAT_OGG | SF_FORMAT_OPUS)
    case .raw: Int32(SF_FORMAT_RAW | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE)
    }
  }
}
