/// Figures about several flows.
extension LabCase {
  /// Bit/s of each of `flows` at the bottleneck between two moments in seconds.
  func rates(_ world: LabWorld, _ flows: [Int], _ from: Double, _ to: Double) -> [Double] {
    var sums = Array(repeating: 0.0, count: self.flows.count)
    let low = UInt64(from * 1e9)
    let high = UInt64(to * 1e9)
    for entry in world.logs[0].entries where entry.departure >= low && entry.departure < high {
      sums[Int(entry.flow)] += Double(entry.byteCount) * 8
    }
    return flows.map { sums[$0] / (to - from) }
  }

  static func jain(_ rates: [Double]) -> Double {
    let sum = rates.reduce(0, +)
    let squares = rates.reduce(0) { $0 + $1 * $1 }
    return squares == 0 ? 0 : sum * sum / (Double(rates.count) * squares)
  }
}

extension Measure {
  static func jain(
    _ flows: [Int], from: Double, to: Double, _ goal: Double? = nil, name: String = "Jain"
  ) -> Measure {
    Measure("\(name) \(Int(from))–\(Int(to)) s", "", goal.map { .atLeast($0) } ?? .shown) {
      LabCase.jain($0.rates($1, flows, from, to))
    }
  }

  /// Share of the capacity that one flow has.
  static func share(
    _ flow: Int, from: Double, to: Double, _ goal: Double? = nil, name: String
  ) -> Measure {
    Measure(name, "", goal.map { .atLeast($0) } ?? .shown) { lab, world in
      let bits = lab.links[0].capacity.bits(from: UInt64(from * 1e9), to: UInt64(to * 1e9))
      return lab.rates(world, [flow], from, to)[0] * (to - from) / bits
    }
  }

  /// The greatest rate over the least.
  static func spread(_ flows: [Int], from: Double, to: Double, _ goal: Double? = nil) -> Measure {
    Measure("max/min rate", "", goal.map { .atMost($0) } ?? .shown) { lab, world in
      let rates = lab.rates(world, flows, from, to)
      guard let most = rates.max(), let least = rates.min(), least > 0 else { return nil }
      return most / least
    }
  }

  /// Seconds from `from` until each flow's rate over 2 s is within `tolerance` of `fair`.
  static func settles(
    _ flows: [Int], at fair: Double, within tolerance: Double, from: Double, to: Double,
    _ goal: Double? = nil
  ) -> Measure {
    Measure("shares equal after", "s", goal.map { .atMost($0) } ?? .shown) { lab, world in
      var time = from
      while time + 2 <= to {
        let rates = lab.rates(world, flows, time, time + 2)
        if rates.allSatisfy({ abs($0 - fair) <= tolerance * fair }) { return time + 2 - from }
        time += 0.25
      }
      return nil
    }
  }

  /// The longest time in which a flow had less than `rate`, in windows of half a second.
  static func longestBelow(
    _ rate: Double, _ flow: Int, from: Double, to: Double, _ goal: Double
  ) -> Measure {
    Measure("longest below \(Int(rate / 1_000)) kbit/s", "s", .atMost(goal)) { lab, world in
      var longest = 0.0
      var present = 0.0
      var time = from
      while time + 0.5 <= to {
        let isBelow = lab.rates(world, [flow], time, time + 0.5)[0] < rate
        present = isBelow ? present + 0.5 : 0
        longest = max(longest, present)
        time += 0.5
      }
      return longest
    }
  }
}
