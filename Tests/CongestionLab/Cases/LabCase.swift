/// One case: links, flows, how long, and what is read from a run.
package struct LabCase: Sendable {
  package var name: String
  package var title: String
  package var links: [LinkSpec]
  package var flows: [FlowSpec]
  package var seconds: Double
  package var measures: [Measure]
  /// A file that it needs and that is not here.
  package var missing: String?
  /// Of a family of lines: the one that an index draws.
  package var draw: (@Sendable (UInt64) -> LabCase)?

  package init(
    _ name: String, _ title: String, _ link: LinkSpec, flows: [FlowSpec] = [.media],
    seconds: Double, _ measures: [Measure]
  ) {
    self.name = name
    self.title = title
    links = [link, .wide(delay: Double(link.delay) / 1e6)]
    self.flows = flows
    self.seconds = seconds
    self.measures = measures.flatMap { measure in
      measure.name == Measure.utilisation().name ? [measure, .media(), .usefulVideo()] : [measure]
    }
  }

  package func with(_ change: (inout LabCase) -> Void) -> LabCase {
    var copy = self
    change(&copy)
    return copy
  }

  /// The line of a seed; the case itself where it has but one.
  package func drawn(by seed: UInt64) -> LabCase { draw?(seed) ?? self }

  package func run(seed: UInt64, keepsSeries: Bool = false) -> LabWorld {
    let world = LabWorld(
      links: links, flows: flows, seconds: seconds, seed: seed, keepsSeries: keepsSeries)
    world.run()
    return world
  }
}

/// A figure, and what it should be.
package struct Measure: Sendable {
  package enum Goal: Sendable {
    case atLeast(Double), atMost(Double), shown
  }

  package var name: String
  package var unit: String
  package var goal: Goal
  /// `nil`: it never came about, which fails any goal.
  package var read: @Sendable (LabCase, LabWorld) -> Double?

  package init(
    _ name: String, _ unit: String = "", _ goal: Goal = .shown,
    _ read: @escaping @Sendable (LabCase, LabWorld) -> Double?
  ) {
    self.name = name
    self.unit = unit
    self.goal = goal
    self.read = read
  }
}

extension LabCase {
  /// Of the bottleneck of the first flow.
  func reader(_ world: LabWorld, link: Int = 0, flows: Set<Int>? = nil) -> LogReader {
    LogReader(world.logs[link], links[link].capacity, flows: flows)
  }
  func begin(_ world: LabWorld) -> UInt64 { world.media[0]?.start ?? 0 }
}

/// The figures of `emustat`.
extension Measure {
  static func utilisation(_ goal: Double? = nil) -> Measure {
    Measure("utilisation", "", goal.map { .atLeast($0) } ?? .shown) { lab, world in
      lab.reader(world).figures(from: lab.begin(world), to: world.endTime).utilisation
    }
  }

  /// Padding and repeats left out.
  static func media() -> Measure {
    Measure("by media alone") { lab, world in
      lab.reader(world).figures(from: lab.begin(world), to: world.endTime).mediaUtilisation
    }
  }

  /// The pictures of all flows alone: headers, parity and audio left out as well.
  static func usefulVideo() -> Measure {
    Measure("useful video") { lab, world in
      let settled = min(lab.begin(world) + LinkFigures.settling, world.endTime)
      let bits = lab.links[0].capacity.bits(from: settled, to: world.endTime)
      let bytes = world.media.values.reduce(0) { $0 + $1.tally.videoBytesAfter }
      return Double(bytes) * 8 / max(bits, 1)
    }
  }

  static func wait(_ goal: Double? = nil) -> Measure {
    Measure("wait p95", "ms", goal.map { .atMost($0) } ?? .shown) { lab, world in
      lab.reader(world).figures(from: lab.begin(world), to: world.endTime).p95
    }
  }

  static func drops(_ goal: Double? = nil) -> Measure {
    Measure("queue drops", "%", goal.map { .atMost($0) } ?? .shown) { lab, world in
      100 * lab.reader(world).figures(from: lab.begin(world), to: world.endTime).dropShare
    }
  }

  static func start(_ goal: Double? = nil, until: Double = .infinity) -> Measure {
    Measure("t90 from start", "s", goal.map { .atMost($0) } ?? .shown) { lab, world in
      let end = min(until, Double(world.endTime) / 1e9)
      return lab.reader(world).rise(from: lab.begin(world), to: UInt64(end * 1e9))
    }
  }

  /// Time to 90 % of what there is from a moment on.
  static func rise(at: Double, until: Double, _ goal: Double? = nil) -> Measure {
    Measure("t90 at \(Int(at)) s", "s", goal.map { .atMost($0) } ?? .shown) { lab, world in
      lab.reader(world).rise(from: UInt64(at * 1e9), to: UInt64(until * 1e9))
    }
  }

  static func drain(at: Double, until: Double, _ goal: Double? = nil) -> Measure {
    Measure("drain at \(Int(at)) s", "s", goal.map { .atMost($0) } ?? .shown) { lab, world in
      lab.reader(world).drain(from: UInt64(at * 1e9), to: UInt64(until * 1e9))
    }
  }

  static func audioLoss(_ goal: Double? = nil) -> Measure {
    Measure("audio lost", "%", goal.map { .atMost($0) } ?? .shown) { _, world in
      guard let tally = world.media[0]?.tally else { return nil }
      return 100 * Double(tally.audioLost) / Double(max(1, tally.audioSent))
    }
  }

  static func audioWait(_ goal: Double? = nil) -> Measure {
    Measure("audio wait p95", "ms", goal.map { .atMost($0) } ?? .shown) { lab, world in
      lab.reader(world).waitPercentile(
        0.95, from: lab.begin(world), to: world.endTime, content: 0)
    }
  }

  static func feedbackShare(_ goal: Double? = nil) -> Measure {
    Measure("feedback", "%", goal.map { .atMost($0) } ?? .shown) { _, world in
      guard let tally = world.media[0]?.tally else { return nil }
      return 100 * Double(tally.reportBytes) / Double(max(1, tally.receivedBytes.reduce(0, +)))
    }
  }

  static func framesSkipped() -> Measure {
    Measure("frames skipped", "%") { _, world in
      guard let tally = world.media[0]?.tally else { return nil }
      return 100 * Double(tally.framesSkipped) / Double(max(1, tally.frames + tally.framesSkipped))
    }
  }
}
