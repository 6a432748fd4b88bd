import Congestion
import Foundation
import MediaFiles
import Primitives
import Simulation
import Synchronization
import Testing
import Wire

@testable import Audio
@testable import Earshot
@testable import Peer
@testable import Reactor

/// Twenty milliseconds of a voice, from a file to a file, through every station of the house tour
/// with the code that ships. What one station gives is what the next one takes, but for two: the
/// queue and the header (5, 6) are tried apart, and the driver (11, 12) runs a machine of the test.
struct HouseTourTests {
  @Test func `one frame passes every station of the house tour, in its order`() throws {
    var tour = try Tour()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "earshot-tour-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }

    let voice = Self.voice()
    let played = folder.appendingPathComponent("played.wav").path
    try Self.write(voice, to: played)
    let frame = try Self.encode(played, expecting: voice, &tour)
    let flight = try Self.send(frame, &tour)
    try Self.carry(flight.datagram, &tour)
    let arrived = try flight.receive(&tour)
    #expect(arrived == frame, "what was encoded there is what is decoded here")
    let saved = folder.appendingPathComponent("saved.wav").path
    try Self.play(arrived, to: saved, &tour)
    #expect(tour.isOver, "the tour goes on after the test's last station")

    let heard = try Self.read(saved)
    // The codec's look-ahead leaves the last third of a lone frame for the next one.
    #expect(Self.likeness(voice, heard) > 0.7, "the file on the other host sounds like the first")
  }

  // MARK: - Stations 1 to 4: the media thread of the one who speaks

  private static func encode(
    _ path: String, expecting voice: [Int16], _ tour: inout Tour
  ) throws -> [UInt8] {
    let source = try FileSource(path)
    try tour.pass(1, "AudioFileReader")
    var options = CallOptions(source: source)
    options.usesFEC = false
    try tour.pass(2, "AudioSource")

    let rings = AudioRings(wake: try LoopWake())
    var pipeline = try AudioPipeline.make(options, channels: 1, rings: rings)
    pipeline.tick(now: .zero, due: .zero)
    #expect(source.given == Array(voice.prefix(960)))
    var payload: [UInt8] = []
    let label = rings.toSend.pop { bytes, label in
      for index in bytes.indices { payload.append(bytes[index]) }
      return label
    }
    var encoder = try OpusEncoder(OpusEncoder.Settings(usesForwardErrorCorrection: false))
    var expected: [UInt8] = []
    try expected.append(addingCapacity: 1275) { output in
      _ = try encoder.encode(voice.span.extracting(0..<960), into: &output)
    }
    #expect(payload == expected)
    try tour.pass(3, "OpusEncoder")
    let time = AudioLabel(try #require(label))
    #expect(time.mediaTime == 0 && time.length == .milliseconds20 && time.isMarked)
    try tour.pass(4, "AudioEngine", "AudioPipeline")
    return payload
  }

  // MARK: - Stations 5 to 10: the loop of the one who speaks

  private static func send(_ payload: [UInt8], _ tour: inout Tour) throws -> Flight {
    var queue = AudioFrameQueue(capacity: 2)
    let isQueued = queue.push(payload.span, .init(mediaTime: 7, lengthCode: 1, isMarked: true))
    #expect(isQueued)
    var waiting: [UInt8] = []
    var entry: AudioFrameQueue.Entry?
    waiting.append(addingCapacity: 1275) { output in entry = queue.pop(into: &output) }
    #expect(entry?.mediaTime == 7 && waiting == payload)
    try tour.pass(5, "AudioFrameQueue")

    let header = AudioMediaFrame(length: .milliseconds20, isMarked: true, mediaTime: 7)
    var written: [UInt8] = []
    written.append(addingCapacity: 1300) { header.write(payload.span, to: &$0) }
    #expect(written == [0b1000_1100, 7, 0] + payload)
    try tour.pass(6, "AudioMediaFrame")

    let flight = try Flight(payload, mediaTime: 7)
    #expect(flight.datagram.count == payload.count + 28)
    try tour.pass(7, "CallLink")
    let isReadable = flight.datagram.indices.contains { start in
      flight.datagram[start...].starts(with: payload.prefix(8))
    }
    #expect(!isReadable, "nothing of the sound is on the wire")
    try tour.pass(8, "Session", "PacketStream")
    #expect(flight.sentQuality().packetsSent == flight.sentBefore.packetsSent + 1)
    try tour.pass(9, "SentPacketHistory")
    #expect(flight.destination == flight.world.network.address(of: flight.bob.hostID))
    try tour.pass(10, "CallPath")
    return flight
  }

  // MARK: - Stations 11 and 12: two drivers, the kernel between them, for once the real one

  private static func carry(_ datagram: [UInt8], _ tour: inout Tour) throws {
    let loop = try EventLoop()
    let loopback = SocketAddress(v4: 127, 0, 0, 1, port: 0)
    let sender = MachineDriver(Courier(), socket: try UDPSocket(binding: loopback), on: loop)
    let receiver = MachineDriver(Courier(), socket: try UDPSocket(binding: loopback), on: loop)
    let end = try loop.addTimer { _ in loop.stop() }
    let before = SystemClock.now
    loop.setDeadline(end, before + .seconds(2))
    var arrived: Courier.Arrival?
    try receiver.start { arrival in
      arrived = arrival
      loop.stop()
    }
    try sender.start { _ in }
    sender.withMachine { machine, _ in
      machine.parcel = (datagram, DatagramPath(receiver.localAddress))
    }
    #expect(sender.statistics.sentDatagrams == 1)
    try tour.pass(11, "drain", "MachineDriver", "SocketOutlet", "flush")

    loop.run()
    let arrival = try #require(arrived, "the datagram did not arrive in 2 s")
    #expect(arrival.bytes == datagram && arrival.source == sender.localAddress)
    #expect(arrival.now >= before && arrival.now <= SystemClock.now)
    #expect(receiver.statistics.receivedDatagrams == 1)
    try tour.pass(12, "UDPSocket", "SystemClock")
    sender.stop()
    receiver.stop()
  }

  // MARK: - Stations 18 to 22: the media thread of the one who listens

  private static func play(_ payload: [UInt8], to path: String, _ tour: inout Tour) throws {
    let sink = try FileSink(path)
    let rings = AudioRings(wake: try LoopWake())
    var pipeline = try AudioPipeline.make(CallOptions(sink: sink), channels: 1, rings: rings)
    let arrival = Instant.zero + .seconds(1)
    let isTaken = rings.received.push(payload.span, SPSCRing.Label(arrival.nanoseconds, 7))
    #expect(isTaken)
    for tick in 0..<40 {
      let now = arrival + .milliseconds(5 * tick)
      pipeline.tick(now: now, due: now)
    }
    #expect(pipeline.statistics.playout.packetsReceived == 1)
    try tour.pass(18, "AudioEngine", "JitterBuffer", "PacketBuffer")
    #expect(pipeline.statistics.playout.jitterBufferEmittedCount == 960)
    try tour.pass(19, "PlayoutDecision")
    #expect(pipeline.statistics.playout.totalAudioEnergy > 0)
    try tour.pass(20, "OpusDecoder", "TimeStretch")
    pipeline.finish()
    #expect(sink.frames == 9600, "forty ticks of 5 ms, gapless")
    try tour.pass(21, "AudioSink")
    #expect(try read(path).count == 9600)
    try tour.pass(22, "AudioFileWriter")
  }
}

// MARK: - The ends

/// A machine that sends what it is given, and tells what comes.
private struct Courier: ~Copyable, DatagramMachine {
  struct Arrival: Sendable {
    let bytes: [UInt8]
    let source: SocketAddress
    let now: Instant
  }

