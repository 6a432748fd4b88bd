import Audio
import Peer
import Primitives
import Reactor
import Synchronization
import Video
import Wire

@testable import Earshot

/// The media of one call of a `SimulatedProgram`: the pipeline, the encoder and the decoder of the
/// library, run in simulated time in place of their threads.
final class ProgramMedia {
  let record: CallRecord
  /// Nothing of the own audio leaves, though nobody muted it.
  var dropsAudio = false
  private let id: Wire.CallID
  private let audio: AudioRings
  private let video: VideoRings
  private var pipeline: AudioPipeline
  private var sending: VideoSending?
  private var receiving: VideoReceiving?
  private let expectation = VideoReceiving.Expectation()
  private var ticksAhead = 0
  private var nextPicture: Instant
  private let pictureInterval: Duration

  init(_ record: CallRecord, _ id: Wire.CallID, now: Instant) throws {
    self.record = record
    self.id = id
    let options = record.options
    audio = AudioRings(wake: try LoopWake())
    // What encoding takes here says nothing of a program's host.
    video = VideoRings(wake: try LoopWake()) { .zero }
    pipeline = try AudioPipeline.make(options, channels: 1, rings: audio)
    let rate = options.videoSource?.framesPerSecond ?? 30
    pictureInterval = .nanoseconds(Int64((1e9 / rate).rounded()))
    nextPicture = now
    if let source = options.videoSource {
      sending = VideoSending(source, clock: audio.sentClock, rings: video)
    }
    guard let sink = options.videoSink else { return }
    let clocks = VideoReceiving.Clocks(
      heard: audio.heardClock, recording: audio.sentClock, expects: expectation,
      hold: audio.pictureHold, turns: record.news.turns)
    receiving = VideoReceiving(sink, clocks: clocks, rings: video)
  }

  var sums: SoundSums { pipeline.sums }

  func mix(_ body: (inout AudioMixer) -> Void) { pipeline.mix(body) }

  /// Five milliseconds; what is to be told of them.
  func tick(_ machine: inout PeerMachine, now: Instant) -> [String] {
    var told = tickAudio(&machine, now).map(SimulatedProgram.text(of:))
    if let change = audio.qualityChange.withLock({ $0.take() }) {
      told.append("audio quality \(change.isBad ? "bad" : "good")")
    }
    told += tickVideo(&machine, now).map(SimulatedProgram.text(of:))
    if record.network.isDue(now: now), let line = machine.statistics(of: id)?.congestion {
      record.network.add(estimate: line.believedRate, now: now)
    }
    return told
  }

  private func tickAudio(_ machine: inout PeerMachine, _ now: Instant) -> [CallProgress] {
    audio.receive(of: id, &machine, tap: nil)
    pipeline.isMuted = record.options.startsMuted
    pipeline.isUnwanted = record.streams.isRemoteAudioUnwanted
    pipeline.isRemoteMuted = record.streams.isRemoteAudioMuted
    ticksAhead -= 1
    if ticksAhead < 0 { ticksAhead = pipeline.visit(now: now, due: now).ticksAhead }
    while dropsAudio, audio.toSend.pop({ _, _ in true }) == true {}
    var steps: [CallProgress] = []
    if audio.send(on: id, &machine, tap: nil, now: now), record.streams.awaitsAudioFrame {
      steps += record.streams.handleAudioSent(now: now)
    }
    for note in audio.notes.withLock({ $0.drain() }) { steps += record.handle(note, now: now) }
    for note in audio.takeMixing() {
      steps.append(CallProgress(note))
      if let told = note.told { machine.say(told, on: id, now: now) }
    }
    return steps
  }

  private func tickVideo(_ machine: inout PeerMachine, _ now: Instant) -> [CallProgress] {
    var steps: [CallProgress] = []
    var hasSent = false
    if sending != nil {
      if now >= nextPicture {
        sending!.tick(now: now, due: nextPicture)
        nextPicture = nextPicture + pictureInterval
      }
      hasSent = video.send(on: id, &machine, &record.videoBytes, tap: nil, now: now)
      video.setDemand(machine.videoDemand(of: id, now: now, ahead: pictureInterval))
    }
    if receiving != nil {
      let count = video.receive(
        of: id, &machine, &record.videoBytes, isWanted: !record.switches.video.isUnwanted,
        tap: nil, now: now)
      if count > 0 { steps += record.changeRemoteVideo(now: now) { $0.handleArrival() } }
      expectation.set(record.streams.expectsPictures)
      _ = receiving!.run(now: now)
    }
    for note in video.takeNotes() {
      note.inform(&machine, of: id, now: now)
      steps += record.handle(note, now: now)
    }
    if hasSent, record.streams.awaitsVideoFrame {
      steps += record.streams.handleVideoSent(now: now)
    }
    return steps
  }

