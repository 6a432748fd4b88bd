import Audio
import Primitives
import Testing

struct ReplayTests {
  static func lossyLine() throws -> Line {
    let seed: UInt64 = 31
    let stream = try JitterBufferTests.voice(seconds: 6)
    let lost = Chance.losses(fraction: 0.1, seed: seed, count: stream.packets.count)
    let delays = Chance.exponential(
      percentile95: 50_000_000, seed: seed, count: stream.packets.count)
    var line = Line(stream, isLost: { lost[$0] }, delay: { number, _ in delays[number] })
    line.flights += line.flights.dropFirst(2).enumerated().map { index, carrier in
      var copy = line.flights[index]
      copy.arrival = carrier.arrival
      copy.origin = .copy(steps: carrier.mediaTime &- copy.mediaTime, isLowRate: index % 2 == 0)
      return copy
    }
    return line
  }

  static func hear(_ recording: [UInt8], maximum: Int64? = nil) throws -> [Int16] {
    var replay = try ArrivalReplay(recording)
    if let maximum { replay.buffer.delayRange = 0...maximum }
    var step = [Int16](repeating: 0, count: 240)
    var heard: [Int16] = []
    while true {
      var span = step.mutableSpan
      guard try replay.pull(into: &span) else { return heard }
      heard += step
    }
  }

  @Test func `hears a call again, bit for bit`() throws {
    let outcome = try Self.lossyLine().play(records: true)
    #expect(outcome.samples.count > 200_000)
    #expect(try Self.hear(outcome.recording) == outcome.samples)
  }

  @Test func `hears it otherwise with other settings`() throws {
    let outcome = try Self.lossyLine().play(records: true)
    let other = try Self.hear(outcome.recording, maximum: 0)
    #expect(other.count == outcome.samples.count && other != outcome.samples)
  }

  @Test func `is not held up by what was cut off, and refuses what is no recording`() throws {
    let recording = try Self.lossyLine().play(records: true).recording
    #expect(throws: WireError.self) { try Self.hear([1, 2, 3]) }
    #expect(throws: WireError.self) { try Self.hear(Array(recording.prefix(1001)) + [99]) }
    var changed = recording
    changed[4] = 9
    #expect(throws: WireError.self) { try Self.hear(changed) }
  }

  @Test func `goes on where its bytes were taken away, and over a pause`() throws {
    let stream = try JitterBufferTests.voice(seconds: 2)
    var buffer = try JitterBuffer(channels: 1)
    buffer.recording = ArrivalRecording(channels: 1)
    var heard: [Int16] = []
    var taken: [UInt8] = []
    for (number, packet) in stream.packets.enumerated() {
      let now = Instant(nanoseconds: 1_000_000_000 + UInt64(number) * 20_000_000)
      buffer.insert(packet.span, mediaTime: UInt16(2 * number), arrival: now)
      for _ in 0..<2 {
        var step = [Int16](repeating: 0, count: 240)
        if number == 40 {
          buffer.recording?.pause()
        } else {
          var span = step.mutableSpan
          _ = buffer.pull(into: &span, now: now)
        }
        heard += step
      }
      taken += buffer.recording?.bytes ?? []
      buffer.recording?.removeBytes()
    }
    #expect(buffer.recording?.bytes.isEmpty == true)
    #expect(try Self.hear(taken) == heard)
  }

  @Test func `knows again what the sender left out`() throws {
    let stream = try JitterBufferTests.voice(seconds: 2)
    var buffer = try JitterBuffer(channels: 1)
    buffer.recording = ArrivalRecording(channels: 1)
    var step = [Int16](repeating: 0, count: 240)
    for (number, packet) in stream.packets.enumerated() where !(40..<60).contains(number) {
      let now = Instant(nanoseconds: 1_000_000_000 + UInt64(number) * 20_000_000)
      if number == 60 { buffer.noteUnsent(15) }
      buffer.insert(packet.span, mediaTime: UInt16(2 * number), arrival: now)
      var span = step.mutableSpan
      _ = buffer.pull(into: &span, now: now)
    }
    var replay = try ArrivalReplay(buffer.recording?.bytes ?? [])
    var isMore = true
    while isMore {
      var span = step.mutableSpan
      isMore = try replay.pull(into: &span)
    }
    #expect(buffer.statistics.fates.lost == 5)
    #expect(replay.buffer.statistics.fates == buffer.statistics.fates)
  }

  @Test func `hears each pull and pause of version 1 as two`() throws {
    var recording = try Self.lossyLine().play(records: true).recording
    let once = try Self.hear(recording).count
    recording[4] = 1
    #expect(try Self.hear(recording).count == 2 * once)
  }

  @Test func `stops at its limit`() throws {
    var buffer = try JitterBuffer(channels: 1)
    buffer.recording = ArrivalRecording(channels: 1, limit: 100)
    var step = [Int16](repeating: 0, count: 240)
    for tick in 0..<200 {
      var span = step.mutableSpan
      _ = buffer.pull(into: &span, now: Instant(nanoseconds: UInt64(tick) * 10_000_000))
    }
    let recording = buffer.recording
    #expect(recording?.isFull == true && (recording?.bytes.count ?? 0) <= 100)
  }
}
