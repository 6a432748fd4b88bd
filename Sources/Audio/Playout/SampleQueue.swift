/// Decoded samples on their way out, and the last 30 ms of what already went.
///
/// One block of memory, taken once; "frame" here is one sample of every channel.
struct SampleQueue: ~Copyable {
  let channels: Int
  private var samples: [Int16]
  /// The next frame to play, and one past the last.
  private var start = Self.historyFrames
  private var end = Self.historyFrames

  init(channels: Int) {
    self.channels = channels
    samples = [Int16](repeating: 0, count: Self.capacityFrames * channels)
  }

  /// Frames that wait.
  var count: Int { end - start }

  /// Whether one more packet, of whatever length, fits behind what waits.
  var hasRoom: Bool {
    count + Self.historyFrames + AudioFormat.maxPacketSampleCount <= Self.capacityFrames
  }

  /// Decodes a packet behind what waits.
  ///
  /// - Returns: frames decoded.
  mutating func append(
    decoding entry: PacketBuffer.Entry, of packets: borrowing PacketBuffer,
    with decoder: inout OpusDecoder, through fader: inout Fader,
    noise: inout ComfortNoise
  ) throws(OpusError) -> Int {
    let first = makeRoom()
    let channels = channels
    var all = samples.mutableSpan
    var tail = all._mutatingExtracting(droppingFirst: first)
    let frames = try decoder.decode(packets.payload(of: entry), into: &tail)
    fader.apply(
      to: &tail, frames: frames, channels: channels, towards: Fader.full,
      noise: &noise)
    end += frames
    return frames
  }

  /// Appends `frames` frames that were lost before `entry`, from the copy it carries.
  mutating func append(
    restoring frames: Int, before entry: PacketBuffer.Entry, of packets: borrowing PacketBuffer,
    with decoder: inout OpusDecoder, through fader: inout Fader,
    noise: inout ComfortNoise
  ) throws(OpusError) -> Int {
    let first = makeRoom()
    let channels = channels
    var all = samples.mutableSpan
    var tail = all._mutatingExtracting(droppingFirst: first)
    let frames = try decoder.decodeForwardErrorCorrection(
      in: packets.payload(of: entry), sampleCount: frames, into: &tail)
    fader.apply(
      to: &tail, frames: frames, channels: channels, towards: Fader.full,
      noise: &noise)
    end += frames
    return frames
  }

  /// Appends `frames` frames that the codec makes up.
  mutating func append(
    concealing frames: Int, with decoder: inout OpusDecoder, through fader: inout Fader,
    towards gain: Int, noise: inout ComfortNoise
  ) throws(OpusError) -> Int {
    let first = makeRoom()
    let channels = channels
    var all = samples.mutableSpan
    var tail = all._mutatingExtracting(droppingFirst: first)
    let frames = try decoder.conceal(sampleCount: frames, into: &tail)
    fader.apply(to: &tail, frames: frames, channels: channels, towards: gain, noise: &noise)
    end += frames
    return frames
  }

  /// Appends the background alone.
  mutating func append(noiseFrames frames: Int, from noise: inout ComfortNoise) {
    let first = makeRoom()
    let count = min(frames, Self.capacityFrames - end)
    for frame in 0..<count {
      noise.advance()
      for channel in 0..<channels {
        samples[first + frame * channels + channel] = noise.value(channel: channel)
      }
    }
    end += count
  }

  /// Lets `noise` learn the last `frames` frames.
  func teach(_ noise: inout ComfortNoise, frames: Int) {
    for frame in max(start, end - frames)..<end {
      noise.learn(samples[frame * channels], samples[frame * channels + channels - 1])
    }
  }

  /// - Returns: where in the block the next frame goes; the longest packet fits behind it.
  private mutating func makeRoom() -> Int {
    if end + AudioFormat.maxPacketSampleCount > Self.capacityFrames { moveToFront() }
    return end * channels
  }

