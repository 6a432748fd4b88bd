/// How a call over a probed line should begin, with what each choice rests on.
public struct RecommendedSettings: Sendable, Equatable {
  /// Bits a second of Opus.
  public var audioBitrate: Int
  /// Length of a packet of audio that a call will choose on such a line: the narrower it is, the
  /// longer, as each packet has its headers.
  public var frameLength: Duration { .milliseconds(frameMilliseconds) }
  /// The same in milliseconds.
  package var frameMilliseconds: Int
  /// What it rests on.
  public var audioBasis: String
  /// Whether a coarse copy of the frame before should ride along (Opus in-band FEC).
  public var usesFEC: Bool
  /// What it rests on.
  public var fecBasis: String
  /// The delay that the jitter buffer should begin with, in milliseconds.
  public var jitterBufferStartMs: Int
  /// What it rests on.
  public var jitterBufferBasis: String
  /// The most that video should send, in bit/s; 0 = no video; `nil` when no bandwidth was measured.
  public var videoCeiling: Int?
  /// What it rests on.
  public var videoBasis: String

  /// Recommends for the weaker of the probed directions: what both sides may send alike.
  public init(_ report: LineReport) {
    let directions = LineDirection.allCases.filter { report.plan.probes($0) }
      .compactMap { report[$0] }
    let rate = Self.leastRate(directions)
    (audioBitrate, audioBasis) = Self.audio(rate)
    frameMilliseconds = rate.map { Self.room($0).frame } ?? 20
    (usesFEC, fecBasis) = Self.fec(directions)
    (jitterBufferStartMs, jitterBufferBasis) = Self.buffer(
      report.downlink?.delayVariation ?? report.uplink?.delayVariation)
    (videoCeiling, videoBasis) = Self.video(rate, Self.worstLoss(directions), audioBitrate)
  }

  /// Headers of a packet of audio on the line: IP and UDP 28 bytes, ours another 28.
  static let overheadBytesPerPacket = 56
  /// How much of what a line carries a call should plan to use: the rest is for whatever else there
  /// is, and for bursts.
  static let usableShare = 0.85
  /// Rates of Opus worth choosing between; above the last nothing is heard of more.
  static let audioLadder = [8_000, 12_000, 16_000, 24_000, 32_000, 48_000]
  /// Below it a line has no room for pictures beside the sound.
  static let leastVideo = 100_000
  /// What the tallest picture that is offered (720p) can use.
  static let mostVideo = 2_500_000
  /// Loss from which pictures are not worth their bits.
  static let mostLossForVideo = 0.15

  // MARK: - Parts

  /// The lower end of the interval of the weaker direction; `nil` unless all were measured.
  static func leastRate(_ directions: [DirectionReport]) -> Double? {
    let rates = directions.compactMap { $0.bandwidth.map { min($0.low, $0.bitsPerSecond) } }
    return rates.count == directions.count ? rates.min() : nil
  }

  /// The loss of the worse direction, 0...1.
  static func worstLoss(_ directions: [DirectionReport]) -> Double? {
    directions.compactMap { ($0.loss ?? $0.overloadLoss)?.share }.max()
  }

  /// What the headers of packets of so many ms take, in bit/s.
  private static func headerRate(_ milliseconds: Int) -> Double {
    Double(overheadBytesPerPacket * 8 * 1000 / milliseconds)
  }

  /// What audio of `bitrate` takes on the line in packets of 20 ms.
  static func lineRate(audio bitrate: Int) -> Double { Double(bitrate) + headerRate(20) }

  /// The packets that leave most for the sound, and how much: calls choose so as well, 60 ms below
  /// 28 kbit/s and 40 ms below 48.
  private static func room(_ rate: Double) -> (frame: Int, bitrate: Double) {
    let usable = rate * usableShare
    let all = [
      (20, usable - headerRate(20)), (40, min(usable, mostOfLong) - headerRate(40)),
      (60, min(usable, mostOfLongest) - headerRate(60)),
    ]
    return all.reduce((20, -.infinity)) { $1.1 > $0.1 ? $1 : $0 }
  }

  /// What of a line's rate is left for audio and its copies beside headers, in bit/s.
  static func payloadRoom(_ rate: Double) -> Double { room(rate).bitrate }

  /// bit/s below which packets of 40 ms, and of 60 ms, leave more for the sound.
  private static let mostOfLong = 48_000.0
  private static let mostOfLongest = 28_000.0

  private static func audio(_ rate: Double?) -> (Int, String) {
    guard let rate else { return (24_000, "no bandwidth was measured: a careful choice") }
    let room = payloadRoom(rate)
    let fitting = audioLadder.last { Double($0) <= room }
    let share = Figures.percent(usableShare)
    guard let fitting else {
      return (audioLadder[0], "even the least rate leaves no room in \(Figures.rate(rate))")
    }
    return (fitting, "the most that fits into \(share) of \(Figures.rate(rate)), headers included")
  }

  private static func fec(_ directions: [DirectionReport]) -> (Bool, String) {
    let losses = directions.compactMap { $0.loss ?? $0.overloadLoss }
    guard let share = losses.map(\.share).max(), let high = losses.map(\.high).max() else {
      return (true, "loss was not measured")
    }
    if share > 0 { return (true, "loss of \(Figures.percent(share)) was seen") }
    if high > 0.01 {
      return (true, "no loss was seen, but up to \(Figures.percent(high)) cannot be ruled out")
    }
    return (false, "no loss was seen; more than \(Figures.percent(high)) is unlikely")
  }

  private static func buffer(_ variation: DelaySummary?) -> (Int, String) {
    guard let variation, variation.p95Ms.isFinite else {
      return (60, "jitter was not measured: a careful choice")
    }
    // A frame, and what 95 % of the packets need on top; in whole steps of 10 ms.
    let need = min(max(variation.p95Ms, 0), 460)
    let steps = Int((need / 10).rounded(.up)) + 2
    return (
      min(max(steps * 10, 20), 480),
      "a frame and the delay variation of 95 % of the packets, \(Figures.delay(need))"
    )
  }

  private static func video(_ rate: Double?, _ loss: Double?, _ audio: Int) -> (Int?, String) {
    guard let rate else { return (nil, "no bandwidth was measured") }
    if let loss, loss > mostLossForVideo {
      return (0, "loss of \(Figures.percent(loss)) leaves no picture whole")
    }
    let room = rate * usableShare - lineRate(audio: audio)
    guard room >= Double(leastVideo) else {
      return (0, "\(Figures.rate(rate)) has no room beside the sound")
    }
    let steps = Int(min(room, Double(mostVideo)) / 50_000)
    return (
      steps * 50_000, "\(Figures.percent(usableShare)) of \(Figures.rate(rate)), less the sound"
    )
  }
}
