package import Primitives

/// Raw sound that comes through a pipe: from a microphone, at the pace of a clock of its own, or
/// from a file, as fast as it is taken. A machine without a thread, clock or descriptor.
///
/// Sound of a microphone that nobody took in time is old: it is dropped where a call begins, and
/// what is more than needed later. Who reads after a pause is another call, and hears nothing from
/// before. Sound that runs ahead of time is not a microphone's; none of it is dropped, and the rest
/// is left in the pipe until there is room.
package struct PipedInput: ~Copyable {
  package let format: RawFormat
  /// What spoilt it, in a sentence.
  package private(set) var fault: String?
  /// Whether it came faster than time passes: then it is taken by `room`.
  package var isAhead: Bool { arrivals.isAhead }
  /// Times that a reader got silence because nothing had come.
  package private(set) var gapCount = 0

  private var servo = DriftServo(target: 0.008)
  private var resampler: Resampler
  /// A ring of whole frames.
  private var frames: [Int16]
  private var first = 0
  private var count = 0
  /// Of a frame that is not whole yet.
  private var partial: [UInt8] = []
  private var arrivals = FrameArrivals()
  private var lastRead: Instant?
  private var hasEnded = false
  /// A new reader wants no old sound.
  private var wantsFresh = true
  /// It ran empty: it is given again once it holds enough not to do so at once.
  private var isRefilling = true
  private var input: [Float]
  private var output: [Float]
  private var inputCount = 0
  /// What the last frame given was, and how much of the next is still to be faded in.
  private var lastFrame: [Int16]
  private var fadeLeft = 0

  /// `nil` for a rate that cannot be brought to 48 kHz.
  package init?(_ format: RawFormat) {
    guard let resampler = Resampler(rate: format.rateHz, channels: format.channels) else {
      return nil
    }
    self.format = format
    self.resampler = resampler
    let channels = format.channels
    frames = Array(repeating: 0, count: Self.longest * format.rateHz * channels)
    input = Array(repeating: 0, count: Self.blockFrames * channels)
    output = Array(repeating: 0, count: Self.blockFrames * channels)
    lastFrame = Array(repeating: 0, count: channels)
  }

  // MARK: - In

  /// Bytes that there is room for.
  package var room: Int {
    max(0, (capacity - count) * format.bytesPerFrame - partial.count)
  }

  /// Appends what has come.
  package mutating func append(_ bytes: borrowing [UInt8], count byteCount: Int, now: Instant) {
    if arrivals.frameCount == 0, isWAV(bytes, byteCount) { return }
    arrivals.begin(now: now)
    for index in 0..<min(byteCount, bytes.count) {
      partial.append(bytes[index])
      if partial.count == format.bytesPerFrame { appendFrame() }
    }
    arrivals.judge(rateHz: format.rateHz, now: now)
  }

  /// Appends whole frames that an application has.
  ///
  /// - Returns: samples that were taken; fewer where there is no room for more.
  package mutating func append(_ samples: Span<Int16>, now: Instant) -> Int {
    guard !hasEnded, partial.isEmpty else { return 0 }
    arrivals.begin(now: now)
    let channels = format.channels
    let taken = min(samples.count / channels, capacity - count)
    for frame in 0..<taken {
      let place = (first + count) % capacity * channels
      for channel in 0..<channels { frames[place + channel] = samples[frame * channels + channel] }
      count += 1
    }
    arrivals.frameCount += taken
    arrivals.judge(rateHz: format.rateHz, now: now)
    return taken * channels
  }

  /// Nothing more comes.
  package mutating func end(fault: String? = nil) {
    hasEnded = true
    if self.fault == nil { self.fault = fault }
  }

  /// Somebody begins to read: what lies here is old, unless it runs ahead of time.
  package mutating func begin() {
    wantsFresh = true
    isRefilling = true
    servo.restart()
  }

  /// What lies here was said to nobody.
  private mutating func forgetAll() {
    drop(count)
    inputCount = 0
    resampler.reset()
    for channel in lastFrame.indices { lastFrame[channel] = 0 }
    arrivals.restart()
    begin()
  }

  private var capacity: Int { frames.count / format.channels }

  private mutating func appendFrame() {
    if count == capacity { drop(1) }
    let place = (first + count) % capacity * format.channels
    for channel in 0..<format.channels {
      let word = UInt16(partial[2 * channel]) | UInt16(partial[2 * channel + 1]) << 8
      frames[place + channel] = Int16(bitPattern: word)
    }
    partial.removeAll(keepingCapacity: true)
    count += 1
    arrivals.frameCount += 1
  }

  private mutating func drop(_ number: Int) {
    let dropped = min(max(0, number), count)
    first = (first + dropped) % capacity
    count -= dropped
  }

  /// The header of a file would be noise.
  private mutating func isWAV(_ bytes: borrowing [UInt8], _ byteCount: Int) -> Bool {
    guard byteCount >= 4, bytes[0] == 0x52, bytes[1] == 0x49, bytes[2] == 0x46, bytes[3] == 0x46
    else { return false }
    end(
      fault: "Standard input is a WAV file, not raw samples. Use --play FILE, or put "
        + "'ffmpeg -i FILE -f s16le -ar 48000 -ac 1 -' before.")
    return true
  }

  // MARK: - Out

  /// Fills `samples` with frames at 48 kHz, silence where nothing has come.
  ///
  /// - Returns: frames; fewer than there is room for only at the end.
  @_lifetime(samples: copy samples)
  package mutating func read(into samples: inout MutableSpan<Int16>, now: Instant) -> Int {
    let channels = format.channels
    let wanted = samples.count / channels
    if let lastRead, Self.seconds(lastRead, now) > Self.longestPause, !isAhead { forgetAll() }
    lastRead = now
    if wantsFresh { dropOld(wanted: wanted, now: now) }
    if mustWait(wanted) {
      fillGap(&samples, 0..<wanted)
      return wanted
    }
    resampler.setRatio(48_000 / (Double(format.rateHz) * (1 + servo.correction)))
    var filled = 0
    while filled < wanted {
      let given = convert(room: wanted - filled)
      guard given > 0 else { break }
      for index in 0..<(given * channels) {
        samples[filled * channels + index] = AudioFileReader.sixteenBits(output[index])
      }
      filled += given
    }
    fade(&samples, filled)
    guard filled < wanted else {
      watch(wanted)
      return wanted
    }
    if hasEnded { return filled }
    handleEmpty()
    fillGap(&samples, filled..<wanted)
    return wanted
  }

  private mutating func mustWait(_ wanted: Int) -> Bool {
    guard isRefilling, !isAhead, !hasEnded else { return false }
    let enough = (Double(wanted) / 48_000 + servo.target) * Double(format.rateHz)
    isRefilling = Double(count + inputCount) < enough
    return isRefilling
  }

  private mutating func handleEmpty() {
    guard arrivals.frameCount > 0, !isAhead else { return }
    gapCount += 1
    isRefilling = true
    servo.handleEmpty()
  }

  /// Frames at 48 kHz that are in `output` now; 0 where nothing has come, or at the end.
  private mutating func convert(room: Int) -> Int {
    let channels = format.channels
    while true {
      let taken = min(Self.blockFrames - inputCount, count)
      for frame in 0..<taken {
        let place = (first + frame) % capacity * channels
        for channel in 0..<channels {
          input[(inputCount + frame) * channels + channel] = Float(frames[place + channel]) / 32_768
        }
      }
      drop(taken)
      inputCount += taken
      guard
        let progress = resampler.process(
          input, 0..<inputCount, isLast: hasEnded && count == 0, into: &output, room: room)
      else { return 0 }
      for index in 0..<((inputCount - progress.taken) * channels) {
        input[index] = input[index + progress.taken * channels]
      }
      inputCount -= progress.taken
      if progress.given > 0 || progress.taken == 0 || count == 0 { return progress.given }
    }
  }

  /// Of a microphone, what came before now; after a moment, as what begins may be a file.
  private mutating func dropOld(wanted: Int, now: Instant) {
    guard let first = arrivals.first else { return }
    guard !isAhead else {
      wantsFresh = false
      return
    }
    guard Self.seconds(first, now) >= Self.judgeAfter else { return }
    wantsFresh = false
    let kept = wanted * format.rateHz / 48_000 + format.rateHz / 100
    drop(count - kept)
    servo.restart()
  }

  /// Keeps the queue short.
  private mutating func watch(_ wanted: Int) {
    guard !isAhead, !hasEnded, !wantsFresh else { return }
    let rate = Double(format.rateHz)
    let isWindow = servo.handle(
      level: Double(count + inputCount) / rate, elapsed: Double(wanted) / 48_000)
    guard isWindow, let least = servo.leastLevel, least > servo.target + Self.excess else { return }
    drop(Int((least - servo.target) * rate))
    servo.restart()
  }

  // MARK: - Gaps

  @_lifetime(samples: copy samples)
  private mutating func fillGap(_ samples: inout MutableSpan<Int16>, _ gap: Range<Int>) {
    let channels = format.channels
    for frame in gap {
      let left = max(0, Self.fadeFrames - (frame - gap.lowerBound))
      for channel in 0..<channels {
        samples[frame * channels + channel] = Self.part(lastFrame[channel], left)
      }
    }
    for channel in 0..<channels { lastFrame[channel] = 0 }
    fadeLeft = Self.fadeFrames
  }

  @_lifetime(samples: copy samples)
  private mutating func fade(_ samples: inout MutableSpan<Int16>, _ filled: Int) {
    guard filled > 0 else { return }
    let channels = format.channels
    for frame in 0..<min(fadeLeft, filled) {
      let done = Self.fadeFrames - (fadeLeft - frame)
      for channel in 0..<channels {
        samples[frame * channels + channel] = Self.part(samples[frame * channels + channel], done)
      }
    }
    fadeLeft -= min(fadeLeft, filled)
    for channel in 0..<channels {
      lastFrame[channel] = samples[(filled - 1) * channels + channel]
    }
  }

  private static func part(_ sample: Int16, _ of: Int) -> Int16 {
    Int16(Int(sample) * of / fadeFrames)
  }

  fileprivate static func seconds(_ from: Instant, _ to: Instant) -> Double {
    Double(to.nanoseconds(since: from)) / 1e9
  }

  /// Seconds that are kept at most.
  private static let longest = 3
  /// Seconds from one read to the next of a call, whose media thread reads each 10 or 20 ms, and
  /// may have been kept from it.
  private static let longestPause = 0.3
  /// Seconds after which a file would be ahead.
  private static let judgeAfter = 0.3
  /// Seconds above the target that are not waited for.
  private static let excess = 0.04
  /// 10 ms at 48 kHz: what is converted at once is no longer in the queue.
  private static let blockFrames = 480
  /// 2 ms.
  private static let fadeFrames = 96
}

/// Whether frames come faster than time passes.
private struct FrameArrivals {
  var frameCount = 0
  private(set) var first: Instant?
  private(set) var isAhead = false
  /// Since when, and from which frame on, it is judged.
  private var window: (began: Instant, frame: Int)?

  /// Some come.
  mutating func begin(now: Instant) {
    if first == nil { first = now }
    if window == nil { window = (now, frameCount) }
  }

  /// They have come. Over a minute at a time: a clock that is a little fast is ahead by any time
  /// after some days.
  mutating func judge(rateHz: Int, now: Instant) {
    guard let (began, frame) = window else { return }
    let passed = PipedInput.seconds(began, now)
    if Double(frameCount - frame) / Double(rateHz) - passed > Self.aheadOfTime { isAhead = true }
    if passed > Self.judgedSeconds { window = (now, frameCount) }
  }

  /// What came before is forgotten.
  mutating func restart() { (first, window) = (nil, nil) }

  /// Seconds ahead of time that no microphone is, with a full pipe and a sound server behind it.
  private static let aheadOfTime = 1.5
  /// Seconds after which it is judged anew: a clock that is 0.5 % fast gains 0.3 s in them.
  private static let judgedSeconds = 60.0
}
