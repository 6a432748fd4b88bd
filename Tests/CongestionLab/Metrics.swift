/// Figures of one run at one bottleneck, defined as `../shared/tools/linkemu/emustat` defines them.
package struct LinkFigures: Sendable {
  /// Carried / capacity, after the settling time.
  package var utilisation = 0.0
  /// The same by audio and video alone.
  package var mediaUtilisation = 0.0
  /// Waits in ms.
  package var p50 = 0.0
  package var p95 = 0.0
  package var p99 = 0.0
  package var most = 0.0
  package var dropShare = 0.0
  package var lossShare = 0.0

  static let settling: UInt64 = 10_000_000_000
}

/// Reads a log.
package struct LogReader {
  private let entries: [LinkLog.Entry]
  private let sums: [Double]
  private let capacity: Capacity
  let log: LinkLog

  /// - Parameter flows: Those that count; `nil` = all.
  package init(_ log: LinkLog, _ capacity: Capacity, flows: Set<Int>? = nil) {
    self.log = log
    self.capacity = capacity
    let chosen = log.entries.filter { flows?.contains(Int($0.flow)) ?? true }
    entries = chosen.sorted { $0.departure < $1.departure }
    var sum = 0.0
    var sums = [0.0]
    for entry in entries {
      sum += Double(entry.byteCount) * 8
      sums.append(sum)
    }
    self.sums = sums
  }

  /// Bits that left until a moment.
  private func carried(until time: UInt64) -> Double {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].departure <= time { low = middle + 1 } else { high = middle }
    }
    return sums[low]
  }

  package func carried(from: UInt64, to: UInt64) -> Double {
    carried(until: to) - carried(until: from)
  }

  package func figures(from: UInt64, to: UInt64) -> LinkFigures {
    var figures = LinkFigures()
    let settled = min(from + LinkFigures.settling, to)
    let bits = capacity.bits(from: settled, to: to)
    figures.utilisation = carried(from: settled, to: to) / max(bits, 1)
    var media = 0.0
    var waits: [Double] = []
    for entry in entries where entry.departure >= from && entry.departure < to {
      waits.append(Double(entry.wait) / 1e6)
      if entry.departure >= settled, entry.content <= 1 { media += Double(entry.byteCount) * 8 }
    }
    waits.sort()
    figures.mediaUtilisation = media / max(bits, 1)
    figures.p50 = Self.percentile(waits, 0.5)
    figures.p95 = Self.percentile(waits, 0.95)
    figures.p99 = Self.percentile(waits, 0.99)
    figures.most = waits.last ?? 0
    let offered = Double(max(1, log.offered.reduce(0, +)))
    figures.dropShare = Double(log.dropped.reduce(0, +)) / offered
    figures.lossShare = Double(log.lost.reduce(0, +)) / offered
    return figures
  }

  package func waitPercentile(_ share: Double, from: UInt64, to: UInt64, content: UInt8) -> Double {
    var waits: [Double] = []
    for entry in entries
    where entry.departure >= from && entry.departure < to && entry.content == content {
      waits.append(Double(entry.wait) / 1e6)
    }
    waits.sort()
    return Self.percentile(waits, share)
  }

  /// Seconds from `from` until half a second carries `share` of its capacity; `nil` = never.
  package func rise(
    from: UInt64, to: UInt64, share: Double = 0.9, of rate: Double? = nil
  ) -> Double? {
    let window: UInt64 = 500_000_000
    var time = from + window
    while time <= to {
      let bits = rate.map { $0 * 0.5 } ?? capacity.bits(from: time - window, to: time)
      if bits > 0, carried(from: time - window, to: time) >= share * bits {
        return Double(time - from) / 1e9
      }
      time += 50_000_000
    }
    return nil
  }

  /// Seconds from `from` until 300 ms pass with every wait below a limit, in ns.
  package func drain(from: UInt64, to: UInt64, below limit: UInt64 = 20_000_000) -> Double? {
    var clear = from
    for entry in entries where entry.departure >= from && entry.departure < to {
      guard entry.wait > limit else { continue }
      if entry.departure > clear + 300_000_000 { return Double(clear - from) / 1e9 }
      clear = entry.departure
    }
    return to >= clear + 300_000_000 ? Double(clear - from) / 1e9 : nil
  }

  static func percentile(_ sorted: [Double], _ share: Double) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let index = Int(place)
    guard index + 1 < sorted.count else { return last }
    return sorted[index] + (sorted[index + 1] - sorted[index]) * (place - Double(index))
  }
}
