import Earshot
import Foundation
import Synchronization

/// A quiet tone of 440 Hz: an audio source of the program's own.
final class Tone: AudioSource {
  let channelCount = 1
  /// Frames given so far, modulo the period: the wave goes on where the last read ended.
  private let phase = Mutex(0)
  /// Frames of 48 kHz in a period of 440.4 Hz.
  private let period = 109

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let begin = phase.withLock { phase in
      defer { phase = (phase + frameCount) % period }
      return phase
    }
    for index in 0..<frameCount {
      samples[index] = Int16(abs((begin + index) % period - 54) * 60 - 1620)  // a triangle
    }
    return frameCount
  }
}

// TinyCall HOST:PORT NAME SECONDS: calls NAME, plays a tone for SECONDS, and prints every event.
let words = CommandLine.arguments
guard words.count == 4, let seconds = Int(words[3]) else {
  print("usage: TinyCall HOST:PORT NAME SECONDS")
  exit(2)
}
let endpoint = try await Endpoint.open(Configuration(rendezvous: words[1]))
let events = await endpoint.events()
_ = try await endpoint.waitUntilRegistered()
let call = try await endpoint.call(words[2], options: CallOptions(source: Tone()))
for await event in events {
  print(event)
  if case .statistics(_, let numbers) = event, numbers.atMs >= seconds * 1000 {
    await call.hangUp()
  }
  if case .callEnded = event { break }
}
await endpoint.close()
