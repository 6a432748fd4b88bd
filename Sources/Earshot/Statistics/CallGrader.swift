internal import LastMile

/// Grades what a call sends and what it receives, every 2 s.
///
/// Both ways go by the same measures: what was lost before any repair, the round trip and the
/// jitter, as the receiver of the direction counts them. So both sides see nearly the same.
struct CallGrader: Sendable {
  /// What the call is doing, besides its numbers.
  struct Surroundings: Sendable {
    /// Sound or pictures are to be sent; to be received.
    var sends = true
    var receives = true
    /// What the way out carries, in bit/s, where pictures would be better with more.
    var limitingBitsPerSecond: Double?
  }

  private var out = DirectionGrader()
  private var back = DirectionGrader()
  private var last: CallStatistics.Fates?
  private var lastTrips = (sum: 0.0, count: 0)
  private var worst = (out: WorstStretch(), back: WorstStretch())

  /// Takes the numbers of this moment; gives them its grades.
  mutating func turn(_ numbers: inout CallStatistics, _ around: Surroundings) {
    let fates = numbers.fates
    let before = last ?? CallStatistics.Fates()
    let trip = roundTrip(numbers)
    let sent = fates.sent.since(before.sent)
    Self.turn(
      &out, isUsed: around.sends,
      isSilent: before.acknowledged > 0 && fates.acknowledged == before.acknowledged,
      DirectionGrader.Window(
        expected: sent.expected, lost: sent.lost, roundTripMs: trip,
        jitterMs: numbers.remoteJitterMs, bitsPerSecond: around.limitingBitsPerSecond))
    let received = fates.received.since(before.received)
    Self.turn(
      &back, isUsed: around.receives,
      isSilent: before.heard > 0 && fates.heard == before.heard,
      DirectionGrader.Window(
        expected: received.expected, lost: received.lost, roundTripMs: trip,
        jitterMs: numbers.received.jitterMs))
    last = fates
    worst.out.recordGrade(out.grade)
    worst.back.recordGrade(back.grade)
    adopt(&numbers)
  }

  /// What there was before is not graded.
  mutating func begin(_ numbers: CallStatistics) {
    last = numbers.fates
    _ = roundTrip(numbers)
  }

  /// - Parameter isSilent: nothing came, though something had before.
  private static func turn(
    _ grader: inout DirectionGrader, isUsed: Bool, isSilent: Bool, _ window: DirectionGrader.Window
  ) {
    if !isUsed {
      grader.noteIdle()
    } else if isSilent {
      grader.noteSilence()
    } else {
      grader.addWindow(window)
    }
  }

  /// Gives numbers read in between the grades of the last time; before the first they keep theirs.
  func adopt(_ numbers: inout CallStatistics) {
    guard last != nil else { return }
    numbers.qualityTx = out.grade.rawValue
    numbers.qualityRx = back.grade.rawValue
  }

  /// A call was no better than its worst stretch, nor than what its pictures went through; one that
  /// ends with a line that carries nothing ends so.
  func adoptEnd(_ numbers: inout CallStatistics) {
    let pictures = numbers.pictureGrades
    numbers.qualityTx = Self.worse(numbers.qualityTx, worst.out.grade, pictures.sent)
    numbers.qualityRx = Self.worse(numbers.qualityRx, worst.back.grade, pictures.received)
    if out.grade == .down { numbers.qualityTx = out.grade.rawValue }
    if back.grade == .down { numbers.qualityRx = back.grade.rawValue }
  }

  /// What was never graded stays so.
  private static func worse(_ whole: Int, _ stretch: LineGrade, _ pictures: LineGrade) -> Int {
    whole == 0 ? 0 : max(whole, stretch.rawValue, pictures.rawValue)
  }

  /// The mean of those measured since the last time.
  private mutating func roundTrip(_ numbers: CallStatistics) -> Double {
    let (sum, count) = (numbers.totalRttMs, numbers.rttMeasurements)
    defer { lastTrips = (sum, count) }
    guard count > lastTrips.count else { return numbers.currentRttMs ?? 0 }
    return (sum - lastTrips.sum) / Double(count - lastTrips.count)
  }
}

extension CallGrader.Surroundings {
  /// What numbers say of the way out.
  ///
  /// - Parameter most: What that has carried lately, in bit/s.
  init(_ numbers: CallStatistics, carries most: Double?, maxVideoBitrate: Int) {
    let sendsVideo = numbers.videoSent.map { !$0.isPaused } ?? false
    sends = numbers.audio?.outbound.active != false || sendsVideo
    guard let sent = numbers.videoSent, let most else { return }
    let hasFallenBack =
      numbers.fallbacks.last { $0.direction == .publish }?.isAudioOnly ?? false
    let isBelowLimit = sent.targetBitrateBps < 0.95 * Double(maxVideoBitrate)
    let isLimited = sent.qualityLimitationReason == "bandwidth" && isBelowLimit
    if hasFallenBack || sendsVideo && isLimited { limitingBitsPerSecond = most }
  }
}
