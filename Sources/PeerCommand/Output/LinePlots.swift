package import Earshot
package import Plotting

/// What the line carried and why video came and went, over time: from the statistics of a call, or
/// from the lines that it wrote.
package enum LinePlots {
  /// One moment of it; rates in bit/s, times in seconds.
  package struct Sample: Sendable {
    package var seconds: Double
    package var estimate: Double?
    package var acknowledged: Double?
    package var queueDelay: Double?
    package var loss: Double?
    package var bytesSent: Double?
    package var bytesReceived: Double?
    package var framesPerSecond: Double?
    package var height: Double?

    package init(seconds: Double) { self.seconds = seconds }
  }

  /// Empty for a call without video.
  package static func plots(_ samples: [CallStatistics]) -> [Plot] {
    guard samples.contains(where: { $0.videoSent != nil || $0.videoReceived != nil }),
      let last = samples.last
    else { return [] }
    return plots(samples.map(Sample.init), spans(last.fallbacks, until: Double(last.atMs) / 1000))
  }

  /// - Parameter spans: the times of audio alone.
  package static func plots(
    _ samples: [Sample], _ spans: [(name: String, from: Double, to: Double)]
  ) -> [Plot] {
    var rates = Plot(
      "The line out", unit: "kbit/s; shaded: audio alone",
      [
        Plot.Line("estimate", points(samples) { $0.estimate.map { $0 / 1000 } }),
        Plot.Line("acknowledged", points(samples) { $0.acknowledged.map { $0 / 1000 } }),
        Plot.Line("video sent", rate(samples) { $0.bytesSent }),
      ])
    var delays = Plot(
      "Queue on the way out", unit: "ms",
      [Plot.Line("queue", points(samples) { $0.queueDelay.map { $0 * 1000 } })])
    var losses = Plot(
      "Loss that video reckons with", unit: "%",
      [Plot.Line("reported", points(samples) { $0.loss.map { $0 * 100 } })])
    for index in spans.indices {
      rates.spans.append(spans[index])
      delays.spans.append(spans[index])
      losses.spans.append(spans[index])
    }
    let received = Plot(
      "Video received", unit: "kbit/s",
      [Plot.Line("received", rate(samples) { $0.bytesReceived })])
    let seen = Plot(
      "Pictures seen", unit: "a second",
      [Plot.Line("pictures", points(samples) { $0.framesPerSecond })])
    let height = Plot(
      "Height of the picture sent", unit: "pixels",
      [Plot.Line("height", points(samples) { $0.height })])
    return [rates, delays, losses, received, seen, height]
  }

  /// From the changes the times between them.
  package static func spans(
    _ changes: [FallbackChange], until end: Double
  ) -> [(name: String, from: Double, to: Double)] {
    var spans: [(name: String, from: Double, to: Double)] = []
    for direction in [FallbackChange.Direction.publish, .subscribe] {
      var since: FallbackChange?
      for change in changes where change.direction == direction {
        if change.isAudioOnly {
          since = since ?? change
        } else if let begun = since {
          spans.append(span(begun, to: Double(change.atMs) / 1000))
          since = nil
        }
      }
      if let since { spans.append(span(since, to: end)) }
    }
    return spans
  }

  private static func span(
    _ change: FallbackChange, to end: Double
  ) -> (name: String, from: Double, to: Double) {
    ("audio only: \(change.reason.rawValue)", Double(change.atMs) / 1000, end)
  }

  private static func points(
    _ samples: [Sample], _ value: (Sample) -> Double?
  ) -> [(x: Double, y: Double)] {
    samples.compactMap { sample in value(sample).map { (sample.seconds, $0) } }
  }

  private static func rate(
    _ samples: [Sample], _ bytes: (Sample) -> Double?
  ) -> [(x: Double, y: Double)] {
    zip(samples, samples.dropFirst()).compactMap { before, sample in
      guard let from = bytes(before), let to = bytes(sample),
        sample.seconds - before.seconds >= 0.2
      else { return nil }
      return (sample.seconds, (to - from) * 8 / 1000 / (sample.seconds - before.seconds))
    }
  }
}

extension LinePlots.Sample {
  init(_ numbers: CallStatistics) {
    self.init(seconds: Double(numbers.atMs) / 1000)
    estimate = numbers.congestion?.estimateBps
    acknowledged = numbers.congestion?.acknowledgedBps
    queueDelay = numbers.congestion.map { $0.queueDelayMs / 1000 }
    loss = numbers.audio?.remote?.fractionLost ?? numbers.sent.fractionLost
    bytesSent = numbers.videoSent.map { Double($0.bytesSent + $0.retransmittedBytesSent) }
    bytesReceived = numbers.videoReceived.map { Double($0.bytesReceived) }
    framesPerSecond = numbers.videoReceived.map { Double($0.framesPerSecond) }
    height = numbers.videoSent.map { $0.isPaused ? 0 : Double($0.frameHeight) }
  }

  /// A `stats` line; `nil` for another one.
  package init?(line: JSONValue) {
    guard let at = line["atMs"]?.asNumber else { return nil }
    self.init(seconds: at / 1000)
    for object in line["stats"]?.elements ?? [] {
      let kind = object["kind"]?.asString
      switch object["type"]?.asString {
      case "earshot-congestion":
        estimate = object["estimate"]?.asNumber
        acknowledged = object["acknowledged"]?.asNumber
        queueDelay = object["queueDelay"]?.asNumber
      case "remote-inbound-rtp": loss = object["fractionLost"]?.asNumber ?? loss
      case "outbound-rtp" where kind == "video":
        bytesSent =
          (object["bytesSent"]?.asNumber ?? 0) + (object["retransmittedBytesSent"]?.asNumber ?? 0)
        height = object["frameHeight"]?.asNumber
      case "inbound-rtp" where kind == "video":
        bytesReceived = object["bytesReceived"]?.asNumber
        framesPerSecond = object["framesPerSecond"]?.asNumber
      default: break
      }
    }
  }
}
