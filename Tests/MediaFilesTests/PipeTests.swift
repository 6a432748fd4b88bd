import MediaFiles
import Primitives
import Testing

private struct NotMade: Error {}

/// A microphone or file at one end of a `PipedInput`, a call at the other, in simulated time.
private struct Supply: ~Copyable {
  var input: PipedInput
  var now = Instant(nanoseconds: 1_000_000_000)
  var produced = 0

  init(_ format: RawFormat = .usual) throws {
    guard let input = PipedInput(format) else { throw NotMade() }
    self.input = input
  }

  /// Frames whose value tells their number: a slow saw.
  static func value(_ frame: Int) -> Int16 { Int16(frame / 4 % 16_384 + 1000) }

  mutating func produce(_ frames: Int) {
    var bytes: [UInt8] = []
    for frame in produced..<(produced + frames) {
      let value = Self.value(frame)
      for _ in 0..<input.format.channels {
        bytes += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
      }
    }
    produced += frames
    input.append(bytes, count: bytes.count, now: now)
  }

  mutating func read(_ frames: Int) -> [Int16] {
    var samples = [Int16](repeating: 0, count: frames * input.format.channels)
    var span = samples.mutableSpan
    let count = input.read(into: &span, now: now)
    return Array(samples.prefix(count * input.format.channels))
  }

  /// Milliseconds that the last sample is behind the newest; for 48 kHz.
  func delay(_ last: Int16) -> Double {
    let frame = (Int(last) - 1000) * 4
    let behind = (produced - frame) % 65_536
    return Double(behind < 0 ? behind + 65_536 : behind) / 48
  }
}

struct PipedInputTests {
  @Test(arguments: [-1000, -100, 0, 100, 1000], [480, 960])
  func `the drift of a microphone's clock is absorbed`(partsPerMillion: Int, piece: Int) throws {
    var supply = try Supply()
    var due = 0.0
    var late: [Double] = []
    var gapsBefore = 0
    // A tick is 10 ms; a call reads each 20 ms, the microphone gives a piece when it has one.
    for tick in 0..<12_000 {
      supply.now = supply.now + .milliseconds(10)
      due += 480 * (1 + Double(partsPerMillion) / 1e6)
      while due >= Double(piece) {
        supply.produce(piece)
        due -= Double(piece)
      }
      guard tick % 2 == 1, tick > 100 else { continue }
      let heard = supply.read(960)
      try #require(heard.count == 960)
      if tick == 2000 - 1 { gapsBefore = supply.input.gapCount }
      if tick >= 2000, let last = heard.last, (2000...15_000).contains(last) {
        late.append(supply.delay(last))
      }
    }
    #expect(supply.input.gapCount <= gapsBefore + 1)
    // 95 % of the moments: right after a gap it is more for a second.
    let usual = late.sorted()[late.count * 95 / 100]
    #expect(usual <= 40, "milliseconds of delay through the pipe")
    #expect(late.reduce(0, +) / Double(late.count) <= 30)
  }

  @Test func `what was said before the call is not heard in it`() throws {
    var supply = try Supply()
    for _ in 0..<600 {
      supply.now = supply.now + .milliseconds(20)
      supply.produce(960)
    }
    let heard = supply.read(960)
    #expect(supply.delay(try #require(heard.last)) <= 15)
    let isAhead = supply.input.isAhead
    #expect(!isAhead)
  }

