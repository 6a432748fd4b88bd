/// Plays any file libsndfile knows as 48 kHz, 16 bit, mono or stereo (station 1 of the house tour).
///
/// Reads as it goes: a file of ten hours takes no more memory than one of ten seconds. More than
/// two channels are mixed down to one, their mean.
package struct AudioFileReader: ~Copyable {
  /// More than any format for the ear has.
  package static let maxChannels = 64

  package let path: String
  /// 1 or 2.
  package let channels: Int
  /// What the file says, before resampling.
  package let fileRateHz: Int
  package let fileChannels: Int
  /// How many frames a read to the end gives; `nil` where the file does not say.
  package let lengthFrames48k: Int?

  private var file: SoundFile
  private var resampler: Resampler?
  /// As in the file, then mixed down in place.
  private var input: [Float]
  private var inputRange = 0..<0
  private var isInputAtEnd = false
  private var output: [Float]
  private var outputRange = 0..<0

  package init(_ path: String) throws(MediaFileError) {
    let file = try SoundFile(reading: path)
    guard file.channels >= 1, file.channels <= Self.maxChannels else {
      throw .tooManyChannels(path, channels: file.channels)
    }
    guard file.frames != 0 else { throw .empty(path) }
    guard (1000...768_000).contains(file.rate) else {
      throw .unusableRate(path, rate: file.rate)
    }
    let channels = file.channels == 2 ? 2 : 1
    if file.rate != 48_000 {
      guard let resampler = Resampler(rate: file.rate, channels: channels) else {
        throw .unusableRate(path, rate: file.rate)
      }
      self.resampler = consume resampler
    } else {
      resampler = nil
    }
    self.path = path
    self.channels = channels
    fileRateHz = file.rate
    fileChannels = file.channels
    let rate = file.rate
    lengthFrames48k = file.frames.map { frames in
      let product = frames.multipliedFullWidth(by: 48_000)
      return product.high == 0 ? Int(clamping: product.low / UInt(rate)) : Int.max
    }
    input = [Float](repeating: 0, count: Self.blockFrames * file.channels)
    output = [Float](repeating: 0, count: Self.blockFrames * channels)
    self.file = consume file
  }

  /// Fills `samples` with interleaved frames from its start.
  ///
  /// - Returns: frames read; fewer than there is room for only at the end of the file, 0 after it.
  @_lifetime(samples: copy samples)
  package mutating func read(into samples: inout MutableSpan<Int16>) throws(MediaFileError) -> Int {
    let wanted = samples.count / channels
    var filled = 0
    while filled < wanted {
      if outputRange.isEmpty, try !fillOutput() { break }
      let count = min(wanted - filled, outputRange.count)
      let source = outputRange.lowerBound * channels
      let target = filled * channels
      for index in 0..<(count * channels) {
        samples[target + index] = Self.sixteenBits(output[source + index])
      }
      filled += count
      outputRange = (outputRange.lowerBound + count)..<outputRange.upperBound
    }
    return filled
  }

  /// Goes back to the first sample, to play the file again.
  package mutating func rewind() throws(MediaFileError) {
    try file.rewind()
    resampler?.reset()
    inputRange = 0..<0
    outputRange = 0..<0
    isInputAtEnd = false
  }

  /// - Returns: whether there is anything in the output block now.
  private mutating func fillOutput() throws(MediaFileError) -> Bool {
    while true {
      if inputRange.isEmpty, !isInputAtEnd { try fillInput() }
      guard resampler != nil else {
        swap(&input, &output)
        outputRange = inputRange
        inputRange = 0..<0
        if input.count < Self.blockFrames * fileChannels {
          input = [Float](repeating: 0, count: Self.blockFrames * fileChannels)
        }
        return !outputRange.isEmpty
      }
      guard
        let progress = resampler?.process(
          input, inputRange, isLast: isInputAtEnd, into: &output)
      else { throw .damaged(path, reason: "its samples cannot be resampled.") }
      inputRange = (inputRange.lowerBound + progress.taken)..<inputRange.upperBound
      outputRange = 0..<progress.given
      if progress.given > 0 { return true }
      if isInputAtEnd { return false }
    }
  }

  private mutating func fillInput() throws(MediaFileError) {
    let count = try file.read(frames: Self.blockFrames, into: &input)
    isInputAtEnd = count < Self.blockFrames
    inputRange = 0..<count
    guard fileChannels > 2 else { return }
    for frame in 0..<count {
      var sum: Float = 0
      for channel in 0..<fileChannels { sum += input[frame * fileChannels + channel] }
      input[frame] = sum / Float(fileChannels)
    }
  }

  /// Exact for what was 16 bits before; louder than full scale is clipped, not-a-number is silence.
  static func sixteenBits(_ sample: Float) -> Int16 {
    let scaled = (sample * 32_768).rounded(.toNearestOrEven)
    if scaled >= 32_767 { return 32_767 }
    if scaled <= -32_768 { return -32_768 }
    return scaled.isNaN ? 0 : Int16(scaled)
  }

  /// 85 ms at 48 kHz.
  private static let blockFrames = 4096
}
