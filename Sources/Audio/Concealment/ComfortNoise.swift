/// What is heard when nothing has come for long: the background of the last pauses, so that the
/// line does not sound dead.
///
/// Keeps the last 60 ms of pause that were decoded and plays pieces of 20 ms of them, from places
/// drawn at random, each faded into the next: neither level nor colour changes, and nothing
/// repeats audibly. Before there was a pause it is a hiss at the edge of hearing.
struct ComfortNoise: ~Copyable {
  private let channels: Int
  private var store: [Int16]
  private var writeFrame = 0
  private var place = 0
  private var lastPlace = 0
  private var position = Self.half
  private var state: UInt32 = 0x2545_F491

  init(channels: Int) {
    self.channels = channels
    store = [Int16](repeating: 0, count: Self.frames * channels)
    for index in store.indices { store[index] = Int16(draw(7)) - 3 }
  }

  /// Learns one frame of a pause; where that is digital silence, the edge of hearing.
  mutating func learn(_ left: Int16, _ right: Int16) {
    let dither = Int16(draw(3)) - 1
    store[writeFrame * channels] = left == 0 ? dither : left
    if channels == 2 { store[writeFrame * channels + 1] = right == 0 ? dither : right }
    writeFrame = (writeFrame + 1) % Self.frames
  }

  /// Goes on by one frame.
  mutating func advance() {
    position += 1
    guard position >= Self.half else { return }
    position = 0
    lastPlace = place + Self.half
    place = draw(Self.frames)
  }

  /// The present frame's sample of `channel`.
  func value(channel: Int) -> Int16 {
    let to = Int(store[(place + position) % Self.frames * channels + channel])
    let from = Int(store[(lastPlace + position) % Self.frames * channels + channel])
    // The two pieces are independent: fading by power keeps the level. √x ≈ x (2 - x) does, too,
    // within 1 dB.
    let up = position * (2 * Self.half - position)
    let down = (Self.half - position) * (Self.half + position)
    return Int16(clamping: (to * up + from * down) / (Self.half * Self.half))
  }

  /// A number below `bound` (Numerical Recipes' quick generator: the ear asks no more).
  private mutating func draw(_ bound: Int) -> Int {
    state = state &* 1_664_525 &+ 1_013_904_223
    return Int(state >> 8) % bound
  }

  /// 60 ms of background, in pieces that change every 10 ms.
  private static let frames = 2880
  private static let half = 480
}
