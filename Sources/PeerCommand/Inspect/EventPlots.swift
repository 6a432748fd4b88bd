internal import Earshot
internal import Plotting

/// The plots of `--report` from an events file: rates, queue, loss and the times of audio alone.
package enum EventPlots {
  /// A page; `nil` when the file has no statistics.
  package static func html(_ text: EventText) -> String? {
    var samples: [LinePlots.Sample] = []
    var changes: [FallbackChange] = []
    _ = text.forEachObject { object in
      switch object["type"]?.asString {
      case "stats":
        if let sample = LinePlots.Sample(line: object), samples.count < CallRun.maxSamples {
          samples.append(sample)
        }
      case "event":
        if let change = change(object), changes.count < maxChanges { changes.append(change) }
      default: break
      }
    }
    guard let last = samples.last else { return nil }
    let plots = LinePlots.plots(samples, LinePlots.spans(changes, until: last.seconds))
    let drawings = plots.map(\.svg).joined()
    return Page.html(
      title: "Earshot: an events file", heading: "A call by its events",
      drawings.isEmpty ? "<p>Nothing was measured of the line.</p>\n" : drawings)
  }

  private static func change(_ object: JSONValue) -> FallbackChange? {
    let direction: FallbackChange.Direction
    switch object["name"]?.asString {
    case "localPublishFallbackToAudioOnly": direction = .publish
    case "remoteSubscribeFallbackToAudioOnly": direction = .subscribe
    default: return nil
    }
    guard let at = object["atMs"]?.asNumber, (0...1e12).contains(at),
      let reason = object["reason"]?.asString.flatMap(FallbackChange.Reason.init)
    else { return nil }
    return FallbackChange(
      direction, isAudioOnly: object["on"]?.asBoolean ?? false, reason: reason,
      estimateBps: object["estimateBps"]?.asNumber ?? 0,
      neededBps: object["neededBps"]?.asNumber ?? 0, loss: object["loss"]?.asNumber ?? 0,
      atMs: Int(at))
  }

  private static let maxChanges = 10_000
}
