import Earshot
import Foundation
import Synchronization

/// A tone of 440 Hz.
final class Tone: AudioSource {
  let channelCount = 1
  private let position = Atomic(0)
  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let begin = position.wrappingAdd(frameCount, ordering: .relaxed).oldValue
    for index in 0..<frameCount {
      samples[index] = Int16(4000 * sin(Double(begin + index) * 2 * .pi * 440 / 48_000))
    }
    return frameCount
  }
}

/// A grey that becomes lighter, with a bar that moves.
final class Bar: VideoSource {
  let framesPerSecond = 30.0

  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    if picture.width != 640, let blank = VideoPicture(width: 640, height: 360) { picture = blank }
    let (step, luma) = (Int(mediaTime / .milliseconds(33)), picture.range(of: .luma))
    var bytes = picture.mutableBytes
    for index in luma {
      bytes[index] = index % 640 == step * 8 % 640 ? 235 : UInt8(16 + step % 200)
    }
    return .picture
  }
}

// CallStory HOST:PORT NAME SECONDS: calls NAME with sound and pictures, is mute from 4 s to 6 s,
// and prints every event but the numbers.
let words = CommandLine.arguments
guard words.count == 4, let seconds = Int(words[3]) else { exit(2) }
let endpoint = try await Endpoint.open(Configuration(rendezvous: words[1]))
_ = try await endpoint.waitUntilRegistered()
var options = CallOptions(source: Tone())
(options.videoSource, options.rejoin) = (Bar(), .seconds(60))
let call = try await endpoint.call(words[2], options: options)
let began = Date()
func tell(_ what: String) {
  let time = String(format: "%5.1f s ", -began.timeIntervalSinceNow)
  print(time, what.replacingOccurrences(of: "Earshot.", with: ""))
}
for await event in await call.events() {
  switch event {
  case .statistics(_, let numbers):
    try await call.setAudioMuted((4000..<6000).contains(numbers.atMs))
    if numbers.atMs >= seconds * 1000 { await call.hangUp() }
  case .callProgress(_, .streamChanged(let change)):
    tell("\(change.stream): \(change.old) > \(change.new), \(change.reason)")
  case .callProgress(_, let step): tell("\(step)")
  case .callStateChanged(_, let state, let reason): tell("\(state), \(reason)")
  case .callEnded(_, let report): tell("\(report.outcome): \(report.reason)")
  default: tell("\(event)")
  }
}
await endpoint.close()
