internal import Video

/// What hands over with a frame's bytes.
enum HandedFrame: Sendable {
  /// Encoded here, with its media time in 10 ms / 256.
  case outgoing(EncodedFrame, mediaTime: UInt32)
  /// Put together from what came.
  case incoming(AssembledFrame)
}

/// Encoded frames on their way between the loop and a video thread, a few at most. Memory goes
/// round: what is put in comes back as another frame's.
struct FrameQueue: ~Copyable {
  private var frames: [HandedFrame?]
  private var bytes: [[UInt8]]
  private var first = 0
  private(set) var count = 0

  init(capacity: Int) {
    frames = Array(repeating: nil, count: capacity)
    bytes = Array(repeating: [], count: capacity)
  }

  var isFull: Bool { count == frames.count }

  /// Takes the bytes of `content` and leaves other memory in their place; `false` when it is full.
  mutating func push(_ frame: HandedFrame, _ content: inout [UInt8]) -> Bool {
    guard !isFull else { return false }
    let place = (first + count) % frames.count
    frames[place] = frame
    swap(&bytes[place], &content)
    count += 1
    return true
  }

  /// The oldest frame, whose bytes take the place of those of `content`.
  mutating func pop(into content: inout [UInt8]) -> HandedFrame? {
    guard count > 0, let frame = frames[first] else { return nil }
    swap(&bytes[first], &content)
    frames[first] = nil
    first = (first + 1) % frames.count
    count -= 1
    return frame
  }
}
