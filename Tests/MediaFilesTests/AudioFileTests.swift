import Foundation
import Testing

@testable import MediaFiles

struct AudioFileReaderTests {
  static let rates = [8000, 16_000, 22_050, 44_100, 48_000, 96_000]

  @Test(arguments: rates, [1, 2])
  func `resamples a tone faithfully and to the exact length`(rate: Int, channels: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("tone.wav")
    let frames = rate + 123
    try Sound.write(
      Sound.tone(rate: rate, frames: frames, channels: channels), path, .wav, channels, rate)
    var reader = try AudioFileReader(path)
    #expect(reader.channels == channels)
    #expect(reader.fileRateHz == rate)
    let samples = try Sound.readAll(&reader)
    let expected = frames * 48_000 / rate
    #expect(abs(samples.count / channels - expected) <= 1)
    let promised = reader.lengthFrames48k
    #expect(abs(try #require(promised) - expected) <= 1)
    for channel in 0..<channels {
      let ratio = Sound.signalToNoise(samples, channel: channel, of: channels)
      #expect(ratio > 60, "\(ratio) dB at \(rate) Hz")
    }
  }

  @Test(arguments: SoundFormat.allCases)
  func `reads every format that is written`(format: SoundFormat) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("tone.sound")
    try Sound.write(Sound.tone(rate: 48_000, frames: 48_000, channels: 1), path, format, 1, 48_000)
    var reader = try AudioFileReader(path)
    let samples = try Sound.readAll(&reader)
    #expect(abs(samples.count - 48_000) <= 1)
    #expect(Sound.signalToNoise(samples, channel: 0, of: 1) > 20)
  }

  @Test func `gives sixteen bits at 48 kHz back bit by bit`() throws {
    let folder = try TemporaryFolder()
    let samples = (0..<65_536).map { Int16(truncatingIfNeeded: $0 &* 40_503) }
    try Sound.write(samples, folder.file("all.wav"), .wav, 2, 48_000)
    var reader = try AudioFileReader(folder.file("all.wav"))
    let read = try Sound.readAll(&reader)
    let differing = zip(samples, read).count { $0 != $1 && $0 < 32_767 }
    #expect(read.count == samples.count && differing == 0)
  }

  @Test func `plays a file again from its start`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("tone.flac")
    try Sound.write(Sound.tone(rate: 44_100, frames: 30_000, channels: 1), path, .flac, 1, 44_100)
    var reader = try AudioFileReader(path)
    let first = try Sound.readAll(&reader)
    try reader.rewind()
    let second = try Sound.readAll(&reader)
    #expect(first == second && !first.isEmpty)
  }

  @Test func `mixes more than two channels down to their mean`() throws {
    let folder = try TemporaryFolder()
    let frame: [Int16] = [600, 0, 3000, 0, 0, 0]
    let frames = (0..<4800 * 6).map { frame[$0 % 6] }
    try Sound.write(frames, folder.file("six.wav"), .wav, 6, 48_000)
    var reader = try AudioFileReader(folder.file("six.wav"))
    #expect(reader.channels == 1)
    #expect(reader.fileChannels == 6)
    let samples = try Sound.readAll(&reader)
    #expect(samples.count == 4800 && samples.allSatisfy { $0 == 600 })
  }

  @Test func `clips what is louder than full scale`() {
    #expect(AudioFileReader.sixteenBits(1.5) == 32_767)
    #expect(AudioFileReader.sixteenBits(-1.5) == -32_768)
    #expect(AudioFileReader.sixteenBits(.nan) == 0)
    #expect(AudioFileReader.sixteenBits(.infinity) == 32_767)
  }

  @Test func `names every reason not to read`() throws {
    let folder = try TemporaryFolder()
    let text = try folder.write(Array("Dear diary,\n".utf8), to: "notes.txt")
    let disguised = try folder.write(Array("Dear diary,\n".utf8), to: "notes.wav")
    let nothing = try folder.write([], to: "nothing.wav")
    try Sound.write([], folder.file("hollow.wav"), .wav, 1, 48_000)
    let cases: [(String, MediaFileError.Code)] = [
      (folder.file("absent.wav"), .missing), (folder.path, .isDirectory),
      (text, .unknownFormat), (disguised, .unknownFormat), (nothing, .empty),
      (folder.file("hollow.wav"), .empty),
    ]
    for (path, code) in cases {
      let error = Sound.refusal(path)
      #expect(error?.code == code, "\(path): \(String(describing: error))")
      #expect(error?.message.contains(path) == true)
      #expect(error?.advice.hasSuffix(".") == true || error?.advice.isEmpty == false)
    }
  }

  @Test func `does not wait for a pipe into which nobody writes`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("pipe")
    let isMade = unsafe mkfifo(path, 0o600)
    try #require(isMade == 0)
    let error = #expect(throws: MediaFileError.self) {
      _ = try AwaitedWriter(of: path, patience: 0)
    }
    #expect(error?.message == "\(path) is a pipe into which nobody writes.")
    let writer = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(writer) }
    let count = unsafe write(writer, [82], 1)
    #expect(count == 1)
    _ = try AwaitedWriter(of: path, patience: 0)
    _ = try AwaitedWriter(of: folder.path, patience: 0)
  }

  @Test(.enabled(if: getuid() != 0, "root may read everything"))
  func `says when permissions forbid`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write([1, 2, 3], to: "secret.wav")
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    #expect(Sound.refusal(path)?.code == .unreadable)
  }

  @Test func `refuses a rate that nobody records at`() throws {
    let folder = try TemporaryFolder()
    try Sound.write([1, 2, 3], folder.file("slow.wav"), .wav, 1, 50)
    #expect(Sound.refusal(folder.file("slow.wav"))?.code == .unusableRate)
  }

  @Test func `survives files cut short and scrambled`() throws {
    let folder = try TemporaryFolder()
    try Sound.write(
      Sound.tone(rate: 44_100, frames: 9000, channels: 2), folder.file("whole.flac"), .flac, 2,
      44_100)
    let whole = try folder.bytes(of: "whole.flac")
    for step in 1..<40 {
      var bytes = Array(whole.prefix(whole.count * step / 40))
      for index in stride(from: step, to: bytes.count, by: 997) { bytes[index] ^= UInt8(step) }
      let path = try folder.write(bytes, to: "broken\(step).flac")
      do throws(MediaFileError) {
        var reader = try AudioFileReader(path)
        _ = try Sound.readAll(&reader)
      } catch {
        #expect([.damaged, .unknownFormat, .empty, .unusableRate].contains(error.code), "\(error)")
      }
    }
  }
}