  /// Writes the next `frames` frames to the start of `output`, and silence where there are none.
  @_lifetime(output: copy output)
  mutating func dequeue(frames: Int, into output: inout MutableSpan<Int16>) {
    let given = min(frames, count)
    let first = start * channels
    for index in 0..<(given * channels) { output[index] = samples[first + index] }
    for index in (given * channels)..<(frames * channels) { output[index] = 0 }
    start += given
  }

  /// Mean square of the last `frames` frames.
  func energy(last frames: Int) -> Float {
    let measured = min(frames, count)
    return energy(from: count - measured, frames: measured)
  }

  /// Mean square of `frames` frames, the first of them `offset` after the next to play; negative is
  /// the past.
  func energy(from offset: Int, frames: Int) -> Float {
    guard frames > 0, offset >= -Self.historyFrames, offset + frames <= count else { return 0 }
    var sum: Int64 = 0
    for index in ((start + offset) * channels)..<((start + offset + frames) * channels) {
      let sample = Int64(samples[index])
      sum &+= sample &* sample
    }
    return Float(sum) / Float(frames * channels)
  }

  /// The channels' sum at `frame`, counted from the next frame to play; negative is the past.
  func mono(_ frame: Int) -> Int32 {
    let index = (start + frame) * channels
    let left = Int32(samples[index])
    return channels == 2 ? left + Int32(samples[index + 1]) : left
  }

  /// Plays on as if from `jump` frames later (negative: earlier), after a cross-fade of `overlap`.
  ///
  /// The past becomes what was really heard: a splice may follow a splice.
  mutating func splice(jump: Int, overlap: Int) {
    guard jump != 0, overlap > 0, overlap + max(jump, 0) <= count, -jump <= Self.historyFrames
    else {
      return
    }
    if end - jump > Self.capacityFrames { moveToFront() }
    if jump > 0 {
      shorten(by: jump, overlap: overlap)
    } else {
      lengthen(by: -jump, overlap: overlap)
    }
  }

  /// Leaves `jump` frames out, after a cross-fade of `overlap` that begins `offset` frames after
  /// the next to play.
  mutating func cut(_ jump: Int, at offset: Int, overlap: Int) {
    guard jump > 0, overlap > 0, offset >= 0, offset + overlap + jump <= count else { return }
    shorten(by: jump, overlap: overlap, from: offset)
  }

  private mutating func shorten(by jump: Int, overlap: Int, from offset: Int = 0) {
    let distance = jump * channels
    let first = (start + offset) * channels
    for offset in 0..<(overlap * channels) {
      let index = first + offset
      samples[index] = Crossfade.mix(
        samples[index], samples[index + distance], offset / channels, of: overlap)
    }
    for index in (first + overlap * channels)..<((end - jump) * channels) {
      samples[index] = samples[index + distance]
    }
    end -= jump
  }

  /// Works downwards, so that nothing is overwritten before it has been read.
  private mutating func lengthen(by jump: Int, overlap: Int) {
    let distance = jump * channels
    let first = start * channels
    let resumed = first + overlap * channels
    var index = (end + jump) * channels - 1
    while index >= resumed {
      samples[index] = samples[index - distance]
      index -= 1
    }
    while index >= first {
      samples[index] = Crossfade.mix(
        samples[index], samples[index - distance], (index - first) / channels, of: overlap)
      index -= 1
    }
    end += jump
  }

  private mutating func moveToFront() {
    let offset = start - Self.historyFrames
    guard offset > 0 else { return }
    for index in (offset * channels)..<(end * channels) {
      samples[index - offset * channels] = samples[index]
    }
    start -= offset
    end -= offset
  }

  /// 30 ms: enough for two of the longest pitch periods.
  static let historyFrames = 1440
  /// Half a second: the longest packet (120 ms), what is left of the one before, and the past.
  private static let capacityFrames = 24_000
}
