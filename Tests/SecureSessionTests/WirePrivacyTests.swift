import Primitives
import SecureSession
import Testing
import Trials
import Wire

/// What somebody on the line can tell from sealed packets.
@Suite struct WirePrivacyTests {
  /// χ² with 255 and 31 degrees of freedom: exceeded by chance once in a thousand.
  private static let criticalOfBytes = 330.5
  private static let criticalOfFiveBits = 61.1
  /// Header and 16 sealed bytes, then the tag.
  private static let sealedByteCount = 16

  @Test func `masked and sealed bytes are uniform`() throws {
    let count = Trials.count(100_000, full: 4_000_000)
    var pair = try SessionPair(seed: 120)
    var tallies = [Tally](
      repeating: Tally(), count: SealedPacket.headerByteCount + 2 * Self.sealedByteCount)
    let frames = [UInt8](repeating: 0, count: Self.sealedByteCount)
    for _ in 0..<count {
      let packet = try pair.initiator.packet(frames, now: pair.now).bytes
      for (index, byte) in packet.enumerated() { tallies[index].add(byte) }
    }
    // Byte 0 keeps three bits, bytes 1 to 4 are the connection ID, in clear.
    var worst = tallies[0].chiSquare(of: 32)
    expect(worst < Self.criticalOfFiveBits, "byte 0: \(worst)")
    for index in tallies.indices.dropFirst(5) {
      let value = tallies[index].chiSquare(of: 256)
      expect(value < Self.criticalOfBytes, "byte \(index): \(value)")
      worst = max(worst, value)
    }
    Trials.report("12: \(count) packets, greatest χ² of 36 bytes \(worst), limit 330.5")
  }

  @Test func `numbers in clear would not be uniform`() {
    var tallies = [Tally](repeating: Tally(), count: 4)
    for number in UInt32(0)..<100_000 {
      for index in 0..<4 {
        tallies[index].add(UInt8(truncatingIfNeeded: number >> UInt32(8 * index)))
      }
    }
    for index in 1..<4 { expect(tallies[index].chiSquare(of: 256) > Self.criticalOfBytes) }
  }

  @Test func `no plain byte string is found in what is sent`() throws {
    let goal = Trials.count(4 << 20, full: 1 << 30)
    var pair = try SessionPair(seed: 121)
    var random = RandomSource(seed: 122)
    let canary = random.bytes(32)
    let frames = (0..<36).flatMap { _ in canary }
    expect(Self.holds(frames, canary), "the search finds what is there")
    var searched = 0
    var found = 0
    while searched < goal {
      pair.now = pair.now + .microseconds(50)
      if pair.now > Instant(nanoseconds: 1_100_000_000_000) {
        pair = try SessionPair(seed: UInt64(searched))
      }
      let packet = try pair.initiator.packet(frames, now: pair.now).bytes
      found += Self.holds(packet, canary) ? 1 : 0
      searched += packet.count
    }
    expect(found == 0)
    Trials.report("12: \(found) canaries in \(searched >> 20) MiB")
  }

  @Test func `after a move the connection IDs are others`() throws {
    var pair = try SessionPair(seed: 123)
    let before = (pair.initiator.remoteConnectionID, pair.responder.remoteConnectionID)
    var random = RandomSource(seed: 124)
    pair.initiator.requestRekey(now: pair.now, random: &random)
    pair.now = pair.now + .seconds(1)
    expect(pair.initiator.handleTimeout(now: pair.now) == .startRekey)
    try pair.rekey(initiatorStarts: true)
    let packet = try pair.initiator.packet([1], now: pair.now).bytes
    _ = try pair.responder.receive(packet, now: pair.now)
    let after = (pair.initiator.remoteConnectionID, pair.responder.remoteConnectionID)
    expect(Set([before.0, before.1, after.0, after.1]).count == 4)
  }

  private static func holds(_ bytes: [UInt8], _ canary: [UInt8]) -> Bool {
    guard bytes.count >= canary.count else { return false }
    for start in 0...(bytes.count - canary.count) where bytes[start] == canary[0] {
      if bytes[start..<(start + canary.count)].elementsEqual(canary) { return true }
    }
    return false
  }
}

/// How often each value of a byte came.
private struct Tally {
  private var counts = [Int](repeating: 0, count: 256)
  private var total = 0

  mutating func add(_ byte: UInt8) {
    counts[Int(byte)] += 1
    total += 1
  }

  /// Pearson's χ² against equal shares of the low values below `values`.
  func chiSquare(of values: Int) -> Double {
    var folded = [Int](repeating: 0, count: values)
    for (value, count) in counts.enumerated() { folded[value % values] += count }
    let expected = Double(total) / Double(values)
    return folded.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
  }
}
