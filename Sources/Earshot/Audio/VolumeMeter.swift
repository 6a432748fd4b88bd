internal import Glibc
internal import Primitives

/// Whose sound a volume is: of the other side of a call, or of a host that is heard by a relay.
enum VolumeParty: Hashable, Comparable, Sendable {
  case call(CallID)
  case member(UInt32)

  var call: CallID? { if case .call(let call) = self { call } else { nil } }
  var uid: UInt32? { if case .member(let uid) = self { uid } else { nil } }

  static func < (left: VolumeParty, right: VolumeParty) -> Bool {
    switch (left, right) {
    case (.call(let one), .call(let other)): one.bytes.lexicographicallyPrecedes(other.bytes)
    case (.member(let one), .member(let other)): one < other
    case (.call, .member): true
    case (.member, .call): false
    }
  }
}

/// How loud each side of each call is, from what they sounded like since the last report; and who
/// speaks most. Pure.
struct VolumeMeter {
  /// What one of them sounded like since the report before.
  struct Reading {
    var party: VolumeParty
    /// Root mean square, 0...1, of the own source; `nil` while nothing is captured.
    var local: Double?
    /// Of the other side.
    var remote: Double
    var isRemoteMuted = false
    /// Of the own voice, in hertz; 0 where there is none.
    var pitch = 0.0
  }

  /// What the own side sounded like, where that belongs to none of the others.
  struct OwnReading {
    /// Root mean square, 0...1.
    var level: Double
    /// In hertz.
    var pitch: Double
  }

  private var smoothed: [VolumeParty: Double] = [:]
  private var smoothedLocal = 0.0
  private var mutedSince: [VolumeParty: Instant] = [:]
  private var voice = VoiceActivity()
  /// How often each was the loudest in the present period, and when that began.
  private var wins: [VolumeParty: Int] = [:]
  private var period: Instant?
  private var speaker: VolumeParty?

  /// - Parameters:
  ///   - readings: Of all calls with media, or of all hosts that are heard.
  ///   - own: The own sound, where it is not in them.
  ///   - smoothing: 0...10; how many reports back the one before counts.
  mutating func report(
    _ readings: [Reading], own: OwnReading? = nil, smoothing: Int, now: Instant
  ) -> (reports: [VolumeReport], speaker: VolumeParty?) {
    let weight = Double(min(max(smoothing, 0), 10))
    var reports: [VolumeReport] = []
    if let local = local(readings, own, weight) { reports.append(local) }
    if let remote = remote(readings, weight, now: now) { reports.append(remote) }
    let ids = Set(readings.map(\.party))
    smoothed = smoothed.filter { ids.contains($0.key) }
    mutedSince = mutedSince.filter { ids.contains($0.key) }
    return (reports, activeSpeaker(readings, now: now))
  }

  private mutating func local(
    _ readings: [Reading], _ own: OwnReading?, _ weight: Double
  ) -> VolumeReport? {
    let levels = readings.compactMap(\.local) + [own?.level].compactMap(\.self)
    guard let level = levels.max() else {
      smoothedLocal = 0
      return nil
    }
    smoothedLocal = Self.smooth(smoothedLocal, Self.volume(level), weight)
    let isVoice = voice.handle(level)
    let pitch = max(readings.map(\.pitch).max() ?? 0, own?.pitch ?? 0)
    let own = SpeakerVolume(
      call: nil, volume: Int(smoothedLocal.rounded()), isVoice: isVoice,
      pitchHz: isVoice ? pitch : 0)
    return VolumeReport(isLocal: true, speakers: [own], totalVolume: own.volume)
  }

  /// The three loudest. One that is muted counts for 20 s more; when all are, so does the report.
  private mutating func remote(
    _ readings: [Reading], _ weight: Double, now: Instant
  ) -> VolumeReport? {
    var speakers: [(party: VolumeParty, volume: SpeakerVolume)] = []
    var energy = 0.0
    var isSilenced = !readings.isEmpty
    for reading in readings {
      if reading.isRemoteMuted {
        let since = mutedSince[reading.party] ?? now
        mutedSince[reading.party] = since
        if now - since >= Self.mutedStay { continue }
      } else {
        mutedSince[reading.party] = nil
      }
      isSilenced = false
      let level = reading.isRemoteMuted ? 0 : reading.remote
      let volume = Self.smooth(smoothed[reading.party] ?? 0, Self.volume(level), weight)
      smoothed[reading.party] = volume
      energy += level * level
      let told = SpeakerVolume(
        call: reading.party.call, uid: reading.party.uid, volume: Int(volume.rounded()),
        isVoice: true)
      speakers.append((reading.party, told))
    }
    guard !isSilenced else { return nil }
    speakers.sort { left, right in
      left.volume.volume == right.volume.volume
        ? left.party < right.party : left.volume.volume > right.volume.volume
    }
    return VolumeReport(
      isLocal: false, speakers: speakers.prefix(Self.mostSpeakers).map(\.volume),
      totalVolume: Int(Self.volume(energy.squareRoot()).rounded()))
  }

  /// Who was the loudest most often in the last period, when that is somebody else than before;
  /// with one other side there is nothing to tell.
  private mutating func activeSpeaker(_ readings: [Reading], now: Instant) -> VolumeParty? {
    guard readings.count >= 2 else {
      wins = [:]
      period = nil
      return nil
    }
    let loudest = readings.filter {
      !$0.isRemoteMuted && Self.volume($0.remote) >= Self.leastSpeech
    }
    .max { $0.remote < $1.remote }
    if let loudest { wins[loudest.party, default: 0] += 1 }
    let began = period ?? now
    period = began
    guard now - began >= Self.speakerPeriod else { return nil }
    period = now
    let winner = wins.max { left, right in
      left.value == right.value
        ? right.key < left.key : left.value < right.value
    }?.key
    wins = [:]
    guard let winner, winner != speaker else { return nil }
    speaker = winner
    return winner
  }

  private static func smooth(_ before: Double, _ new: Double, _ weight: Double) -> Double {
    (before * weight + new) / (weight + 1)
  }

  /// 0...255 over the 60 dB below a sine at full scale: loudness is heard by its logarithm.
  static func volume(_ level: Double) -> Double {
    guard level > 0 else { return 0 }
    let decibels = 20 * log10(level * 2.0.squareRoot())
    return min(max((decibels + range) / range, 0), 1) * 255
  }

  private static let range = 60.0
  private static let mostSpeakers = 3
  private static let mutedStay = Duration.seconds(20)
  private static let speakerPeriod = Duration.seconds(1)
  /// -45 dB: what is softer is no speech.
  private static let leastSpeech = 64.0
}

/// Whether somebody speaks, from one level after the other: louder than the noise of late, and not
/// near silence. Pure.
struct VoiceActivity {
  private var noise = 1.0
  private var held = 0

  /// - Parameter level: root mean square, 0...1.
  mutating func handle(_ level: Double) -> Bool {
    // Down at once, up by a fiftieth each time: pauses set it, speech hardly moves it.
    noise = min(level, noise * Self.rise + Self.leastNoise)
    let isLoud = level > Self.least && level > noise * Self.factor
    held = isLoud ? Self.hold : max(0, held - 1)
    return held > 0
  }

  private static let rise = 1.02
  private static let leastNoise = 1e-6
  /// -50 dB.
  private static let least = 0.003
  /// 8 dB above the noise.
  private static let factor = 2.5
  /// Reports in which a word is not cut.
  private static let hold = 2
}
