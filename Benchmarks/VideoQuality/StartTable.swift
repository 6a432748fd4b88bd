import Peer
import Primitives
import Simulation
import Video

/// How soon a call has the picture that its line carries: simulated calls of whole machines, with
/// and without the ladder's hurry in its first seconds, and with a test of the line just before.
enum StartTable {
  static func table(seeds: Int) -> String {
    var text = """
      | line kbit/s, round trip | known before | in a hurry | first size | best size | after ms | \
      1280x720 after ms | changes of size in 10 s |
      | --- | --- | --- | --- | --- | --- | --- | --- |

      """
    for kilobits in [1000, 2000, 5000] {
      for trip in [30, 100, 300] {
        for (isKnown, hurries) in [(false, false), (false, true), (true, false), (true, true)] {
          var result = Result()
          for seed in 0..<UInt64(max(1, seeds)) {
            result.add(seed + 1, kilobits, trip, isKnown: isKnown, hurries: hurries)
          }
          text += "| \(kilobits), \(trip) ms | \(isKnown ? "yes" : "no") | "
          text += "\(hurries ? "yes" : "no") | \(result.cells) |\n"
        }
      }
    }
    return text
  }

  /// Of some calls; times are medians.
  private struct Result {
    private var first: [Int] = []
    private var best: [Int] = []
    private var bestAfter: [Int64] = []
    private var fullAfter: [Int64] = []
    private var changes = 0

    mutating func add(
      _ seed: UInt64, _ kilobits: Int, _ trip: Int, isKnown: Bool, hurries: Bool
    ) {
      var settings = VideoSettings()
      if isKnown { settings.priorRate = Double(kilobits) * 1000 }
      let line = LinkConditions.Rate(
        UInt64(kilobits) * 1000, queue: .time(.milliseconds(300)))
      let call = SimulatedTalk(
        seed: seed, roundTrip: .milliseconds(Int64(trip)), settings
      ) { $0.rate = line }
      guard let talk = call else { return }
      let began = talk.now
      talk.alice.hurries = hurries
      talk.run(.seconds(10))
      let rungs = talk.alice.rungs
      guard let least = rungs.map(\.index).min(), let start = rungs.first else { return }
      first.append(start.index)
      best.append(least)
      changes += rungs.count - 1
      if let entry = rungs.first(where: { $0.index == least }) {
        bestAfter.append((entry.at - began).milliseconds)
      }
      if let entry = rungs.first(where: { $0.index == 1 }) {
        fullAfter.append((entry.at - began).milliseconds)
      }
    }

    var cells: String {
      let size = { (indices: [Int]) -> String in
        guard !indices.isEmpty else { return "–" }
        let box = VideoLadder.rungs[indices.sorted()[indices.count / 2]].box
        return "\(box.width)x\(box.height)"
      }
      let median = { (times: [Int64]) -> String in
        times.count * 2 > first.count ? "\(times.sorted()[times.count / 2])" : "–"
      }
      let each = Double(changes) / Double(max(1, first.count))
      return [
        size(first), size(best), median(bestAfter), median(fullAfter),
        VideoQualityProgram.text(each),
      ].joined(separator: " | ")
    }
  }
}
