import Earshot

/// A quiet 440 Hz tone, as an example of a source of one's own.
final class Hum: AudioSource {
  let channelCount = 1

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    // A period of 109 samples: 440.4 Hz at 48 kHz, as a triangle.
    for index in 0..<frameCount { samples[index] = Int16(abs(index % 109 - 54) * 60 - 1620) }
    return frameCount
  }
}

// TinyCall HOST:PORT NAME SECONDS: calls NAME, hums for SECONDS, and prints what happens.
let words = CommandLine.arguments
guard words.count == 4, let seconds = Int(words[3]) else {
  print("usage: TinyCall HOST:PORT NAME SECONDS")
  throw Usage()
}
let endpoint = try await Endpoint.open(Configuration(rendezvous: words[1]))
let events = await endpoint.events()
_ = try await endpoint.waitUntilRegistered()
let call = try await endpoint.call(words[2], options: CallOptions(source: Hum()))
for await event in events {
  print(event)
  if case .statistics(_, let numbers) = event, numbers.atMs >= seconds * 1000 {
    await call.hangUp()
  }
  if case .callEnded = event { break }
}
await endpoint.close()

struct Usage: Error {}
