internal import LastMile

/// The worst grade that held for three reports, six seconds, running: the best that the whole call
/// can be said to have been (docs/decisions/0034).
struct WorstStretch: Sendable {
  private(set) var grade = LineGrade.unknown
  private var before = (LineGrade.unknown, LineGrade.unknown)

  /// Takes the grade of a report. `down` is told while it lasts and at the end: a line that came
  /// back counts as very bad.
  mutating func recordGrade(_ new: LineGrade) {
    let new = min(new, .veryBad)
    grade = max(grade, min(new, before.0, before.1))
    before = (before.1, new)
  }
}

extension CallStatistics {
  /// The best that can be said of each direction by what its pictures went through; `excellent`
  /// where they say nothing.
  var pictureGrades: (sent: LineGrade, received: LineGrade) {
    var sent = LineGrade.excellent
    var received = LineGrade.excellent
    if fallbacks.contains(where: { $0.direction == .publish && $0.isAudioOnly }) { sent = .poor }
    if fallbacks.contains(where: { $0.direction == .subscribe && $0.isAudioOnly }) {
      received = .poor
    }
    if let video = videoReceived, video.activeTime > 0 {
      let frozen = video.totalFreezesDuration / video.activeTime
      if frozen >= Self.muchFrozen {
        received = max(received, .poor)
      } else if video.totalFreezesDuration >= Self.noticedFreeze {
        received = max(received, .good)
      }
    }
    if let queue = congestion?.queueDelays, queue.p95 >= Self.longQueue { sent = max(sent, .good) }
    return (sent, received)
  }

  /// Of the time that pictures were to be seen.
  private static let muchFrozen = 0.02
  /// Seconds.
  private static let noticedFreeze = 0.5
  /// Milliseconds; twice what the pacer aims at.
  private static let longQueue = 100.0
}
