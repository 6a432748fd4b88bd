package import Earshot
internal import Glibc
package import Plotting

/// What a call's sound was like, over time: from its statistics, or from the lines that it wrote.
package enum SoundPlots {
  /// One moment of it: counts since the beginning of the call, times in seconds.
  package struct Sample: Sendable {
    package var seconds: Double
    package var roundTrip: Double?
    package var packetsReceived: Double?
    package var packetsLost: Double?
    package var residualLost: Double?
    /// Of all samples that left the jitter buffer, and how many these are.
    package var bufferDelay: Double?
    package var bufferEmitted: Double?
    package var bytesReceived: Double?
    package var bytesSent: Double?
    /// 0...1.
    package var level: Double?
    /// What the other end reports of what was sent to it: lost since its report before, 0...1.
    package var othersLoss: Double?
    /// Of what was sent to it: how much it has told of, and of it what nothing brought in time.
    package var othersExpected: Double?
    package var othersResidual: Double?
    package var othersJitter: Double?

    package init(seconds: Double) { self.seconds = seconds }
  }

  package static func plots(_ samples: [Sample]) -> [Plot] {
    [
      Plot(
        "Round trip", unit: "ms",
        [Plot.Line("round trip", points(samples) { $0.roundTrip.map { $0 * 1000 } })]),
      Plot(
        "Loss on the way in", unit: "% of packets since the sample before",
        [
          Plot.Line("before repair", loss(samples, \.packetsLost)),
          Plot.Line("not repaired", loss(samples, \.residualLost)),
        ]),
      Plot(
        "Loss on the way out", unit: "%, as the other end reports it",
        [
          Plot.Line("before repair", points(samples) { $0.othersLoss.map { $0 * 100 } }),
          Plot.Line("not repaired", othersResidual(samples)),
        ]),
      Plot(
        "Delays of sound", unit: "ms",
        [
          Plot.Line("jitter buffer", buffer(samples)),
          Plot.Line(
            "jitter at the other end", points(samples) { $0.othersJitter.map { $0 * 1000 } }),
        ]),
      Plot(
        "Bit rate of sound", unit: "kbit/s",
        [
          Plot.Line("received", rate(samples, \.bytesReceived)),
          Plot.Line("sent", rate(samples, \.bytesSent)),
        ]),
      Plot(
        "Level heard", unit: "dB below full scale",
        [
          Plot.Line(
            "heard", points(samples) { $0.level.map { 20 * log10(max($0, 0.000_1)) } })
        ]),
    ]
  }

  private static func points(
    _ samples: [Sample], _ value: (Sample) -> Double?
  ) -> [(x: Double, y: Double)] {
    samples.compactMap { sample in value(sample).map { (sample.seconds, $0) } }
  }

  /// From each sample to the next.
  private static func steps(
    _ samples: [Sample], _ value: (Sample, Sample) -> Double?
  ) -> [(x: Double, y: Double)] {
    zip(samples, samples.dropFirst()).compactMap { before, sample in
      value(before, sample).map { (sample.seconds, $0) }
    }
  }

  private static func difference(
    _ before: Sample, _ sample: Sample, _ value: KeyPath<Sample, Double?>
  ) -> Double? {
    guard let from = before[keyPath: value], let to = sample[keyPath: value] else { return nil }
    return to - from
  }

  /// What is late for a sample may take a loss back: then none is drawn.
  private static func loss(
    _ samples: [Sample], _ count: KeyPath<Sample, Double?>
  ) -> [(x: Double, y: Double)] {
    steps(samples) { before, sample in
      guard let lost = difference(before, sample, count),
        let allLost = difference(before, sample, \.packetsLost),
        let received = difference(before, sample, \.packetsReceived), allLost + received > 0
      else { return nil }
      return 100 * min(1, max(0, lost / (allLost + received)))
    }
  }

  /// A repair that a report told of late may take some back: then none is drawn.
  private static func othersResidual(_ samples: [Sample]) -> [(x: Double, y: Double)] {
    steps(samples) { before, sample in
      guard let lost = difference(before, sample, \.othersResidual),
        let all = difference(before, sample, \.othersExpected), all > 0
      else { return nil }
      return 100 * min(1, max(0, lost / all))
    }
  }

  /// Of the sound that was heard since the sample before.
  private static func buffer(_ samples: [Sample]) -> [(x: Double, y: Double)] {
    steps(samples) { before, sample in
      guard let delay = difference(before, sample, \.bufferDelay),
        let count = difference(before, sample, \.bufferEmitted), count > 0
      else { return nil }
      return 1000 * delay / count
    }
  }

  private static func rate(
    _ samples: [Sample], _ bytes: KeyPath<Sample, Double?>
  ) -> [(x: Double, y: Double)] {
    steps(samples) { before, sample in
      let seconds = sample.seconds - before.seconds
      guard seconds >= 0.2, let count = difference(before, sample, bytes) else { return nil }
      return count * 8 / 1000 / seconds
    }
  }
}

extension SoundPlots.Sample {
  package init(_ numbers: CallStatistics) {
    self.init(seconds: Double(numbers.atMs) / 1000)
    roundTrip = numbers.currentRttMs.map { $0 / 1000 }
    packetsReceived = Double(numbers.received.packetsReceived)
    packetsLost = Double(numbers.received.packetsLost)
    residualLost = Double(numbers.received.residualLost)
    bufferDelay = numbers.audio?.inbound.jitterBufferDelay
    bufferEmitted = numbers.audio.map { Double($0.inbound.jitterBufferEmittedCount) }
    bytesReceived = Double(numbers.received.bytesReceived)
    bytesSent = Double(numbers.sent.bytesSent)
    if numbers.received.totalSamplesReceived > 0 { level = numbers.received.audioLevel }
    othersLoss = numbers.audio?.remote?.fractionLost ?? numbers.sent.fractionLost
    othersExpected = numbers.audio?.remote.map { Double($0.packetsExpected) }
    othersResidual = numbers.audio?.remote.map { Double($0.residualLost) }
    othersJitter = numbers.audio?.remote?.jitter
  }

  /// A `stats` line; `nil` for another one.
  package init?(line: JSONValue) {
    guard let at = line["atMs"]?.asNumber else { return nil }
    self.init(seconds: at / 1000)
    for object in line["stats"]?.elements ?? [] where object["kind"]?.asString == "audio" {
      switch object["type"]?.asString {
      case "inbound-rtp":
        packetsReceived = object["packetsReceived"]?.asNumber
        packetsLost = object["packetsLost"]?.asNumber
        residualLost = object["earshotResidualLost"]?.asNumber
        bufferDelay = object["jitterBufferDelay"]?.asNumber
        bufferEmitted = object["jitterBufferEmittedCount"]?.asNumber
        bytesReceived = object["bytesReceived"]?.asNumber
        level = object["audioLevel"]?.asNumber
      case "outbound-rtp": bytesSent = object["bytesSent"]?.asNumber
      case "remote-inbound-rtp":
        roundTrip = object["roundTripTime"]?.asNumber
        othersLoss = object["fractionLost"]?.asNumber
        othersExpected = object["earshotPacketsExpected"]?.asNumber
        othersResidual = object["earshotResidualLost"]?.asNumber
        othersJitter = object["jitter"]?.asNumber
      default: break
      }
    }
  }
}