  typealias Event = Arrival

  var parcel: (bytes: [UInt8], path: DatagramPath)?
  private var arrival: Arrival?

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    let span = bytes.span
    var copy: [UInt8] = []
    for index in span.indices { copy.append(span[index]) }
    arrival = Arrival(bytes: copy, source: source, now: now)
  }

  mutating func handleTimeout(now: Instant) {}

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard let parcel = parcel.take() else { return nil }
    for byte in parcel.bytes { packet.append(byte) }
    return parcel.path
  }

  mutating func pollEvent() -> Arrival? { arrival.take() }

  var nextDeadline: Instant? { nil }
}

/// Station 2 as an application writes it.
private final class FileSource: AudioSource {
  private struct State: ~Copyable {
    var reader: AudioFileReader
    var given: [Int16] = []
  }

  let channelCount = 1
  private let state: Mutex<State>

  init(_ path: String) throws { state = Mutex(State(reader: try AudioFileReader(path))) }

  /// What was read first.
  var given: [Int16] { state.withLock { $0.given } }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    var read = [Int16](repeating: 0, count: frameCount)
    let count = state.withLock { state in
      var span = read.mutableSpan
      let count = (try? state.reader.read(into: &span)) ?? 0
      return count
    }
    state.withLock { if $0.given.isEmpty { $0.given = Array(read.prefix(count)) } }
    samples.replaceSubrange(0..<count, with: read.prefix(count))
    return count
  }
}

/// Station 21 as an application writes it.
private final class FileSink: AudioSink {
  private struct State: ~Copyable {
    var writer: AudioFileWriter
    var frames = 0
  }

  let channelCount = 1
  private let state: Mutex<State>

  init(_ path: String) throws {
    state = Mutex(State(writer: try AudioFileWriter(path, channels: 1)))
  }

  var frames: Int { state.withLock { $0.frames } }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    let span = samples.span.extracting(0..<frameCount)
    state.withLock { state in
      state.frames += frameCount
      try? state.writer.write(span)
    }
  }

  func finish() { state.withLock { try? $0.writer.close() } }
}

extension HouseTourTests {
  /// 20 ms of something like a vowel, then silence.
  private static func voice() -> [Int16] {
    (0..<4800).map { index in
      guard index < 960 else { return 0 }
      let time = Double(index) / 48_000
      let sum = (1...8).reduce(0.0) { $0 + sin(2 * .pi * 180 * Double($1) * time) / Double($1) }
      return Int16(8000 * sum * sin(.pi * Double(index) / 960))
    }
  }

  private static func write(_ samples: [Int16], to path: String) throws {
    var writer = try AudioFileWriter(path, channels: 1)
    try writer.write(samples.span)
    try writer.close()
  }

  private static func read(_ path: String) throws -> [Int16] {
    var reader = try AudioFileReader(path)
    var samples = [Int16](repeating: 0, count: 48_000)
    var span = samples.mutableSpan
    let count = try reader.read(into: &span)
    return Array(samples.prefix(count))
  }

  /// The greatest normalised correlation of the frame with any part of what was heard.
  private static func likeness(_ voice: [Int16], _ heard: [Int16]) -> Double {
    let frame = voice.prefix(960).map(Double.init)
    let sounds = heard.map(Double.init)
    let own = frame.reduce(0) { $0 + $1 * $1 }
    var best = 0.0
    for start in 0..<max(1, sounds.count - 960) {
      let part = sounds[start..<min(start + 960, sounds.count)]
      let energy = part.reduce(0) { $0 + $1 * $1 }
      guard energy > 0 else { continue }
      let product = zip(frame, part).reduce(0) { $0 + $1.0 * $1.1 }
      best = max(best, product / (own * energy).squareRoot())
    }
    return best
  }
}
