import Congestion

/// Whole calls beside TCP that comes and goes, and behind policers: video with fallback, as calls
/// have it by default.
extension LabCase {
  package static let otherTraffic: [LabCase] =
    tcpCells.map { besideTCP($0.rate, $0.queue, $0.isFirst) }
    + tcpCells.map { besideTCP($0.rate, $0.queue, $0.isFirst, small: true) }
    + tcpCells.map { besideTCP($0.rate, $0.queue, $0.isFirst, .bbr, small: true) }
    + [(0.8, 12.0), (1.5, 20), (3, 40)].map { policed($0.0 * 1e6, bytes: $0.1 * 1_000) }

  /// What a cell of TCP is made of: bit/s, ms of queue, and whether TCP is there first.
  private static let tcpCells: [(rate: Double, queue: Double, isFirst: Bool)] = [
    (2e6, 300, true), (2e6, 300, false), (2e6, 1_000, true), (2e6, 1_000, false),
    (700e3, 300, true), (700e3, 300, false), (700e3, 1_000, true), (700e3, 1_000, false),
  ]

  /// TCP is over 30 s before the end.
  private static let end = 120.0

  /// - Parameter small: After a fall the encoder's pictures are small for some seconds.
  private static func besideTCP(
    _ rate: Double, _ queue: Double, _ isFirst: Bool, _ law: FlowSpec.Kind = .cubic,
    small: Bool = false
  ) -> LabCase {
    let begin = isFirst ? 0.0 : 30
    let call = FlowSpec.media.with {
      $0.start = isFirst ? 5 : 0
      $0.fallsBack = true
      $0.hasSmallPictures = small
    }
    let rival = FlowSpec.media.with {
      $0.kind = law
      $0.start = begin
      $0.stop = end - 30
    }
    let from = max(begin, 5) + 10
    let kind = law == .bbr ? "bbr" : small ? "small" : "tcp"
    let name =
      "\(kind)\(Int(rate / 1e3))-\(Int(queue))\(isFirst ? "first" : "late")"
    return LabCase(
      name,
      "TCP \(law == .bbr ? "BBR" : "Cubic") "
        + "\(isFirst ? "before the call" : "from 30 s on") until 90 s, "
        + "\(Int(rate / 1e3)) kbit/s, queue \(Int(queue)) ms"
        + (small ? ", small pictures after a fall" : ""),
      LinkSpec(.constant(rate), delay: 25, queue: queue), flows: [call, rival], seconds: end,
      [
        .share(0, from: from, to: end - 30, queue > 500 ? 0.3 : 0.4, name: "our share"),
        .share(1, from: from, to: end - 30, 0.25, name: "TCP's share"),
        .longestAudioOnly(5), .audioLoss(),
        .drainOfOurs(at: end - 30, until: end, 1), .rise(at: end - 30, until: end),
      ])
  }

  private static func policed(_ rate: Double, bytes: Double) -> LabCase {
    let seconds = 60.0
    return LabCase(
      "policer\(Int(rate / 1e3))",
      "policer of \(Int(rate / 1e3)) kbit/s and \(Int(bytes / 1e3)) kB, no queue, RTT 50",
      LinkSpec(.constant(20e6), delay: 25).with { $0.policer = (rate, bytes) },
      flows: [FlowSpec.media.with { $0.fallsBack = true }], seconds: seconds,
      [
        Measure("dropped in the first 2 s", "%") { _, world in dropped(world, from: 0, to: 2) },
        Measure("dropped after 2 s", "%", .atMost(2)) { _, world in
          dropped(world, from: 2, to: seconds)
        },
        Measure("useful video of the policed rate", "", .atLeast(0.85)) { _, world in
          guard let tally = world.media[0]?.tally else { return nil }
          return Double(tally.receivedBytes[1]) * 8 / seconds / rate
        },
        Measure("changes to audio alone", "", .atMost(0)) { _, world in
          Double(world.media[0]?.tally.changes.count { $0.1.mode == .audioOnly } ?? 0)
        },
        .audioLoss(),
      ])
  }

  /// Per cent of what was offered between two moments in seconds.
  private static func dropped(_ world: LabWorld, from: Double, to: Double) -> Double {
    let range = UInt64(from * 1e9)..<UInt64(to * 1e9)
    let dropped = world.logs[0].droppedAt.count { range.contains($0) }
    let passed = world.logs[0].entries.count { range.contains($0.entered) }
    return 100 * Double(dropped) / Double(max(1, dropped + passed))
  }
}

extension Measure {
  /// The longest time without video, in seconds.
  static func longestAudioOnly(_ goal: Double) -> Measure {
    Measure("longest audio alone", "s", .atMost(goal)) { _, world in
      guard let tally = world.media[0]?.tally else { return nil }
      var longest = 0.0
      var since: Double?
      for (time, change) in tally.changes {
        if change.mode == .audioOnly {
          since = since ?? time
        } else if let begin = since {
          longest = max(longest, time - begin)
          since = nil
        }
      }
      if let since { longest = max(longest, Double(world.endTime) / 1e9 - since) }
      return longest
    }
  }

  /// As `drain`, once TCP has ended; 40 ms are what a call of our own makes of a narrow line.
  static func drainOfOurs(at: Double, until: Double, _ goal: Double) -> Measure {
    Measure("drained after TCP's end", "s", .atMost(goal)) { lab, world in
      let from = UInt64(at * 1e9)
      // What TCP had in the queue takes its time; ours counts from when its last packet left.
      let last = world.logs[0].entries.last { $0.flow == 1 }?.departure ?? from
      return lab.reader(world).drain(
        from: max(from, last), to: UInt64(until * 1e9), below: 40_000_000)
    }
  }
}
