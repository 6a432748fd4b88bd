import Primitives
import Testing
import Wire

@testable import Video

/// What parity brings back, and how much of it there is (docs/decisions/0019).
@Suite struct ParityTests {
  private func moment(_ milliseconds: Int) -> Instant { VideoLadderTests.moment(milliseconds) }

  private static func lossy(_ loss: Double, _ roundTrip: Int, run: Double = 1) -> ParityPolicy {
    var policy = ParityPolicy()
    policy.update(.init(loss: loss, run: run, roundTrip: .milliseconds(Int64(roundTrip))))
    return policy
  }

  private static func count(_ policy: ParityPolicy, _ fragments: Int, layer: UInt8 = 0) -> Int {
    var policy = policy
    return policy.count(
      fragments: fragments, byteCount: fragments * 1000, isKeyFrame: false, temporalLayer: layer)
  }

  private static func isParity(_ packet: [UInt8]) -> Bool { packet[1] & 0x40 != 0 }

  // MARK: - The field and the code

  /// Method: every product, against multiplication bit by bit.
  @Test func `the field multiplies as its polynomial says`() {
    for left in 0..<256 {
      let multiply = GaloisMultiplier(UInt8(left))
      for right in 0..<256 {
        var (sum, shifted) = (0, left)
        for bit in 0..<8 {
          if right >> bit & 1 == 1 { sum ^= shifted }
          shifted = shifted << 1 > 255 ? shifted << 1 ^ 0x11D : shifted << 1
        }
        #expect(GaloisField.product(UInt8(left), UInt8(right)) == UInt8(sum))
        #expect(multiply(UInt8(right)) == UInt8(sum))
      }
      let inverse = GaloisField.inverse(UInt8(left))
      #expect(GaloisField.product(UInt8(left), inverse) == (left == 0 ? 0 : 1))
    }
  }

  @Test func `the first parity is the sum, and no factor is zero`() {
    for fragment in 0..<VideoMediaFrame.maximumProtectedCount {
      #expect(ParityCode.factor(parity: 0, fragment: fragment) == 1)
      for parity in 1..<VideoMediaFrame.maximumParityCount {
        #expect(ParityCode.factor(parity: parity, fragment: fragment) != 0)
      }
    }
  }