struct AudioFileWriterTests {
  @Test(arguments: ["heard.wav", "heard.opus"], [1, 2])
  func `saves what can be read again`(name: String, channels: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file(name)
    let tone = Sound.tone(rate: 48_000, frames: 96_000, channels: channels)
    var writer = try AudioFileWriter(path, channels: channels)
    for start in stride(from: 0, to: tone.count, by: 480 * channels) {
      try writer.write(tone.span.extracting(start..<(start + 480 * channels)))
    }
    #expect(writer.framesWritten == 96_000)
    try writer.close()
    var reader = try AudioFileReader(path)
    #expect(reader.channels == channels && reader.fileRateHz == 48_000)
    let samples = try Sound.readAll(&reader)
    #expect(samples.count == tone.count)
    if writer.format == .wav { #expect(samples == tone) }
    #expect(Sound.signalToNoise(samples, channel: 0, of: channels) > 20)
  }

  @Test func `writes a plain WAV while it is small`() throws {
    let folder = try TemporaryFolder()
    var writer = try AudioFileWriter(folder.file("heard.wav"), channels: 1)
    try writer.write([Int16](repeating: 7, count: 4800).span)
    try writer.close()
    let bytes = try folder.bytes(of: "heard.wav")
    #expect(Array(bytes.prefix(4)) == Array("RIFF".utf8))
    #expect(Array(bytes[8..<12]) == Array("WAVE".utf8))
    // Marked as plain 16 bit, which every reader knows, and still the same samples.
    let format = try #require(bytes.firstRange(of: Array("fmt ".utf8))?.upperBound)
    #expect(Array(bytes[(format + 4)..<(format + 6)]) == [1, 0])
    var reader = try AudioFileReader(folder.file("heard.wav"))
    #expect(try Sound.readAll(&reader) == [Int16](repeating: 7, count: 4800))
  }

  /// What a killed process leaves is what is on the disk while the file is still open.
  @Test(arguments: ["heard.wav", "heard.opus"])
  func `leaves a readable file at any moment`(name: String) throws {
    let folder = try TemporaryFolder()
    let tone = Sound.tone(rate: 48_000, frames: 144_000, channels: 1)
    var writer = try AudioFileWriter(folder.file(name), channels: 1)
    if name.hasSuffix("wav") { #expect(Sound.refusal(folder.file(name))?.code == .empty) }
    for start in stride(from: 0, to: tone.count, by: 480) {
      try writer.write(tone.span.extracting(start..<(start + 480)))
    }
    let copy = try folder.write(folder.bytes(of: name), to: "copy-" + name)
    var reader = try AudioFileReader(copy)
    let samples = try Sound.readAll(&reader)
    #expect(samples.count >= 144_000 - 24_000, "\(samples.count)")
    try writer.close()
  }

  @Test func `says which names it can save to`() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MediaFileError.self) {
      _ = try AudioFileWriter(folder.file("heard.mp3"), channels: 1)
    }
    #expect(error?.code == .unknownExtension)
  }

