import Earshot
import Foundation

/// Says what is wrong, and ends.
func stop(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

// ProbeAdvice HOST:PORT [NAME]: measures the line to the rendezvous, or to NAME, and says what a
// call over it should begin with.
let words = CommandLine.arguments
guard (2...3).contains(words.count) else { stop("usage: ProbeAdvice HOST:PORT [NAME]") }
var configuration = Configuration(rendezvous: words[1])
configuration.presence = .guest
let endpoint = try await Endpoint.open(configuration)
let probe = try await endpoint.probe(words.count == 3 ? .peer(words[2]) : .rendezvous)
if let report = await probe.result() {
  let rating = report.rating
  print("\(report.state): \(rating.sentence)")
  if let settings = rating.recommended {
    print("audio: \(settings.audioBitrate) bit/s (\(settings.audioBasis))")
    print("video: at most \(settings.videoCeiling.map(String.init) ?? "unknown") bit/s")
    print("jitter buffer: begin with \(settings.jitterBufferStartMs) ms")
  }
}
await endpoint.close()