  /// Goal: any fragments may be missing, as many as parity came. Method: frames of any length, of
  /// whose packets chance leaves exactly as many as the frame has fragments, in any order.
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `as many packets as fragments are the frame`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var stream = MadeStream(seed: seed)
    var assembler = VideoAssembler()
    stream.sender.parity.update(.init(loss: 0.3, run: 1, roundTrip: .milliseconds(300)))
    for number in 0..<30 {
      stream.sender.mostFragmentByteCount = Int.random(in: 50...1150, using: &random)
      let byteCount = Int.random(in: 1...9000, using: &random)
      let now = moment(33 * number)
      var packets = stream.packets(isKeyFrame: number == 0, byteCount: byteCount, now: now)
      let parity = packets.filter(Self.isParity).count
      #expect(parity > 0)
      packets.shuffle(using: &random)
      for packet in packets.dropFirst(parity) { assembler.take(packet, now: now) }
      let frames = assembler.takeFrames(now: now)
      #expect(frames.map(\.1) == [stream.contents[UInt16(number)]], "frame \(number)")
      #expect(frames.first?.0.byteCount == byteCount && frames.first?.0.mediaTime == 7)
    }
    #expect(assembler.fragmentCount == 0 && assembler.statistics.framesRecovered > 20)
    #expect(assembler.statistics.fecPacketsReceived > 0)
    #expect(stream.sender.statistics.fecPacketsSent > stream.sender.statistics.framesSent)
  }

  @Test func `the largest frame that has parity comes back, a larger one has none`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    stream.sender.parity.update(.init(loss: 0.05, run: 1, roundTrip: .milliseconds(300)))
    let packets = stream.packets(isKeyFrame: true, byteCount: 224 * 1150, now: moment(0))
    let parity = packets.filter(Self.isParity).count
    #expect(packets.count == 224 + parity && parity > 20)
    #expect(packets.allSatisfy { $0.count <= 1162 })
    for packet in packets.dropFirst(parity) { assembler.take(packet, now: moment(0)) }
    #expect(assembler.takeFrames(now: moment(0)).map(\.1) == [stream.contents[0]])
    #expect(assembler.statistics.framesRecovered == 1 && assembler.fragmentCount == 0)
    let counts = assembler.statistics
    #expect(counts.packetsRecoveredByFec > 0 && counts.packetsLost >= counts.packetsRecoveredByFec)
    let more = stream.packets(isKeyFrame: true, byteCount: 224 * 1150 + 1, now: moment(33))
    #expect(more.count == 225 && !more.contains(where: Self.isParity))
  }

  // MARK: - Contradictions

  @Test func `parity that contradicts the fragments changes nothing and keeps nothing`() throws {
    var assembler = VideoAssembler()
    var fragment = VideoMediaFrame(
      number: 0, mediaTime: 0, isKeyFrame: true, temporalLayer: 0, references: (0, 0))
    fragment.lastFragmentIndex = 2
    let bytes: [UInt8] = [1, 2, 3, 4]
    assembler.handle(fragment, bytes.span, now: moment(0))
    var parity = fragment
    parity.isParity = true
    parity.lastFragmentByteCount = 3
    // Shorter than the fragment that is there; two of them would do.
    for index in 0..<2 as Range<UInt8> {
      parity.fragmentIndex = index
      let short: [UInt8] = [1, 2, 3]
      assembler.handle(parity, short.span, now: moment(1))
    }
    #expect(assembler.statistics.framesReceived == 0 && assembler.fragmentCount == 1)
    // Two lengths of the last fragment; parity twice.
    parity.fragmentIndex = 3
    assembler.handle(parity, bytes.span, now: moment(2))
    parity.fragmentIndex = 4
    parity.lastFragmentByteCount = 4
    assembler.handle(parity, bytes.span, now: moment(2))
    parity.fragmentIndex = 3
    parity.lastFragmentByteCount = 3
    assembler.handle(parity, bytes.span, now: moment(2))
    #expect(assembler.statistics.fecPacketsDiscarded == 2 && assembler.fragmentCount == 2)
    // The fragments themselves still make the frame.
    for index in 1..<3 as Range<UInt8> {
      fragment.fragmentIndex = index
      let part: [UInt8] = index == 2 ? [9, 9, 9] : [5, 6, 7, 8]
      assembler.handle(fragment, part.span, now: moment(3))
    }
    #expect(assembler.statistics.framesReceived == 1)
    _ = assembler.takeFrames(now: moment(3))
    #expect(assembler.fragmentCount == 0)
  }

  // MARK: - Asking

  /// Goal: what parity can mend is not asked for as well; what it cannot is, once the next frame
  /// shows that no more parity comes.
  @Test func `a gap waits for its parity before it is asked for`() {
    var stream = MadeStream()
    var assembler = VideoAssembler()
    assembler.roundTrip = .milliseconds(300)
    stream.sender.parity.update(.init(loss: 0.05, run: 1, roundTrip: .milliseconds(300)))
    for packet in stream.packets(isKeyFrame: true, byteCount: 4000, now: moment(0)) {
      assembler.take(packet, now: moment(0))
    }
    _ = assembler.takeFrames(now: moment(0))
    let mended = stream.packets(isKeyFrame: false, byteCount: 4000, now: moment(33))
    for packet in mended.dropFirst().prefix(3) { assembler.take(packet, now: moment(33)) }
    #expect(asks(&assembler, at: 50) == false)
    for packet in mended.dropFirst(4) { assembler.take(packet, now: moment(55)) }
    #expect(assembler.takeFrames(now: moment(55)).count == 1)
    let lost = stream.packets(isKeyFrame: false, byteCount: 4000, now: moment(66))
    assembler.take(lost[3], now: moment(66))
    #expect(asks(&assembler, at: 90) == false)
    let next = stream.packets(isKeyFrame: false, byteCount: 4000, now: moment(99))
    assembler.take(next[0], now: moment(99))
    #expect(asks(&assembler, at: 100) == false && asks(&assembler, at: 109) == true)
    // Where the next frame does not come, time says the same.
    let last = stream.packets(isKeyFrame: false, byteCount: 4000, now: moment(132))
    for packet in next.dropFirst() { assembler.take(packet, now: moment(110)) }
    assembler.take(last[1], now: moment(140))
    #expect(asks(&assembler, at: 200) == false && asks(&assembler, at: 206) == true)
  }

  private func asks(_ assembler: inout VideoAssembler, at time: Int) -> Bool {
    !MadeStream.packet { _ = assembler.pollRequest(into: &$0, now: moment(time)) }.isEmpty
  }

  // MARK: - How much

  @Test func `there is none on a clean line, nor where asking is quick`() {
    for (loss, trip) in [(0.0, 300), (0.004, 300), (0.01, 100), (0.05, 60), (0.1, 40)] {
      #expect(!Self.lossy(loss, trip).isOn, "\(loss), \(trip) ms")
      #expect(Self.count(Self.lossy(loss, trip), 5) == 0, "\(loss), \(trip) ms")
    }
    // The more is lost, the more often asking fails too.
    for (loss, trip) in [(0.01, 120), (0.05, 70), (0.1, 50)] {
      #expect(Self.lossy(loss, trip).isOn, "\(loss), \(trip) ms")
    }
    // What has begun does not end at the same border.
    var policy = Self.lossy(0.01, 120)
    policy.update(.init(loss: 0.004, run: 1, roundTrip: .milliseconds(100)))
    #expect(policy.isOn)
    policy.update(.init(loss: 0.01, run: 1, roundTrip: .milliseconds(80)))
    #expect(!policy.isOn)
  }

  @Test func `more loss, longer runs and more important frames get more`() {
    let counts = [0.01, 0.02, 0.05, 0.1, 0.2].map { Self.count(Self.lossy($0, 300), 20) }
    #expect(counts == counts.sorted() && counts[0] < counts[4], "\(counts)")
    #expect(
      Self.count(Self.lossy(0.05, 300, run: 3), 20) > Self.count(Self.lossy(0.05, 300), 20))
    var policy = Self.lossy(0.1, 300)
    let key = policy.count(fragments: 20, byteCount: 1, isKeyFrame: true, temporalLayer: 0)
    let base = policy.count(fragments: 20, byteCount: 1, isKeyFrame: false, temporalLayer: 0)
    let upper = policy.count(fragments: 20, byteCount: 1, isKeyFrame: false, temporalLayer: 1)
    #expect(key > base && base > upper)
    #expect(policy.count(fragments: 0, byteCount: 0, isKeyFrame: true, temporalLayer: 0) == 0)
  }

  /// Goal: of frames of layer 0 one in a hundred cannot be put together, or fewer. Method: the
  /// chain that the policy was told of, a hundred thousand times.
  @Test(arguments: [(0.05, 1.0, 5), (0.1, 1.0, 20), (0.03, 2.0, 12)])
  func `what is aimed at is what chance gives`(loss: Double, run: Double, fragments: Int) {
    var random = RandomSource(seed: 7)
    let run = max(run, 1 / (1 - loss))
    let parity = Self.count(Self.lossy(loss, 300, run: run), fragments)
    var (isBad, failures) = (false, 0)
    for _ in 0..<100_000 {
      var lost = 0
      for _ in 0..<(fragments + parity) {
        let leave = isBad ? 1 / run : loss / (run * (1 - loss))
        if Double.random(in: 0..<1, using: &random) < leave { isBad.toggle() }
        if isBad { lost += 1 }
      }
      if lost > parity { failures += 1 }
    }
    #expect(failures <= 1_100, "\(parity) for \(fragments): \(failures)")
    #expect(failures >= 10, "it is not wasted")
  }

  @Test func `it says what share of the bytes it takes`() {
    var policy = Self.lossy(0.1, 300)
    for _ in 0..<60 {
      _ = policy.count(fragments: 5, byteCount: 5000, isKeyFrame: false, temporalLayer: 0)
    }
    let count = Double(Self.count(policy, 5))
    #expect(abs(policy.share - count / (5 + count)) < 0.01)
    policy.update(.init(loss: 0, run: 1, roundTrip: .milliseconds(300)))
    for _ in 0..<60 {
      _ = policy.count(fragments: 5, byteCount: 5000, isKeyFrame: false, temporalLayer: 0)
    }
    #expect(policy.share < 0.01)
  }
}
