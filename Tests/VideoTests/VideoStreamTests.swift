import Primitives
import Testing
import Video
import Wire

/// Frames of made-up bytes, as packets.
struct MadeStream {
  var sender = VideoSender()
  var pattern: TemporalPattern
  var contents: [UInt16: [UInt8]] = [:]
  private var random: RandomSource

  init(seed: UInt64 = 1, layers: Int = 1) {
    random = RandomSource(seed: seed)
    pattern = TemporalPattern(layerCount: layers)
  }

  /// Puts a frame in and takes its packets out.
  mutating func packets(
    isKeyFrame: Bool, byteCount: Int, now: Instant
  ) -> [[UInt8]] {
    add(isKeyFrame: isKeyFrame, byteCount: byteCount, now: now)
    var packets: [[UInt8]] = []
    while sender.hasFragment {
      packets.append(MadeStream.packet { _ = self.sender.pollFragment(into: &$0, now: now) })
    }
    return packets
  }

  mutating func add(isKeyFrame: Bool, byteCount: Int, now: Instant) {
    let place = pattern.place(isKeyFrame: isKeyFrame)
    pattern.advance(past: place)
    var bytes = random.bytes(byteCount)
    let kept = bytes
    let frame = EncodedFrame(
      isKeyFrame: isKeyFrame, size: PictureTests.size(64, 64), place: place, quantizer: 9,
      byteCount: byteCount)
    if let number = sender.handle(frame, bytes: &bytes, mediaTime: 7, now: now) {
      contents[number] = kept
    }
  }

  static func packet(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    [UInt8](capacity: 1200) { write(&$0) }
  }
}

extension VideoAssembler {
  /// Takes the VIDEO frame of a packet.
  mutating func take(_ packet: [UInt8], now: Instant) {
    var reader = FrameReader(packet.span)
    guard case .video(let frame, let payload)? = try? reader.next() else {
      Issue.record("a VIDEO frame")
      return
    }
    handle(frame, packet.span.bytes(at: payload), now: now)
  }

  /// All frames that can be decoded now.
  mutating func takeFrames(now: Instant) -> [(AssembledFrame, [UInt8])] {
    var frames: [(AssembledFrame, [UInt8])] = []
    var bytes: [UInt8] = []
    while let frame = poll(into: &bytes, now: now) { frames.append((frame, bytes)) }
    return frames
  }
}

@Suite struct VideoStreamTests {
  private func moment(_ milliseconds: Int) -> Instant { VideoLadderTests.moment(milliseconds) }

  @Test func `cuts a frame into even fragments`() throws {
    var stream = MadeStream()
    for (byteCount, count) in [(1, 1), (1150, 1), (1151, 2), (5000, 5), (294_400, 256)] {
      let packets = stream.packets(isKeyFrame: true, byteCount: byteCount, now: moment(1))
      #expect(packets.count == count)
      #expect(packets.allSatisfy { $0.count <= 1160 })
      #expect(Set(packets.dropLast().map(\.count)).count <= 1, "all but the last are as long")
    }
    #expect(stream.packets(isKeyFrame: true, byteCount: 294_401, now: moment(1)).isEmpty)
    #expect(stream.sender.statistics.framesDiscarded == 1)
    #expect(stream.sender.pollKeyFrame(now: moment(1)) == true, "what comes next would refer to it")
  }

