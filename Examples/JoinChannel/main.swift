import Earshot
import EarshotMedia
import Foundation

// JoinChannel HOST:PORT CHANNEL PLAYED SAVED SECONDS: joins a channel as a host, plays a sound file
// to all who are there, and saves what is heard of them as one sound.
let words = CommandLine.arguments
guard words.count == 6, let name = ChannelName(words[2]), let seconds = Int(words[5]) else {
  print("usage: JoinChannel HOST:PORT CHANNEL PLAYED SAVED SECONDS")
  exit(2)
}
let source = SharedAudioSource(try AudioFileSource(words[3], loops: true))
let mix = ChannelMix(try AudioFileSink(words[4]))
let (steps, feed) = AsyncStream.makeStream(of: ChannelMediaStep.self)
let endpoint = try await Endpoint.open(Configuration(rendezvous: words[1]))
_ = try await endpoint.waitUntilRegistered()
let media = try await endpoint.join(
  name, as: .host, media: ChannelMedia.Options(source: source, mix: mix) { feed.yield($0) })
Task {
  try await Task.sleep(for: .seconds(seconds))
  await media.leave()
}
var failed = false
for await step in steps {
  switch step {
  case .firstFrame(let uid): print("\(uid) is heard")
  case .muted(let uid, let isMuted): print("\(uid) is \(isMuted ? "muted" : "heard again")")
  case .wayChanged(let way): print("the way is \(way)")
  case .ended(let end): print("ended: \(end)")
  default: break
  }
  if case .ended(let end) = step {
    failed = end != .left
    break
  }
}
mix.finish()
await endpoint.close()
exit(failed ? 1 : 0)
