package import Earshot
internal import Reactor

/// The last probe of each peer, in a file beside the identity (`identity.probes`, mode 0600), so
/// that a later call can say how right it was.
///
/// A file that cannot be read counts as empty, one that cannot be written is given up: neither
/// keeps anybody from calling.
package struct ProbeMemory: Sendable {
  /// Peers that are remembered, the last ones probed.
  package static let maxEntries = 64
  /// What was found out longer ago says nothing of the line of now.
  package static let maxAgeSeconds: UInt64 = 24 * 3600

  package struct Entry: Equatable, Sendable {
    /// The name or ID that was probed.
    package var target: String
    /// Seconds since 1970.
    package var at: UInt64
    package var quality: Int
    package var mos: Double?
    package var roundTripMs: Double?
    package var uplinkLoss: Double?
    package var downlinkLoss: Double?
    /// What repair will leave of them, as predicted.
    package var uplinkResidualLoss: Double?
    package var downlinkResidualLoss: Double?
    /// What the way out carries at the least, in bit/s.
    package var uplinkBps: Double?

    package init(target: String, at: UInt64, quality: Int) {
      self.target = target
      self.at = at
      self.quality = quality
    }
  }

  /// Longer ago a rate is no place to begin a call at: somebody else may use the line by now.
  package static let freshSeconds: UInt64 = 120

  private let path: String?

  /// - Parameter identity: The identity file; `nil` for the usual one.
  package init(besideIdentity identity: String?) {
    do throws(EarshotError) {
      path = try LocalIdentityFile.path(identity) + ".probes"
    } catch {
      path = nil
    }
  }

  /// Every peer, the last one probed first.
  package func entries() -> [Entry] {
    guard let path else { return [] }
    do throws(ReactorError) {
      let bytes = try ProcessSurroundings.contents(of: path, limit: 1 << 16)
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        .compactMap { JSONReader.value(of: $0).flatMap(Entry.init) }
    } catch {
      return []
    }
  }

  /// Puts `entry` in the place of what was known of its target.
  package func remember(_ entry: Entry) {
    guard let path else { return }
    let others = entries().filter { $0.target != entry.target }
    let lines = ([entry] + others).prefix(Self.maxEntries).map { $0.json.value.text + "\n" }
    do throws(ReactorError) {
      try OutputFile(creating: path).write(lines.joined())
    } catch {
      // Then the next call's report has nothing to compare with.
    }
  }

  /// What was last found out about whoever has one of `names`, if that is not too long ago.
  package func entry(for names: [String], now: UInt64) -> Entry? {
    entries().first { entry in
      names.contains(entry.target) && entry.at <= now && now - entry.at <= Self.maxAgeSeconds
    }
  }
}

extension ProbeMemory.Entry {
  /// - Returns: `nil` when nothing was measured.
  package init?(_ report: LineReport, _ rating: LineRating, target: String, at: UInt64) {
    guard report.state != .unavailable else { return nil }
    self.init(target: target, at: at, quality: rating.grade.rawValue)
    // As the file keeps them.
    mos = rating.speech.map { ($0.mos * 100).rounded() / 100 }
    roundTripMs = report.idleRoundTrip.map { ($0.delay.p50Ms * 1000).rounded() / 1000 }
    uplinkBps = report.uplink?.bandwidth.map { $0.low.rounded() }
    uplinkLoss = report.uplink?.loss.map { ($0.share * 1e6).rounded() / 1e6 }
    downlinkLoss = report.downlink?.loss.map { ($0.share * 1e6).rounded() / 1e6 }
    uplinkResidualLoss = rating.speech?.uplinkResidualLoss.map { ($0 * 1e6).rounded() / 1e6 }
    downlinkResidualLoss = rating.speech?.downlinkResidualLoss.map { ($0 * 1e6).rounded() / 1e6 }
  }

  fileprivate init?(_ value: JSONValue) {
    guard let target = value["target"]?.asString, let at = value["at"]?.asNumber, at >= 0,
      at < 1e15, let quality = value["quality"]?.asNumber, (0...6).contains(quality)
    else { return nil }
    self.init(target: target, at: UInt64(at), quality: Int(quality))
    mos = value["mos"]?.asNumber
    roundTripMs = value["rttMs"]?.asNumber
    uplinkLoss = value["uplinkLossRate"]?.asNumber
    uplinkBps = value["uplinkBps"]?.asNumber.flatMap { (1...1e9).contains($0) ? $0 : nil }
    downlinkLoss = value["downlinkLossRate"]?.asNumber
    uplinkResidualLoss = value["uplinkResidualLossRate"]?.asNumber
    downlinkResidualLoss = value["downlinkResidualLossRate"]?.asNumber
  }

  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("target", target)
    object.add("at", at)
    object.add("quality", quality)
    add(to: &object)
    object.add("uplinkBps", uplinkBps)
    return object
  }

  /// The rate to begin a call at; `nil` where none was found, or too long ago.
  package func knownUplinkBitrate(now: UInt64) -> Int? {
    guard at <= now, now - at <= ProbeMemory.freshSeconds else { return nil }
    return uplinkBps.map { Int($0) }
  }

  private func add(to object: inout JSONObject) {
    object.add("mos", mos)
    object.add("rttMs", roundTripMs)
    object.add("uplinkLossRate", uplinkLoss)
    object.add("downlinkLossRate", downlinkLoss)
    object.add("uplinkResidualLossRate", uplinkResidualLoss)
    object.add("downlinkResidualLossRate", downlinkResidualLoss)
  }

  /// For the summary of a call.
  package func prediction(now: UInt64) -> JSONObject {
    var object = JSONObject()
    object.add("ageSeconds", now > at ? now - at : 0)
    object.add("quality", quality)
    add(to: &object)
    return object
  }

  /// For the table at the end of a call: predicted against actual, figure by figure.
  package func comparison(with numbers: CallStatistics, now: UInt64) -> String {
    var parts: [String] = []
    func add(_ what: String, _ predicted: Double?, _ actual: Double?, _ text: (Double) -> String) {
      guard let predicted, let actual else { return }
      parts.append("\(what) \(text(predicted)), was \(text(actual))")
    }
    add("MOS", mos, numbers.received.mos) { Wording.decimal($0) }
    add("round trip", roundTripMs, numbers.rttMs?.p50) { Figures.delay($0) }
    add("loss sent", uplinkLoss, numbers.sent.lostFraction) { Figures.percent($0) }
    add("of it not repaired", uplinkResidualLoss, numbers.sentResidualLossRate) {
      Figures.percent($0)
    }
    add("loss received", downlinkLoss, numbers.received.lostFraction) { Figures.percent($0) }
    add("of it not repaired", downlinkResidualLoss, numbers.received.residualLostFraction) {
      Figures.percent($0)
    }
    let minutes = (now > at ? now - at : 0) / 60
    let age = minutes < 1 ? "just before" : "\(minutes) min before"
    guard !parts.isEmpty else { return "a probe \(age) said nothing that can be compared" }
    return "by a probe \(age): " + parts.joined(separator: "; ")
  }
}
