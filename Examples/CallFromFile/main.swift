import Earshot
import Foundation
import Synchronization

/// A WAV file of 16-bit samples at 48 kHz, whole in memory.
final class WAVSource: AudioSource {
  let channelCount: Int
  private let samples: [Int16]
  /// The next sample to be read, of all channels.
  private let place = Mutex(0)

  init?(_ path: String) {
    guard let bytes = FileManager.default.contents(atPath: path).map([UInt8].init) else {
      return nil
    }
    func number(_ at: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
    }
    guard bytes.count >= 44, bytes.starts(with: Array("RIFF".utf8)), number(24, 4) == 48_000,
      number(34, 2) == 16, (1...2).contains(number(22, 2)),
      let data = bytes.firstRange(of: Array("data".utf8))?.upperBound, data + 4 <= bytes.count
    else { return nil }
    channelCount = number(22, 2)
    let end = min(bytes.count, data + 4 + number(data, 4))
    samples = stride(from: data + 4, to: end - 1, by: 2).map {
      Int16(truncatingIfNeeded: number($0, 2))
    }
  }

  var duration: Duration { .seconds(1) * (samples.count / channelCount) / 48_000 }

  func read(into buffer: inout [Int16], frameCount: Int) -> Int {
    let first = place.withLock { place in
      defer { place = min(samples.count, place + frameCount * channelCount) }
      return place
    }
    let count = min(frameCount * channelCount, samples.count - first)
    for index in 0..<count { buffer[index] = samples[first + index] }
    return count / channelCount
  }
}

/// Says what is wrong, and ends.
func stop(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

// CallFromFile HOST:PORT NAME FILE.wav: calls NAME, plays FILE to its end, and prints how it went.
let words = CommandLine.arguments
guard words.count == 4 else { stop("usage: CallFromFile HOST:PORT NAME FILE.wav") }
guard let file = WAVSource(words[3]) else {
  stop("\(words[3]) is no WAV file of 16 bits at 48 kHz, mono or stereo.")
}
var configuration = Configuration(rendezvous: words[1])
configuration.presence = .calling
let endpoint = try await Endpoint.open(configuration)
let events = await endpoint.events()
_ = try await endpoint.waitUntilRegistered()
let call = try await endpoint.call(words[2], options: CallOptions(source: file))
for await event in events {
  switch event {
  case .callStateChanged(_, .connected, _):
    Task {
      try await Task.sleep(for: file.duration)
      await call.hangUp()
    }
  case .callEnded(_, let report):
    print("\(report.outcome) after \(report.durationMs) ms: \(report.reason)")
    await endpoint.close()
  default: break
  }
}