  /// As `Endpoint.publishStatistics` makes them.
  func numbers(_ machine: inout PeerMachine, now: Instant) -> CallStatistics? {
    guard let link = machine.statistics(of: id) else { return nil }
    let sound = pipeline.statistics
    var numbers = CallStatistics(atMs: Int(now.nanoseconds(since: record.began) / 1_000_000))
    numbers.fill(with: link, now: now)
    numbers.complete(with: sound, bitrate: record.options.bitrate, now: now)
    numbers.fillVideo(with: link, record, now: now)
    numbers.fillVideo(
      with: link, record, video, sends: sending != nil, receives: receiving != nil, now: now)
    numbers.fillFates(with: link, sound)
    numbers.grade()
    record.takeInterval(&numbers, sound)
    record.grader.turn(&numbers, record.surroundings(numbers))
    if let grades = record.exchangeGrades(&numbers) { machine.say(grades, on: id, now: now) }
    return numbers
  }
}

/// A camera that does as it is told.
final class Stage: VideoSource {
  enum Act: Sendable { case moving, still, dark }
  struct State: Sendable {
    var width = 320
    var height = 180
    var act = Act.moving
    var rotation = VideoRotation.none
    var count = 0
  }
  let framesPerSecond: Double
  let state: Mutex<State>

  init(_ width: Int = 320, _ height: Int = 180, framesPerSecond: Double = 15) {
    self.framesPerSecond = framesPerSecond
    var first = State()
    (first.width, first.height) = (width, height)
    state = Mutex(first)
  }

  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    let now = state.withLock { state in
      if state.act == .moving { state.count += 1 }
      return state
    }
    if now.act == .dark { return .nothingNew }
    if picture.width != now.width || picture.height != now.height,
      let blank = VideoPicture(width: now.width, height: now.height)
    {
      picture = blank
    }
    picture.rotation = now.rotation
    let luma = picture.range(of: .luma)
    var bytes = picture.mutableBytes
    for index in luma {
      let column = index % now.width
      bytes[index] = column / 8 == now.count % (now.width / 8) ? 235 : UInt8(16 + column % 200)
    }
    return .picture
  }
}

/// Sees nothing.
final class Screen: VideoSink {
  let shown = Mutex(0)
  func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) {
    shown.withLock { $0 += 1 }
  }
  func finish() {}
}

/// A tone of 440 Hz, of any loudness.
final class Whistle: AudioSource {
  let channelCount = 1
  private let amplitude: Double
  private let position = Mutex(0)

  init(_ amplitude: Double = 8000) { self.amplitude = amplitude }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let start = position.withLock { position in
      defer { position += frameCount }
      return position
    }
    for index in 0..<frameCount {
      let phase = Double((start + index) % 1200) * 11 / 1200
      samples[index] = Int16(amplitude * Self.sine(phase - phase.rounded(.down)))
    }
    return frameCount
  }

  /// Of a turn of 0..<1, within 0.1 %: Bhaskara's parabola.
  private static func sine(_ turn: Double) -> Double {
    let half = turn < 0.5 ? turn * 2 : turn * 2 - 1
    let value = 16 * half * (1 - half) / (5 - 4 * half * (1 - half))
    return turn < 0.5 ? value : -value
  }
}

/// Counts how often what it hears crosses zero upwards.
final class Listener: AudioSink {
  let channelCount = 1
  private let state = Mutex((last: Int16(0), crossings: 0))

  var crossings: Int { state.withLock { $0.crossings } }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    state.withLock { state in
      for index in 0..<frameCount {
        if state.last < 0, samples[index] >= 0 { state.crossings += 1 }
        state.last = samples[index]
      }
    }
  }

  func finish() {}
}