  @Test func `says when the folder is missing`() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MediaFileError.self) {
      _ = try AudioFileWriter(folder.file("nowhere/heard.wav"), channels: 1)
    }
    #expect(error?.code == .cannotCreate)
    #expect(error?.message.contains("No such file or directory") == true)
  }

  @Test(arguments: [1, 2])
  func `writes a WAV without an end into a pipe`(channels: Int) throws {
    let folder = try TemporaryFolder()
    var ends: [Int32] = [0, 0]
    #expect(unsafe pipe(&ends) == 0)
    defer { close(ends[0]) }
    let tone = Sound.tone(rate: 48_000, frames: 4_000, channels: channels)
    do {
      var writer = try AudioFileWriter("heard.wav", channels: channels, owning: ends[1])
      try writer.write(tone.span)
      try writer.close()
    }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(ends[0], &bytes, bytes.count)
    #expect(count == 44 + 2 * tone.count)
    #expect(unsafe read(ends[0], &bytes, 0) == 0)
    // Others read it as what it is.
    try Data(bytes.prefix(count)).write(to: URL(fileURLWithPath: folder.file("heard.wav")))
    var reader = try AudioFileReader(folder.file("heard.wav"))
    #expect(reader.channels == channels && reader.fileRateHz == 48_000)
    let heard = try Sound.readAll(&reader)
    #expect(heard.count == tone.count)
    #expect(Sound.signalToNoise(heard, channel: 0, of: channels) > 60)
  }

  @Test(arguments: ["heard.wav", "heard.opus"])
  func `says when the disk is full`(name: String) throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: folder.file(name), withDestinationPath: "/dev/full")
    let tone = Sound.tone(rate: 48_000, frames: 96_000, channels: 1)
    do throws(MediaFileError) {
      var writer = try AudioFileWriter(folder.file(name), channels: 1)
      for start in stride(from: 0, to: tone.count, by: 480) {
        try writer.write(tone.span.extracting(start..<(start + 480)))
      }
      try writer.close()
      Issue.record("a full disk went unnoticed")
    } catch {
      #expect(error.code == .cannotWrite)
      #expect(error.message.contains("No space left on device"), "\(error)")
    }
  }
}

struct TestToneTests {
  @Test func `sounds at twenty decibels below full scale without a seam`() {
    var tone = TestTone()
    var samples = [Int16](repeating: 0, count: 2 * 192_000)
    var span = samples.mutableSpan
    tone.read(into: &span)
    let meanSquare = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)
    let level = 10 * log10(meanSquare / (32_768 * 32_768))
    #expect(abs(level + 20) < 0.1)
    #expect(Array(samples.prefix(192_000)) == Array(samples.suffix(192_000)))
    #expect(samples.allSatisfy { abs(Int($0)) < 32_000 })
    let seam = abs(Int(samples[192_000]) - Int(samples[191_999]))
    #expect(seam < 1500)
  }
}

/// Making, reading and measuring test sounds.
enum Sound {
  /// 997 Hz at -6 dBFS; the second channel at -12 dBFS.
  static func tone(rate: Int, frames: Int, channels: Int) -> [Int16] {
    var samples: [Int16] = []
    for frame in 0..<frames {
      let value = sin(2 * Double.pi * 997 * Double(frame) / Double(rate))
      for channel in 0..<channels {
        samples.append(Int16((value * 16_384 / Double(channel + 1)).rounded()))
      }
    }
    return samples
  }

  static func write(
    _ samples: [Int16], _ path: String, _ format: SoundFormat, _ channels: Int, _ rate: Int
  ) throws {
    var file = try SoundFile(writing: path, as: format, channels: channels, rate: rate)
    try file.write(samples.span)
    try file.close()
  }

  static func readAll(_ reader: inout AudioFileReader) throws(MediaFileError) -> [Int16] {
    var samples: [Int16] = []
    // A size that divides nothing.
    var piece = [Int16](repeating: 0, count: 997 * reader.channels)
    while true {
      var span = piece.mutableSpan
      let frames = try reader.read(into: &span)
      samples += piece.prefix(frames * reader.channels)
      if frames < 997 { return samples }
    }
  }

  static func refusal(_ path: String) -> MediaFileError? {
    do throws(MediaFileError) {
      _ = try AudioFileReader(path)
      return nil
    } catch {
      return error
    }
  }

  /// In decibels: the best 997 Hz sine against what it leaves, without the first and last 20 ms.
  static func signalToNoise(_ samples: [Int16], channel: Int, of channels: Int) -> Double {
    let all = stride(from: channel, to: samples.count, by: channels).map { Double(samples[$0]) }
    let range = 960..<(all.count - 960)
    var (ss, cc, sc, sx, cx) = (0.0, 0.0, 0.0, 0.0, 0.0)
    let step = 2 * Double.pi * 997 / 48_000
    for index in range {
      let (s, c) = (sin(step * Double(index)), cos(step * Double(index)))
      ss += s * s
      cc += c * c
      sc += s * c
      sx += s * all[index]
      cx += c * all[index]
    }
    let determinant = ss * cc - sc * sc
    let a = (sx * cc - cx * sc) / determinant
    let b = (cx * ss - sx * sc) / determinant
    var (signal, noise) = (0.0, 1e-9)
    for index in range {
      let fitted = a * sin(step * Double(index)) + b * cos(step * Double(index))
      signal += fitted * fitted
      noise += (all[index] - fitted) * (all[index] - fitted)
    }
    return 10 * log10(signal / noise)
  }
}
