internal import Earshot
package import Plotting

/// How each member was heard over time, for the page of `join --report`: of those who were hosts
/// first, second by second, and more coarsely the longer it lasts. Pure.
package struct RoomTrace: Sendable {
  private struct Series {
    let uid: UInt32
    var levels: [(x: Double, y: Double)] = []
    var roundTrips: [(x: Double, y: Double)] = []
    var losses: [(x: Double, y: Double)] = []
    var residualLosses: [(x: Double, y: Double)] = []
    var marks: [(x: Double, y: Double)] = []

    mutating func halve() {
      func half(_ points: [(x: Double, y: Double)]) -> [(x: Double, y: Double)] {
        points.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      }
      levels = half(levels)
      roundTrips = half(roundTrips)
      losses = half(losses)
      residualLosses = half(residualLosses)
      marks = half(marks)
    }
  }

  private var series: [Series] = []
  /// Seconds between two points.
  private var step = 1.0
  private var due = 0.0

  package init() {}

  /// Everybody who is there, with what is known of it now.
  package mutating func append(_ people: [RoomView.Person], seconds: Double) {
    guard seconds >= due else { return }
    due = seconds + step
    for person in people where person.isHost {
      guard let index = index(of: person.uid) else { continue }
      series[index].levels.append((seconds, person.level))
      guard let numbers = person.numbers else { continue }
      if let rtt = numbers.currentRttMs { series[index].roundTrips.append((seconds, rtt)) }
      let received = numbers.received
      series[index].losses.append((seconds, received.lostFraction * 100))
      series[index].residualLosses.append((seconds, received.residualLostFraction * 100))
      if let mos = numbers.received.mos { series[index].marks.append((seconds, mos)) }
    }
    guard series.contains(where: { $0.levels.count >= Self.mostPoints }) else { return }
    for index in series.indices { series[index].halve() }
    step *= 2
  }

  /// One line a member.
  package var plots: [Plot] {
    [
      plot("Level heard", "dB below full scale", \.levels), plot("Round trip", "ms", \.roundTrips),
      plot("Lost before repair, so far", "%", \.losses),
      plot("Lost and not repaired, so far", "%", \.residualLosses),
      plot("MOS", "1 to 5", \.marks),
    ]
  }

  private func plot(
    _ title: String, _ unit: String, _ points: (Series) -> [(x: Double, y: Double)]
  ) -> Plot {
    Plot(title, unit: unit, series.map { Plot.Line("\($0.uid)", points($0)) })
  }

  private mutating func index(of uid: UInt32) -> Int? {
    if let index = series.firstIndex(where: { $0.uid == uid }) { return index }
    guard series.count < Self.mostSeries else { return nil }
    series.append(Series(uid: uid))
    return series.count - 1
  }

  /// As many as a drawing has colours for.
  package static let mostSeries = 8
  /// Of one member; then each second one goes.
  package static let mostPoints = 1200
}