  @Test func `puts frames together in any order of fragments`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    var random = RandomSource(seed: 9)
    for number in 0..<200 {
      let now = moment(33 * number)
      let packets = stream.packets(
        isKeyFrame: number == 0, byteCount: 1 + number * 37, now: now)
      for packet in packets.shuffled(using: &random) { assembler.take(packet, now: now) }
      let frames = assembler.takeFrames(now: now)
      #expect(frames.count == 1)
      #expect(frames.first?.1 == stream.contents[UInt16(number)])
      #expect(frames.first?.0.mediaTime == 7)
    }
    #expect(assembler.fragmentCount == 0)
    var expected = VideoReceiveStatistics()
    expected.packetsReceived = assembler.statistics.packetsReceived
    expected.bytesReceived = stream.contents.values.reduce(0) { $0 + $1.count }
    expected.framesReceived = 200
    expected.keyFramesReceived = 1
    expected.framesAssembledFromMultiplePackets = 168
    expected.lastPacketReceived = moment(33 * 199)
    #expect(assembler.statistics == expected)
    #expect(assembler.statistics.framesReceived == 200 && assembler.statistics.framesDropped == 0)
    #expect(assembler.statistics.nackCount == 0 && assembler.statistics.pliCount == 0)
  }

  /// Goal: whatever is lost, doubled and disordered, a frame comes out only after all that it
  /// refers to, once, in order, and byte for byte.
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `gives out only what can be decoded`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    let layers = Int(seed % 3) + 1
    var stream = MadeStream(seed: seed, layers: layers)
    var assembler = VideoAssembler()
    var shown: Set<Int> = []
    var last = -1
    var held: [[UInt8]] = []
    var references: [Int: [Int]] = [:]
    for number in 0..<600 {
      let now = moment(33 * number)
      let isKeyFrame = number == 0 || Int.random(in: 0..<60, using: &random) == 0
      let place = stream.pattern.place(isKeyFrame: isKeyFrame)
      references[number] = [place.references.base, place.references.other].filter { $0 > 0 }
        .map { number - Int($0) }
      held += stream.packets(
        isKeyFrame: isKeyFrame, byteCount: Int.random(in: 1...6000, using: &random), now: now)
      while held.count > 6 {
        let packet = held.remove(at: Int.random(in: 0..<4, using: &random))
        let chance = Int.random(in: 0..<100, using: &random)
        if chance >= 1 { assembler.take(packet, now: now) }
        if chance >= 97 { assembler.take(packet, now: now) }
      }
      for (frame, bytes) in assembler.takeFrames(now: now) {
        let taken = Int(frame.number)
        #expect(taken > last)
        #expect(references[taken, default: []].allSatisfy(shown.contains), "seed \(seed)")
        #expect(bytes == stream.contents[frame.number])
        shown.insert(taken)
        last = taken
      }
      #expect(assembler.fragmentCount <= VideoLimits.fragments)
    }
    #expect(shown.count > 60)
    #expect(assembler.statistics.packetsDiscarded > 0)
  }

  @Test func `asks for what is missing and gets it once a round trip`() throws {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    assembler.roundTrip = .milliseconds(40)
    for packet in stream.packets(isKeyFrame: true, byteCount: 4000, now: moment(0)) {
      assembler.take(packet, now: moment(0))
    }
    let packets = stream.packets(isKeyFrame: false, byteCount: 5000, now: moment(33))
    for (index, packet) in packets.enumerated() where ![1, 2, 4].contains(index) {
      assembler.take(packet, now: moment(33))
    }
    #expect(assembler.takeFrames(now: moment(33)).count == 1)
    var request = MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: moment(34)) }
    #expect(request.isEmpty, "another way may just take longer")
    #expect(assembler.nextDeadline == moment(43))
    request = MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: moment(43)) }
    // The end of the newest frame may still be on its way.
    #expect(request == [13, 0b1000, 1, 0, 1, 1, 0, 1, 2])
    var reader = FrameReader(request.span)
    guard case .videoNack(let nack)? = try reader.next() else {
      Issue.record("a VIDEO_NACK")
      return
    }
    for _ in 0..<2 {
      stream.sender.handle(
        nack, in: request.span, roundTrip: .milliseconds(40), now: moment(80))
    }
    for _ in 0..<2 {
      let again = MadeStream.packet {
        _ = stream.sender.pollRetransmission(into: &$0, now: moment(80))
      }
      assembler.take(again, now: moment(100))
    }
    #expect(!stream.sender.hasRetransmission, "asked for twice, sent once")
    assembler.take(packets[4], now: moment(101))
    #expect(assembler.takeFrames(now: moment(101)).first?.1 == stream.contents[1])
    #expect(assembler.statistics.retransmittedPacketsReceived == 2)
    #expect(stream.sender.statistics.retransmittedPacketsSent == 2)
  }

  @Test func `a fragment repeated unasked takes the place of one that was lost`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    let packets = stream.packets(isKeyFrame: true, byteCount: 3_000, now: moment(0))
    for packet in packets.dropFirst() { assembler.take(packet, now: moment(20)) }
    #expect(assembler.takeFrames(now: moment(20)).isEmpty)
    var repeated = 0
    while true {
      let packet = MadeStream.packet {
        _ = stream.sender.pollRepetition(into: &$0, now: moment(5))
      }
      if packet.isEmpty { break }
      assembler.take(packet, now: moment(25))
      repeated += 1
    }
    #expect(repeated == packets.count && repeated == 3)
    #expect(assembler.takeFrames(now: moment(25)).first?.1 == stream.contents[0])
    #expect(assembler.statistics.packetsLost == 1)
    #expect(assembler.statistics.packetsRecoveredByRetransmission == 1)
    #expect(stream.sender.statistics.repeatedPacketsSent == 3)
    #expect(stream.sender.statistics.packetsSent == 3)
    // What was never sent goes before.
    stream.add(isKeyFrame: false, byteCount: 900, now: moment(33))
    let none = MadeStream.packet { _ = stream.sender.pollRepetition(into: &$0, now: moment(33)) }
    #expect(none.isEmpty)
  }

  @Test func `asks for a key frame when nothing else helps`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    assembler.roundTrip = .milliseconds(40)
    var requests = 0
    for number in 0..<40 {
      let now = moment(33 * number)
      for packet in stream.packets(isKeyFrame: number == 0, byteCount: 900, now: now)
      where number != 3 { assembler.take(packet, now: now) }
      _ = assembler.takeFrames(now: now)
      let request = MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: now) }
      if request.count > 1, request[1] & 4 != 0 { requests += 1 }
    }
    #expect(assembler.statistics.framesReceived == 39 && requests >= 1 && requests <= 4)
    let now = moment(2000)
    for packet in stream.packets(isKeyFrame: true, byteCount: 900, now: now) {
      assembler.take(packet, now: now)
    }
    #expect(assembler.takeFrames(now: moment(2020)).map(\.0.isKeyFrame) == [true])
    #expect(assembler.statistics.framesDropped == 37 && assembler.statistics.packetsLost == 1)
  }

  @Test func `packets that never came are counted when their frame is passed by`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    for number in 0..<3 {
      let packets = stream.packets(
        isKeyFrame: number != 1, byteCount: 3000, now: moment(33 * number))
      #expect(packets.count > 2)
      for packet in number == 1 ? packets.dropLast(2) : packets[...] {
        assembler.take(packet, now: moment(33 * number))
      }
    }
    #expect(assembler.statistics.packetsLost == 0, "they may still come")
    #expect(assembler.takeFrames(now: moment(500)).map(\.0.number) == [0, 2])
    #expect(assembler.statistics.packetsLost == 2 && assembler.statistics.framesDropped == 1)
  }

  @Test func `what a sender left out as it stopped is not lost`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    for number in 0..<7 {
      let packets = stream.packets(
        isKeyFrame: number == 0 || number == 4, byteCount: 3000, now: moment(33 * number))
      switch number {
      // Muted in the midst of one; two more waited.
      case 1:
        for packet in packets.dropLast(2) { assembler.take(packet, now: moment(33)) }
        assembler.handlePause()
      case 2, 3: break
      // What is missing of this one is lost.
      case 5: for packet in packets.dropLast() { assembler.take(packet, now: moment(165)) }
      default: for packet in packets { assembler.take(packet, now: moment(33 * number)) }
      }
    }
    let frames = assembler.takeFrames(now: moment(500)).map(\.0.number)
    #expect(frames.starts(with: [0, 4]), "\(frames)")
    for packet in stream.packets(isKeyFrame: true, byteCount: 900, now: moment(600)) {
      assembler.take(packet, now: moment(600))
    }
    #expect(assembler.takeFrames(now: moment(900)).last?.0.number == 7)
    #expect(assembler.statistics.packetsLost == 1)
  }

  /// Found by fuzzing, which took it for one frame twice.
  @Test func `after all numbers have gone round the same number is another frame`() {
    var assembler = VideoAssembler()
    let bytes: [UInt8] = [1, 2]
    var numbers: [UInt16] = []
    for (time, number) in [5, 30_005, 60_005, 5].enumerated() {
      let frame = VideoMediaFrame(
        number: UInt16(number), mediaTime: 0, isKeyFrame: true, temporalLayer: 0,
        references: (0, 0))
      assembler.handle(frame, bytes.span, now: moment(time * 100))
      numbers += assembler.takeFrames(now: moment(time * 100 + 50)).map(\.0.number)
    }
    #expect(numbers == [5, 30_005, 60_005, 5])
  }

  @Test func `a lost frame of an upper layer holds nothing up for long`() {
    var stream = MadeStream(layers: 2)
    var assembler = VideoAssembler()
    assembler.roundTrip = .milliseconds(200)
    var times: [Int] = []
    for number in 0..<20 {
      let packets = stream.packets(
        isKeyFrame: number == 0, byteCount: 900, now: moment(33 * number))
      if number != 5 {
        for packet in packets { assembler.take(packet, now: moment(33 * number)) }
      }
      for time in (33 * number)..<(33 * number + 33) {
        let count = assembler.takeFrames(now: moment(time)).count
        times += Array(repeating: time, count: count)
      }
    }
    #expect(times.count == 19)
    #expect(times[5] - 33 * 6 == 10)
    #expect(assembler.statistics.pliCount == 0)
  }

  @Test func `when a packet came last is known, also of one that is not needed`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    #expect(assembler.statistics.lastPacketReceived == nil)
    let packets = stream.packets(isKeyFrame: true, byteCount: 900, now: moment(0))
    for time in [20, 70] {
      for packet in packets { assembler.take(packet, now: moment(time)) }
      #expect(assembler.statistics.lastPacketReceived == moment(time))
    }
    #expect(assembler.statistics.packetsDiscarded == packets.count)
  }

  @Test func `a reset after a leap keeps nothing and wants a key frame`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    for number in 0..<100 {
      let packets = stream.packets(
        isKeyFrame: number == 0 || number == 90, byteCount: 2000, now: moment(number))
      if number == 0 || number == 80 || number == 90 {
        for packet in packets { assembler.take(packet, now: moment(number)) }
      }
      _ = assembler.takeFrames(now: moment(number))
    }
    #expect(assembler.statistics.resetCount == 1)
    #expect(assembler.takeFrames(now: moment(500)).map(\.0.number) == [90])
    assembler.handleDecodeFailure(now: moment(501))
    let packet = MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: moment(501)) }
    #expect(packet.count == 5 && packet[1] & 4 != 0)
  }

  @Test func `what waits too long is left out, and a key frame follows`() {
    var stream = MadeStream()
    stream.add(isKeyFrame: true, byteCount: 3000, now: moment(0))
    _ = MadeStream.packet { _ = stream.sender.pollFragment(into: &$0, now: moment(0)) }
    stream.add(isKeyFrame: false, byteCount: 3000, now: moment(33))
    #expect(stream.sender.queuedByteCount == 5000)
    #expect(stream.sender.queueDelay(now: moment(100)) == .milliseconds(100))
    // The one that was begun goes on; the other is left out.
    for _ in 0..<2 {
      _ = MadeStream.packet { _ = stream.sender.pollFragment(into: &$0, now: moment(600)) }
    }
    let none = MadeStream.packet { _ = stream.sender.pollFragment(into: &$0, now: moment(600)) }
    #expect(none.isEmpty && stream.sender.statistics.framesDiscarded == 1)
    #expect(stream.sender.pollKeyFrame(now: moment(600)) == true)
    stream.add(isKeyFrame: false, byteCount: 3000, now: moment(633))
    #expect(!stream.sender.hasFragment, "it would refer to what was left out")
    stream.add(isKeyFrame: true, byteCount: 3000, now: moment(666))
    #expect(stream.sender.hasFragment)
    #expect(stream.sender.pollKeyFrame(now: moment(667)) == false)
  }

  @Test func `a queue of retransmissions is first in, first out, and bounded`() {
    var stream = MadeStream()
    let count = stream.packets(isKeyFrame: true, byteCount: 294_400, now: moment(0)).count
    #expect(count == VideoLimits.retransmissions)
    _ = stream.packets(isKeyFrame: false, byteCount: 20_000, now: moment(1))
    let entries = [
      VideoNackFrame.Entry(number: 0, first: 0, last: 255),
      VideoNackFrame.Entry(number: 1, first: 0, last: 255),
    ]
    let request = MadeStream.packet {
      VideoNackFrame.write(wantsKeyFrame: false, newest: 1, entries: entries.span, to: &$0)
    }
    var reader = FrameReader(request.span)
    guard case .videoNack(let nack)? = try? reader.next() else {
      Issue.record("a VIDEO_NACK")
      return
    }
    stream.sender.handle(nack, in: request.span, roundTrip: .milliseconds(50), now: moment(100))
    var sent = 0
    while stream.sender.hasRetransmission {
      let packet = MadeStream.packet {
        _ = stream.sender.pollRetransmission(into: &$0, now: moment(101))
      }
      #expect(packet[8] == UInt8(sent))
      sent += 1
    }
    #expect(sent == VideoLimits.retransmissions)
    #expect(stream.sender.statistics.nackCount == 1)
  }
}
