import Testing

@testable import Earshot

/// One member of a channel with all media, and what it is told.
struct MediaMember {
  let media: ChannelMedia
  /// What it hears of all.
  let heard: GatheredSound
  private let mix: ChannelMix
  private var iterator: AsyncStream<ChannelMediaStep>.Iterator

  init(
    _ endpoint: Endpoint, _ role: ChannelRole, _ way: ChannelMedia.Way = .auto,
    own: GatheredSound? = nil, room: String = "tea", token: String? = nil,
    change: (inout ChannelMedia.Options) -> Void = { _ in }
  ) async throws {
    let (steps, feed) = AsyncStream.makeStream(of: ChannelMediaStep.self)
    let sound = GatheredSound()
    mix = ChannelMix(sound)
    var options = ChannelMedia.Options(source: SharedAudioSource(Tone()), mix: mix) {
      feed.yield($0)
    }
    options.way = way
    // Pictures that are not there keep nobody from being muted.
    if way == .auto { options.makeVideoSource = { nil } }
    if let own { options.makeSink = { _ in own } }
    change(&options)
    let room = try #require(ChannelName(room))
    media = try await endpoint.join(room, as: role, token: token, media: options)
    heard = sound
    iterator = steps.makeAsyncIterator()
  }

  /// Reads on until `found` gives something.
  mutating func first<Found>(_ found: (ChannelMediaStep) -> Found?) async -> Found? {
    while let step = await iterator.next(isolation: #isolation) {
      if let result = found(step) { return result }
    }
    return nil
  }

  mutating func joined() async -> UInt32? {
    await first { if case .channel(.joined(let uid, _)) = $0 { uid } else { nil } }
  }

  mutating func relayMissing() async -> Bool? {
    await first {
      switch $0 {
      case .channel(.relayUnavailable): true
      case .ended: false
      default: nil
      }
    }
  }

  mutating func firstFrame() async -> UInt32? {
    await first { if case .firstFrame(let uid) = $0 { uid } else { nil } }
  }

  mutating func muted() async -> Bool? {
    await first { if case .muted(_, let isMuted) = $0 { isMuted } else { nil } }
  }

  mutating func message() async -> [UInt8]? {
    await first { if case .message(_, _, let bytes) = $0 { bytes } else { nil } }
  }

  mutating func delivery() async -> Bool? {
    await first { if case .messageDelivery(1, let done) = $0 { done } else { nil } }
  }

  mutating func numbers() async -> CallStatistics? {
    await first { if case .statistics(_, let numbers) = $0 { numbers } else { nil } }
  }

  mutating func relayNumbers() async {
    _ = await first { if case .relay(.statistics) = $0 { true } else { nil } }
  }

  mutating func firstPicture() async -> UInt32? {
    await first {
      if case .progress(let uid, .firstVideoFrameDecoded) = $0 { uid } else { nil }
    }
  }

  /// Whether the other side of a call wants the own pictures.
  mutating func isSeen() async -> Bool? {
    await first { if case .progress(_, .remoteWantsVideo(let wants)) = $0 { wants } else { nil } }
  }

  mutating func end() async -> ChannelMediaEnd? {
    await first { if case .ended(let end) = $0 { end } else { nil } }
  }

  func finish() { mix.finish() }
}