  /// Goal: no microphone is taken for a file, however long it is used. Method: a clock that is
  /// 0.1 % fast is 2.1 s ahead after 35 min, as one of 100 ppm after six hours; a call in the last
  /// minute.
  @Test func `a microphone whose clock is fast stays one`() throws {
    var supply = try Supply(try #require(RawFormat("8000/1")))
    let ticks = 35 * 60 * 50
    var due = 0.0
    var late: [Int] = []
    for tick in 0..<ticks {
      supply.now = supply.now + .milliseconds(20)
      due += 160 * 1.001
      let value = tick % 800 * 40
      let bytes = (0..<(2 * Int(due))).map { UInt8($0 % 2 == 0 ? value & 255 : value >> 8) }
      supply.input.append(bytes, count: bytes.count, now: supply.now)
      due -= due.rounded(.down)
      guard tick >= ticks - 3000 else { continue }
      let heard = Int(supply.read(960).last ?? 0) / 40
      if tick >= ticks - 2900, tick % 800 > 100 { late.append(tick % 800 - heard) }
    }
    let isAhead = supply.input.isAhead
    #expect(!isAhead)
    #expect(late.allSatisfy { (0...5).contains($0) }, "20 ms each")
  }

  /// Goal: what is said between two calls is not heard in the second.
  @Test func `who reads again after a pause hears nothing from before`() throws {
    var supply = try Supply()
    func block(_ value: Int16) -> [Int16] { Array(repeating: value, count: 960) }
    for _ in 0..<50 {
      supply.now = supply.now + .milliseconds(20)
      let taken = supply.input.append(block(2000).span, now: supply.now)
      #expect(taken == 960)
      _ = supply.read(960)
    }
    for _ in 0..<150 {
      supply.now = supply.now + .milliseconds(20)
      _ = supply.input.append(block(1000).span, now: supply.now)
    }
    var heard: [Int16] = []
    for _ in 0..<50 {
      supply.now = supply.now + .milliseconds(20)
      _ = supply.input.append(block(-1000).span, now: supply.now)
      heard += supply.read(960)
    }
    #expect(heard.allSatisfy { $0 <= 0 } && heard.suffix(960).allSatisfy { $0 < -990 })
  }

  @Test func `a file that comes faster than time loses nothing`() throws {
    var supply = try Supply()
    let whole = 48_000 * 5
    supply.produce(48_000 * 2)
    let isAhead = supply.input.isAhead
    #expect(isAhead)
    var heard: [Int16] = []
    while supply.produced < whole || heard.isEmpty {
      supply.now = supply.now + .milliseconds(20)
      supply.produce(min(supply.input.room / 2, whole - supply.produced))
      heard += supply.read(960)
    }
    supply.input.end()
    while case let more = supply.read(960), !more.isEmpty { heard += more }
    #expect(heard.count == whole && supply.input.gapCount == 0)
    // The resampler is even to a step of the saw.
    for frame in stride(from: 2000, to: 60_000, by: 997) {
      #expect(abs(Int(heard[frame]) - Int(Supply.value(frame))) <= 1)
    }
  }

  @Test func `silence stands for what did not come, and the end is told once it is heard`() throws {
    var supply = try Supply()
    #expect(supply.read(960) == [Int16](repeating: 0, count: 960))
    supply.produce(1440)
    for _ in 0..<3 { #expect(supply.read(960).count == 960) }
    #expect(supply.input.gapCount == 1)
    supply.produce(480)
    supply.input.end()
    let rest = supply.read(960).filter { $0 != 0 }
    #expect((400...700).contains(rest.count))
    #expect(supply.read(960) == [])
  }

  @Test func `bytes come in pieces of any size`() throws {
    var supply = try Supply(try #require(RawFormat("44100/2")))
    for byte in 0..<9000 {
      supply.input.append([byte % 2 == 0 ? 0 : 8], count: 1, now: supply.now)
    }
    let heard = supply.read(960)
    #expect(heard.count == 1920)
    #expect(heard[400...].allSatisfy { abs(Int($0) - 2048) < 40 })
  }

  @Test func `a WAV file is refused instead of played as noise`() throws {
    var supply = try Supply()
    supply.input.append(Array("RIFF....WAVEfmt ".utf8), count: 16, now: supply.now)
    let fault = supply.input.fault ?? ""
    #expect(fault.hasPrefix("Standard input is a WAV file"))
    #expect(supply.read(960) == [])
  }

  @Test(arguments: ["48000", "44100/2", "8000/1"])
  func `a format is a rate and channels`(text: String) {
    #expect(RawFormat(text) != nil)
  }

  @Test(arguments: ["", "7999", "48000/3", "48000/", "/2", "48000/2/1", "192001", "48k"])
  func `other formats are refused`(text: String) {
    #expect(RawFormat(text) == nil)
  }
}

struct DriftServoTests {
  @Test func `the least level of a second says how much more to take`() {
    var servo = DriftServo(target: 0.01)
    for step in 0..<100 {
      let isLast = servo.handle(level: step % 2 == 0 ? 0.014 : 0.03, elapsed: 0.01)
      #expect(isLast == (step == 99))
    }
    #expect(servo.leastLevel == 0.014)
    #expect(abs(servo.correction - 0.002) < 1e-9)
    for _ in 0..<100 { servo.handle(level: 1, elapsed: 0.01) }
    #expect(servo.correction == 0.005)
    for _ in 0..<9 { servo.handleEmpty() }
    #expect(servo.target <= 0.0221)
    servo.restart()
    #expect(servo.correction == 0 && servo.leastLevel == nil)
  }
}

struct PipedOutputTests {
  private static func output(channels: Int) throws -> PipedOutput {
    guard let output = PipedOutput(channels: channels) else { throw NotMade() }
    return output
  }

  private static func samples(_ step: Int) -> [Int16] {
    (0..<240).map { Int16(truncatingIfNeeded: 1000 + (step * 240 + $0) % 20_000) }
  }

  @Test func `a reader that takes all at once gets every sample`() throws {
    var output = try Self.output(channels: 1)
    for step in 0..<2000 {
      let samples = Self.samples(step)
      output.handle(samples.span, frameCount: 240, heldBytes: 0)
      #expect(output.byteCount == 480)
      for index in stride(from: 0, to: 240, by: 60) {
        let word = UInt16(output.bytes[2 * index]) | UInt16(output.bytes[2 * index + 1]) << 8
        #expect(Int16(bitPattern: word) == samples[index])
      }
    }
  }

  /// A sound server with a buffer of 20 ms that it fills each 10 ms, and its clock.
  @Test(arguments: [-1000, -100, 100, 1000])
  func `the drift of a loudspeaker's clock is absorbed`(partsPerMillion: Int) throws {
    var output = try Self.output(channels: 1)
    var held = 0.0
    var buffered = 0.0
    var isPlaying = false
    var gaps = 0
    var longest = 0.0
    for step in 0..<48_000 {
      output.handle(Self.samples(step).span, frameCount: 240, heldBytes: 2 * Int(held))
      held += Double(output.byteCount / 2)
      if isPlaying { buffered -= 240 * (1 + Double(partsPerMillion) / 1e6) }
      if buffered < 0 {
        buffered = 0
        isPlaying = false
        if step > 8000 { gaps += 1 }
      }
      if step % 2 == 1 {
        let moved = min(held, 960 - buffered)
        held -= moved
        buffered += moved
      }
      if buffered >= 960 { isPlaying = true }
      if step > 8000 { longest = max(longest, held / 48) }
    }
    #expect(gaps == 0)
    #expect(longest <= 30, "milliseconds in the pipe")
    #expect(output.droppedCount == 0)
  }

  @Test func `sound that nobody takes is lost, and is not heard later`() throws {
    var output = try Self.output(channels: 2)
    let samples = [Int16](repeating: 7, count: 480)
    var held = 0
    for _ in 0..<400 {
      output.handle(samples.span, frameCount: 240, heldBytes: held)
      held += output.byteCount
    }
    #expect(held <= 4 * 48 * 260 && output.droppedCount > 0)
    // The reader goes on: what lies there is made up for.
    var level = Double(held)
    for _ in 0..<1000 {
      output.handle(samples.span, frameCount: 240, heldBytes: Int(level))
      level = max(0, level + Double(output.byteCount) - 960)
    }
    #expect(level <= 4 * 48 * 40)
  }
}
