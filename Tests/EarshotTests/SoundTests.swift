import Foundation
import Primitives
import Testing

@testable import Earshot

/// How loud, how high, and what is mixed in: scenarios 38 and 40.
@Suite struct VolumeMeterTests {
  private var meter = VolumeMeter()
  private var now = Instant(nanoseconds: 1_000_000_000)

  private static func call(_ number: UInt8) -> CallID {
    CallID(bytes: Array(repeating: number, count: 16))
  }

  private mutating func report(
    local: Double?, _ remotes: [Double?], smoothing: Int = 0
  ) -> (reports: [VolumeReport], speaker: VolumeParty?) {
    now = now + .milliseconds(200)
    var readings: [VolumeMeter.Reading] = []
    for (index, level) in remotes.enumerated() {
      var reading = VolumeMeter.Reading(
        party: .call(Self.call(UInt8(index + 1))), local: local, remote: level ?? 0)
      reading.isRemoteMuted = level == nil
      readings.append(reading)
    }
    return meter.report(readings, smoothing: smoothing, now: now)
  }

  @Test mutating func `at most the three loudest, in order, and the own apart`() throws {
    let told = report(local: 0.1, [0.01, 0.2, 0.05, 0.1, 0.001]).reports
    #expect(told.count == 2)
    let own = try #require(told.first)
    #expect(own.isLocal && own.speakers.count == 1 && own.speakers[0].call == nil)
    let others = try #require(told.last)
    #expect(others.speakers.map(\.call) == [2, 4, 3].map { Self.call($0) })
    #expect(others.totalVolume >= others.speakers[0].volume)
  }

  @Test mutating func `full scale is 255, silence 0`() throws {
    let loud = report(local: 0.5.squareRoot(), [1, 0]).reports
    #expect(loud.map(\.speakers[0].volume) == [255, 255])
    #expect(loud[1].speakers[1].volume == 0)
    #expect(VolumeMeter.volume(1e-9) == 0)
  }

