import Earshot
import Foundation
import Synchronization

/// What was heard, said again a second later: samples that the program takes and gives by itself.
final class Echo: AudioSource, AudioSink {
  let channelCount = 1
  /// Samples that are not said yet; they begin with a second of silence.
  private let waiting = Mutex([Int16](repeating: 0, count: 48_000))

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    let heard = Array(samples[..<frameCount])
    waiting.withLock { waiting in
      waiting += heard
      // At most two seconds are kept, whatever comes.
      waiting.removeFirst(max(0, waiting.count - 96_000))
    }
  }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let next = waiting.withLock { waiting in
      let next = Array(waiting.prefix(frameCount))
      waiting.removeFirst(next.count)
      return next
    }
    // Fewer samples than asked for would mean the end: silence instead.
    for index in 0..<frameCount { samples[index] = index < next.count ? next[index] : 0 }
    return frameCount
  }

  func finish() {}
}

/// Says what is wrong, and ends.
func stop(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

// EchoSound HOST:PORT NAME CALLS: is called by NAME, answers CALLS calls with an echo, and ends.
let words = CommandLine.arguments
guard words.count == 4, var left = Int(words[3]), left > 0 else {
  stop("usage: EchoSound HOST:PORT NAME CALLS")
}
var configuration = Configuration(rendezvous: words[1])
configuration.name = words[2]
let endpoint = try await Endpoint.open(configuration)
for await event in await endpoint.events() {
  switch event {
  case .registrationChanged(.registered): print("waiting")
  case .incomingCall(let incoming):
    print("\(incoming.name ?? "somebody") calls")
    let echo = Echo()
    try await endpoint.call(incoming.id).accept(CallOptions(source: echo, sink: echo))
  case .callEnded(_, let report):
    print("\(report.outcome): \(report.reason)")
    left -= 1
    if left == 0 { await endpoint.close() }
  default: break
  }
}
