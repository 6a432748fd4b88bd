import Earshot
import EarshotMedia
import Foundation

// TwoChannels HOST:PORT FIRST SECOND PLAYED SAVED: is heard in one channel and hears another one at
// the same time. It leaves the second, joins it again, and then leaves the first.
let words = CommandLine.arguments
guard words.count == 6, let first = ChannelName(words[2]), let second = ChannelName(words[3]) else {
  print("usage: TwoChannels HOST:PORT FIRST SECOND PLAYED SAVED")
  exit(2)
}
let source = SharedAudioSource(try AudioFileSource(words[4], loops: true))
let mix = ChannelMix(try AudioFileSink(words[5]))
let endpoint = try await Endpoint.open(Configuration(rendezvous: words[1]))
_ = try await endpoint.waitUntilRegistered()

/// One stay in one channel, and what it tells.
@MainActor struct Stay {
  let media: ChannelMedia
  let steps: AsyncStream<ChannelMediaStep>

  init(_ name: ChannelName, as role: ChannelRole) async throws {
    let (steps, feed) = AsyncStream.makeStream(of: ChannelMediaStep.self)
    let options = ChannelMedia.Options(source: source, mix: mix) { feed.yield($0) }
    media = try await endpoint.join(name, as: role, media: options)
    self.steps = steps
  }

  /// Waits until somebody is heard.
  func hear() async {
    for await case .firstFrame(let uid) in steps {
      return print("\(media.channel.name): \(uid) is heard")
    }
  }

  func leave() async {
    await media.leave()
    for await case .ended(let end) in steps {
      return print("\(media.channel.name): \(end)")
    }
  }
}

func rest() async throws { try await Task.sleep(for: .seconds(3)) }

let spoken = try await Stay(first, as: .host)
let heard = try await Stay(second, as: .audience)
await spoken.hear()
await heard.hear()
try await rest()
await heard.leave()
do {
  try await heard.media.setRole(.host)
  print("\(second): the role is another one")
} catch {
  print("\(second): \(error.code)")
}
try await rest()
let again = try await Stay(second, as: .audience)
await again.hear()
try await rest()
await spoken.leave()
try await rest()
await again.leave()
mix.finish()
await endpoint.close()