  @Test mutating func `the own report stops at once, a muted one's after 20 s`() {
    #expect(report(local: 0.1, [0.1]).reports.count == 2)
    #expect(report(local: nil, [0.1]).reports.map(\.isLocal) == [false])
    var reports = 0
    for _ in 0..<150 { reports += report(local: nil, [nil]).reports.count }
    #expect(reports == 100)
    #expect(report(local: nil, [0.1]).reports.count == 1)
    #expect(
      report(local: nil, []).reports == [
        VolumeReport(isLocal: false, speakers: [], totalVolume: 0)
      ])
  }

  @Test mutating func `who speaks most is told when it changes, and never of one alone`() {
    for _ in 0..<50 { #expect(report(local: nil, [0.3]).speaker == nil) }
    var speakers: [VolumeParty] = []
    for _ in 0..<20 {
      if let one = report(local: nil, [0.3, 0.1]).speaker { speakers.append(one) }
    }
    for _ in 0..<20 {
      if let one = report(local: nil, [0.1, 0.3]).speaker { speakers.append(one) }
    }
    for _ in 0..<20 { if let one = report(local: nil, [0, 0]).speaker { speakers.append(one) } }
    #expect(speakers == [.call(Self.call(1)), .call(Self.call(2))])
  }

  @Test mutating func `hosts by a relay are told by their uids, beside the own sound`() throws {
    var speakers: [VolumeParty] = []
    var reports: [VolumeReport] = []
    for index in 0..<20 {
      now = now + .milliseconds(200)
      let readings = [7, 9].map { uid in
        VolumeMeter.Reading(party: .member(uid), local: nil, remote: uid == 9 ? 0.3 : 0.1)
      }
      let own = index < 19 ? VolumeMeter.OwnReading(level: 0.2, pitch: 110) : nil
      let told = meter.report(readings, own: own, smoothing: 0, now: now)
      reports = told.reports
      if index == 18 { #expect(reports.map(\.isLocal) == [true, false]) }
      if let speaker = told.speaker { speakers.append(speaker) }
    }
    #expect(speakers == [.member(9)] && reports.map(\.isLocal) == [false])
    #expect(reports[0].speakers.map(\.uid) == [9, 7])
    #expect(reports[0].speakers.allSatisfy { $0.call == nil })
  }

  /// Goal: after a mute the own level is that since the report before, not since the beginning.
  @Test func `the own sound by a relay is measured through a mute`() {
    var teller = VolumeTeller()
    teller.set(VolumeIndication(smoothing: 0))
    var sums = SoundSums()
    var volumes: [Int] = []
    for index in 0..<6 {
      // Loud first, and soft from the mute on.
      sums.sourceEnergy += (index < 2 ? 0.1 : 1e-5) * 0.2
      sums.sourceSeconds += 0.2
      let told = teller.report(
        [], own: sums, isOwnMuted: index == 2 || index == 3,
        now: Instant(nanoseconds: UInt64(index + 1) * 200_000_000))
      let own = told.reports.first { $0.isLocal }
      volumes.append(own?.totalVolume ?? -1)
    }
    #expect(volumes[0] == volumes[1] && volumes[2...3] == [-1, -1])
    #expect(volumes[4] == volumes[5] && volumes[4] < volumes[0] / 2 + 20)
  }

  @Test mutating func `smoothing makes steps smaller`() throws {
    let first = try #require(report(local: nil, [1], smoothing: 3).reports.first)
    #expect((60...68).contains(first.speakers[0].volume))
    let second = try #require(report(local: nil, [1], smoothing: 3).reports.first)
    #expect(second.speakers[0].volume > first.speakers[0].volume)
  }

  @Test func `speech is louder than the noise before it`() {
    var voice = VoiceActivity()
    let noise = (0..<50).map { _ in voice.handle(0.001) }
    #expect(!noise.contains(true))
    let word = [0.05, 0.001, 0.001].map { voice.handle($0) }
    #expect(word == [true, true, false])
    // A steady hum is no voice for long.
    let hum = (0..<200).map { _ in voice.handle(0.02) }
    #expect(hum.first == true && hum.last == false)
  }
}

@Suite struct PitchMeterTests {
  private static func tone(_ hertz: Double, channels: Int = 1) -> [Int16] {
    (0..<(9600 * channels)).map { index in
      let time = Double(index / channels) / 48_000
      let value = sin(2 * .pi * hertz * time) + 0.5 * sin(4 * .pi * hertz * time)
      return Int16(value * 8000)
    }
  }

  private static func pitch(_ samples: [Int16], channels: Int = 1) -> Double {
    var meter = PitchMeter()
    for start in stride(from: 0, to: samples.count, by: 960 * channels) {
      let frame = Array(samples[start..<min(start + 960 * channels, samples.count)])
      meter.handle(frame.span, frameCount: frame.count / channels, channels: channels)
    }
    return meter.pitch
  }

  @Test(arguments: [80.0, 120, 220, 440])
  func `the pitch of a voice is found`(hertz: Double) {
    #expect(abs(Self.pitch(Self.tone(hertz)) - hertz) < hertz * 0.03)
    #expect(abs(Self.pitch(Self.tone(hertz, channels: 2), channels: 2) - hertz) < hertz * 0.03)
  }

  @Test func `noise and silence have none`() {
    #expect(Self.pitch(Array(repeating: 0, count: 9600)) == 0)
    var random = RandomSource(seed: 3)
    let noise = (0..<9600).map { _ in Int16(truncatingIfNeeded: random.next()) / 4 }
    #expect(Self.pitch(noise) == 0)
    var meter = PitchMeter()
    meter.handle([1, 2].span, frameCount: 100, channels: 1)
    #expect(meter.pitch == 0)
  }
}

@Suite struct AudioMixerTests {
  private var mixer = AudioMixer()

  private static func clip(_ count: Int, _ value: Int16 = 100, channels: Int = 1) throws
    -> AudioClip
  {
    try #require(
      AudioClip(samples: Array(repeating: value, count: count * channels), channelCount: channels))
  }

  private mutating func mix(_ count: Int, base: Int16 = 0, channels: Int = 1) -> [Int16] {
    var samples = Array(repeating: base, count: count * channels)
    mixer.mix(into: &samples, frameCount: count, channels: channels)
    return samples
  }

  private mutating func told() -> [String] {
    mixer.takeNotes().map { note in
      switch note {
      case .music(let change): "\(change.state), \(change.reason)"
      case .effectEnded(let id): "effect \(id)"
      }
    }
  }

  @Test mutating func `two rounds, with what is told of them`() throws {
    mixer.start(try Self.clip(10), AudioMixingOptions(loops: 2))
    #expect(mix(15, base: 1).allSatisfy { $0 == 101 })
    #expect(mixer.position == .nanoseconds(5 * 1_000_000_000 / 48_000))
    #expect(mix(10).filter { $0 != 0 }.count == 5)
    #expect(
      told() == [
        "playing, startedByUser", "playing, oneLoopCompleted", "playing, startNewLoop",
        "stopped, allLoopsCompleted",
      ])
    #expect(!mixer.isPlayingMusic && mixer.position == nil)
  }

  @Test mutating func `it pauses, resumes, seeks and stops`() throws {
    mixer.start(try Self.clip(4800), AudioMixingOptions(position: .milliseconds(50)))
    #expect(mixer.position == .milliseconds(50))
    mixer.pause()
    #expect(mix(10).allSatisfy { $0 == 0 } && mixer.position == .milliseconds(50))
    mixer.pause()
    mixer.resume()
    mixer.seek(to: .milliseconds(10))
    mixer.setVolume(sent: 50, heard: nil)
    #expect(mix(48).allSatisfy { $0 == 50 } && mixer.position == .milliseconds(11))
    mixer.stop()
    mixer.stop()
    #expect(
      told() == [
        "playing, startedByUser", "paused, pausedByUser", "playing, resumedByUser",
        "stopped, stoppedByUser",
      ])
  }

  @Test mutating func `it replaces the source, and is heard here`() throws {
    let options = AudioMixingOptions(loops: nil, replacesSource: true)
    mixer.start(try Self.clip(10, 300, channels: 2), options)
    #expect(mix(20, base: 7, channels: 2).allSatisfy { $0 == 300 })
    var here = Array(repeating: Int16(1), count: 30)
    mixer.mixHeard(into: &here, frameCount: 30, channels: 1)
    #expect(here.prefix(20).allSatisfy { $0 == 301 } && here.suffix(10).allSatisfy { $0 == 1 })
    mixer.start(try Self.clip(10), AudioMixingOptions(isHeardHere: false))
    _ = mix(5)
    mixer.mixHeard(into: &here, frameCount: 5, channels: 1)
    #expect(here[0] == 301)
  }

  @Test mutating func `effects play over each other, and end once`() throws {
    let isPlaying = mixer.play(effect: 1, try Self.clip(5, 10), loops: 1, volume: 100)
    #expect(isPlaying)
    _ = mixer.play(effect: 2, try Self.clip(5, 1000), loops: 2, volume: 200)
    #expect(mix(12) == [2010, 2010, 2010, 2010, 2010, 2000, 2000, 2000, 2000, 2000, 0, 0])
    #expect(told() == ["effect 1", "effect 2"])
    for id in 0..<UInt32(AudioMixer.mostEffects) {
      let isTaken = mixer.play(effect: id, try Self.clip(5), loops: nil, volume: 100)
      #expect(isTaken)
    }
    let isOneTooMany = mixer.play(effect: 99, try Self.clip(5), loops: nil, volume: 100)
    #expect(!isOneTooMany)
    mixer.stopEffects()
    #expect(mix(3) == [0, 0, 0])
  }

  @Test mutating func `loud is cut off at full scale, and what nobody takes is bounded`() throws {
    mixer.start(try Self.clip(100_000, 30_000), AudioMixingOptions(volume: 400))
    #expect(mix(100, base: 30_000).allSatisfy { $0 == 32_767 })
    for _ in 0..<20 { _ = mix(960) }
    var here = Array(repeating: Int16(0), count: 20_000)
    mixer.mixHeard(into: &here, frameCount: 20_000, channels: 1)
    #expect(here.filter { $0 != 0 }.count <= 9600)
  }

  @Test func `a clip has one or two channels and something in them`() throws {
    #expect(AudioClip(samples: [], channelCount: 1) == nil)
    #expect(AudioClip(samples: [1, 2, 3], channelCount: 2) == nil)
    #expect(AudioClip(samples: [1], channelCount: 3) == nil)
    #expect(try Self.clip(480).duration == .milliseconds(10))
  }
}
