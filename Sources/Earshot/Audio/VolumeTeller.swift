internal import Primitives
internal import Reactor

/// Sums of a call's sound since it began.
struct SoundSums: Sendable {
  /// Squares of the level times seconds, and the seconds, of the source.
  var sourceEnergy = 0.0
  var sourceSeconds = 0.0
  /// Of what the other side's audio sounded like.
  var playedEnergy = 0.0
  var playedSeconds = 0.0
  /// In hertz, now.
  var pitch = 0.0
}

/// What is known between two reports of volumes.
struct VolumeTeller {
  /// `nil` while nobody asked.
  private(set) var options: VolumeIndication?
  /// Of the loop that tells them, once somebody has asked.
  var timer: EventLoop.Token?
  private var meter = VolumeMeter()
  private var before: [VolumeParty: SoundSums] = [:]
  private var ownBefore: SoundSums?

  mutating func set(_ options: VolumeIndication?) {
    self.options = options
    guard options == nil else { return }
    meter = VolumeMeter()
    before = [:]
    ownBefore = nil
  }

  /// One call, or one host by a relay, as it comes into a report.
  struct Source {
    var party: VolumeParty
    var sums: SoundSums
    var isMuted: Bool
    var isRemoteMuted: Bool
  }

  /// - Parameters:
  ///   - own: The own sound, where that belongs to none of the sources.
  ///   - isOwnMuted: It is not sent at present; what is measured goes on.
  mutating func report(
    _ sources: [Source], own: SoundSums? = nil, isOwnMuted: Bool = false, now: Instant
  ) -> (reports: [VolumeReport], speaker: VolumeParty?) {
    guard let options else { return ([], nil) }
    let readings = sources.map { reading($0) }
    before = Dictionary(uniqueKeysWithValues: sources.map { ($0.party, $0.sums) })
    return meter.report(
      readings, own: ownReading(own, isOwnMuted), smoothing: options.smoothing, now: now)
  }

  private mutating func ownReading(
    _ own: SoundSums?, _ isMuted: Bool
  ) -> VolumeMeter.OwnReading? {
    defer { ownBefore = own }
    guard let own, !isMuted else { return nil }
    let last = ownBefore ?? SoundSums()
    return Self.level(own.sourceEnergy - last.sourceEnergy, own.sourceSeconds - last.sourceSeconds)
      .map { VolumeMeter.OwnReading(level: $0, pitch: own.pitch) }
  }

  private func reading(_ source: Source) -> VolumeMeter.Reading {
    let last = before[source.party] ?? SoundSums()
    let sums = source.sums
    let local = Self.level(
      sums.sourceEnergy - last.sourceEnergy, sums.sourceSeconds - last.sourceSeconds)
    let remote = Self.level(
      sums.playedEnergy - last.playedEnergy, sums.playedSeconds - last.playedSeconds)
    var reading = VolumeMeter.Reading(
      party: source.party, local: source.isMuted ? nil : local, remote: remote ?? 0)
    reading.isRemoteMuted = source.isRemoteMuted
    reading.pitch = sums.pitch
    return reading
  }

  private static func level(_ energy: Double, _ seconds: Double) -> Double? {
    seconds > 0 ? max(0, energy / seconds).squareRoot() : nil
  }
}
