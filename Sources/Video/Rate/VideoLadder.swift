package import Primitives

/// Which resolution and frame rate a bitrate is worth, from 1920×1080 at 30 to 160×120 at 8.
///
/// A step up needs a quarter more than the step down leaves, for a while; so no steady bitrate, nor
/// one that swings by a tenth, makes it flap. A step up that had to be taken back makes the next
/// one wait twice as long. Only in its first seconds, when the bitrate is that of an estimate which
/// has just begun, it goes up as soon as the same rung has been worth it for a moment.
package struct VideoLadder: Sendable {
  /// A resolution with a frame rate.
  package struct Rung: Equatable, Sendable {
    /// A box that the source's picture is fitted into.
    package let box: PictureSize
    package let framesPerSecond: Int
    /// Bitrate from which it is entered, and below which it is left: near what others recommend
    /// for these sizes. The test picture, which is easy to code, would bear the rung above at each
    /// of them (Benchmarks/README.md); it has not been measured with camera pictures.
    package let enterBitsPerSecond: Int
    package let leaveBitsPerSecond: Int

    fileprivate init(_ width: Int, _ height: Int, _ rate: Int, enter: Int, leave: Int) {
      box = PictureSize(unchecked: width, height)
      framesPerSecond = rate
      enterBitsPerSecond = enter * 1000
      leaveBitsPerSecond = leave * 1000
    }
  }

  /// From the best down; the last is never left.
  package static let rungs = [
    Rung(1920, 1080, 30, enter: 3500, leave: 2800), Rung(1280, 720, 30, enter: 1500, leave: 1200),
    Rung(960, 540, 30, enter: 900, leave: 720), Rung(640, 480, 30, enter: 500, leave: 400),
    Rung(480, 360, 24, enter: 300, leave: 240), Rung(320, 240, 15, enter: 150, leave: 120),
    Rung(240, 180, 12, enter: 80, leave: 64), Rung(160, 120, 8, enter: 0, leave: 0),
  ]

  /// What a call needs at the least for its picture, in bit/s: the last rung's comfortable rate.
  package static let leastBitsPerSecond = 40_000

  /// The rung of the test picture, and of a source that has not given its first picture.
  package static let usual = rungs[1]

  /// The place in `rungs`.
  package private(set) var index: Int
  /// How often it changed.
  package private(set) var changeCount = 0
  /// For how long the bitrate has been enough for a better rung, less the times between at which
  /// it was not; and of all that time its sum, in bits, and length.
  private var risen = Duration.zero
  private var risenBits = 0.0
  private var risenTime = 0.0
  private var isRising = false
  /// When the last bitrate came.
  private var last: Instant?
  /// Since when it has been too little for this one.
  private var fallenSince: Instant?
  private var lastRise: Instant?
  private var patience = Self.firstPatience
  /// When the first bitrate came.
  private var began: Instant?
  /// Until a rung had to be left, or the beginning is over.
  private var mayHurry: Bool
  /// The better rung that `risen` is about.
  private var risenTarget = 0

  /// - Parameters:
  ///   - best: the best rung that it may enter.
  ///   - hurries: goes up soon in the first seconds.
  package init(bitsPerSecond: Int, best: Int = 0, hurries: Bool = true) {
    index = max(best, Self.entered(bitsPerSecond))
    mayHurry = hurries
  }

  package var rung: Rung { Self.rungs[index] }

  /// How many pictures a second a bitrate is worth at the present size: more where it would do for
  /// the size above, since a change of the frame rate costs nothing.
  package func framesPerSecond(bitsPerSecond: Int) -> Int {
    var best = index
    while best > 0, bitsPerSecond >= Self.rungs[best - 1].enterBitsPerSecond { best -= 1 }
    return Self.rungs[best].framesPerSecond
  }

  /// Takes the bitrate that the encoder has from now on.
  ///
  /// - Parameter best: the best rung that the source has and the host keeps up with.
  /// - Returns: whether the rung changed.
  package mutating func handle(bitsPerSecond: Int, best: Int = 0, now: Instant) -> Bool {
    let before = index
    let start = began ?? now
    began = start
    if now - start >= Self.beginning { mayHurry = false }
    let passed = min(now - (last ?? now), Self.longestStep)
    last = now
    if index < best {
      leave(for: best, now: now)
    } else if bitsPerSecond < rung.leaveBitsPerSecond {
      noteWorse(bitsPerSecond, passed)
      fall(bitsPerSecond, now: now)
    } else {
      fallenSince = nil
      rise(bitsPerSecond, passed, best: best, now: now)
    }
    if index != before { changeCount += 1 }
    return index != before
  }

  private mutating func fall(_ bitsPerSecond: Int, now: Instant) {
    let since = fallenSince ?? now
    fallenSince = since
    // Far too little leaves no time: the encoder cannot go below its coarsest quantizer.
    let isUrgent = bitsPerSecond < rung.leaveBitsPerSecond / 2
    guard isUrgent || now - since >= Self.fallAfter else { return }
    leave(for: Self.rungs.firstIndex { bitsPerSecond >= $0.leaveBitsPerSecond } ?? index, now: now)
  }

  private mutating func leave(for other: Int, now: Instant) {
    fallenSince = nil
    forgetRise()
    mayHurry = false
    index = other
    if let lastRise, now - lastRise < Self.relapse {
      patience = min(patience + patience, Self.longestPatience)
    }
    lastRise = nil
  }

  private mutating func rise(_ bitsPerSecond: Int, _ passed: Duration, best: Int, now: Instant) {
    if let lastRise, now - lastRise >= Self.relapse { patience = Self.firstPatience }
    let target = max(best, Self.entered(bitsPerSecond))
    guard target < index else { return noteWorse(bitsPerSecond, passed) }
    if mayHurry, target != risenTarget { forgetRise() }
    risenTarget = target
    appendRate(bitsPerSecond, passed)
    if isRising { risen += passed }
    isRising = true
    guard risen >= wait else { return }
    index = mayHurry ? target : max(best, min(risenMean, index - 1))
    forgetRise()
    lastRise = now
  }

  /// For how long a better rung has to be worth it.
  private var wait: Duration {
    if mayHurry { return Self.hurry }
    // A picture that is far too small is worse than a key frame more.
    return risenMean + 2 <= index ? min(patience, Self.mostPatienceFarBelow) : patience
  }

  /// The bitrate is not enough for a better rung at the moment: one that swings has to be for most
  /// of the time.
  private mutating func noteWorse(_ bitsPerSecond: Int, _ passed: Duration) {
    guard isRising else { return }
    appendRate(bitsPerSecond, passed)
    risen -= passed * 2
    if risen <= .zero { forgetRise() }
  }

  private mutating func appendRate(_ bitsPerSecond: Int, _ passed: Duration) {
    let seconds = Double(passed.milliseconds) / 1000
    risenBits += Double(bitsPerSecond) * seconds
    risenTime += seconds
  }

  /// The rung that the bitrate has been worth on average while it was worth a better one.
  private var risenMean: Int {
    risenTime > 0 ? Self.entered(Int(risenBits / risenTime)) : index
  }

  private mutating func forgetRise() {
    isRising = false
    risen = .zero
    risenBits = 0
    risenTime = 0
  }

  /// The best rung that may be entered with this bitrate.
  private static func entered(_ bitsPerSecond: Int) -> Int {
    rungs.firstIndex { bitsPerSecond >= $0.enterBitsPerSecond } ?? rungs.count - 1
  }

  /// Guesses: a change of size costs a key frame, which at any rung is about a third of a second of
  /// bitrate.
  private static let firstPatience = Duration.seconds(2)
  private static let longestPatience = Duration.seconds(32)
  private static let mostPatienceFarBelow = Duration.seconds(4)
  /// From one bitrate to the next; a longer pause says nothing of the bitrate.
  private static let longestStep = Duration.milliseconds(500)
  private static let beginning = Duration.seconds(4)
  private static let hurry = Duration.milliseconds(200)
  private static let fallAfter = Duration.milliseconds(500)
  /// A fall this soon after a rise says that the rise was a mistake.
  private static let relapse = Duration.seconds(15)
}
