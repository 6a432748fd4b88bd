internal import Primitives
internal import Video

/// Notes when a source of pictures gives none, or the same one again and again. Pure.
struct CaptureWatch {
  private var fault = CaptureFault.working
  private var lastPicture: Instant?
  private var size: PictureSize?
  /// Of the picture before: of some of its bytes, and of all.
  private var sample: UInt64?
  private var whole: UInt64?
  /// Pictures in a row that are the same.
  private var run = 0

  /// The source gave nothing in this turn.
  ///
  /// - Returns: `nil` when nothing changes.
  mutating func handleNothing(now: Instant) -> CaptureFault? {
    let last = lastPicture ?? now
    lastPicture = last
    guard now - last >= Self.patience, fault != .silent else { return nil }
    fault = .silent
    run = 0
    return fault
  }

  /// The source gave a picture.
  ///
  /// - Parameter rate: pictures a second of the source.
  mutating func handle(
    _ bytes: Span<UInt8>, size: PictureSize, rate: Int, now: Instant
  ) -> CaptureFault? {
    lastPicture = now
    let isSame = size == self.size && isRepeated(bytes, size: size, rate: rate)
    self.size = size
    if !isSame {
      run = 1
      return change(to: .working)
    }
    run += 1
    // Whatever it takes to encode them: libvpx spends bits on a picture that stands.
    if run >= Self.sameInARow { return change(to: .stuck) }
    return fault == .silent ? change(to: .working) : nil
  }

  private mutating func change(to fault: CaptureFault) -> CaptureFault? {
    guard fault != self.fault else { return nil }
    self.fault = fault
    return fault
  }

  /// All bytes are looked at only where some of them are as before: most pictures differ.
  private mutating func isRepeated(_ bytes: Span<UInt8>, size: PictureSize, rate: Int) -> Bool {
    guard size.width > Self.leastSide, size.height > Self.leastSide, rate >= Self.leastRate else {
      sample = nil
      whole = nil
      return false
    }
    let sample = Self.hash(bytes, step: Self.step)
    defer { self.sample = sample }
    guard sample == self.sample else {
      whole = nil
      return false
    }
    let whole = Self.hash(bytes, step: 1)
    defer { self.whole = whole }
    return self.whole.map { $0 == whole } ?? true
  }

  /// FNV-1a over each `step`th byte.
  private static func hash(_ bytes: Span<UInt8>, step: Int) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    var index = 0
    while index < bytes.count {
      hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3
      index += step
    }
    return hash
  }

  // Facts of the engine that our users know: docs/from-agora.md, 31.
  private static let patience = Duration.seconds(4)
  private static let sameInARow = 15
  private static let leastSide = 200
  private static let leastRate = 10
  /// Bytes from one that is looked at to the next; prime, so that columns are met in turn.
  private static let step = 61
}
