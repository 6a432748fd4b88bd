import Primitives
import Testing

@testable import Audio

/// What a receiver says became of each frame, against what a line did to it.
@Suite struct PacketFatesTests {
  /// What the line did: frames whose own packet it let through, and those it did not, from the
  /// first that came to the newest.
  private struct Truth {
    var received = 0
    var lost = 0

    init(_ arrived: [Bool]) {
      guard let first = arrived.firstIndex(of: true), let last = arrived.lastIndex(of: true) else {
        return
      }
      received = arrived.count { $0 }
      lost = last - first + 1 - received
    }
  }

  /// One line at random: losses alone or in runs, duplicates, reordering, lateness, low-rate copies
  /// and repetitions.
  private static func line(
    _ stream: EncodedStream, seed: UInt64
  ) -> (line: Line, arrived: [Bool]) {
    var random = RandomSource(seed: seed)
    let count = stream.packets.count
    let loss = random.unit() * 0.4
    let stay = random.unit() * 0.8
    var isBad = false
    var arrived = [Bool](repeating: true, count: count)
    for number in arrived.indices {
      isBad = random.unit() < (isBad ? max(stay, loss) : loss)
      arrived[number] = number < 8 || !isBad
    }
    var line = Line(stream)
    let own = line.flights
    line.flights = []
    for number in own.indices where arrived[number] {
      var flight = own[number]
      if number > 8, random.unit() < 0.05 { flight.arrival += Int64(random.unit() * 120e6) }
      line.flights.append(flight)
      if random.unit() < 0.05 {
        flight.arrival += Int64(random.unit() * 300e6)
        line.flights.append(flight)
      }
      for distance in [1, 3] where distance <= number && random.unit() < 0.7 {
        var copy = own[number - distance]
        copy.arrival = own[number].arrival
        copy.origin = .copy(steps: UInt16(2 * distance), isLowRate: true)
        line.flights.append(copy)
      }
    }
    for number in own.indices where !arrived[number] && random.unit() < 0.3 {
      var again = own[number]
      again.arrival += Int64(30e6 + random.unit() * 200e6)
      again.origin = .retransmission
      line.flights.append(again)
    }
    return (line, arrived)
  }

  @Test func `lost is what the line dropped, and each lost frame has one fate`() throws {
    let stream = try JitterBufferTests.voice(seconds: 8)
    for seed in 1...40 as ClosedRange<UInt64> {
      let (line, arrived) = Self.line(stream, seed: seed)
      let outcome = try line.play(until: 9_000_000_000, keepsSamples: false)
      let truth = Truth(arrived)
      let fates = outcome.statistics.fates
      #expect(fates.received == truth.received && fates.lost == truth.lost, "seed \(seed)")
      let all = fates.recoveredByFec + fates.recoveredByRetransmission + fates.residualLost
      #expect(all == fates.lost && fates.lost <= fates.expected, "seed \(seed): \(fates)")
      #expect(outcome.statistics.packetsLost == fates.lost)
      let concealed = Double(outcome.statistics.concealedSamples) / 48_000
      #expect(outcome.quality.frozenSeconds <= concealed, "seed \(seed)")
      #expect((0...1).contains(outcome.quality.lastMissingFraction ?? 0))
    }
  }

  @Test func `what repairs is told apart, and what is repaired is not frozen`() throws {
    let stream = try JitterBufferTests.voice(seconds: 10)
    var line = Line(stream)
    let own = line.flights
    // Every tenth is lost; the next packet has its copy.
    line.flights = own.indices.filter { $0 % 10 != 9 }.flatMap { number -> [Line.Flight] in
      guard number % 10 == 0, number > 0 else { return [own[number]] }
      var copy = own[number - 1]
      copy.arrival = own[number].arrival
      copy.origin = .copy(steps: 2, isLowRate: false)
      return [own[number], copy]
    }
    let outcome = try line.play(until: 11_000_000_000)
    let fates = outcome.statistics.fates
    #expect(fates.lost == 49 && fates.recoveredByRetransmission == 0)
    // The first is needed before the buffer knows that copies come.
    #expect(fates.recoveredByFec >= 48 && fates.residualLost <= 1)
    #expect(outcome.quality.frozenSeconds == 0 && outcome.quality.lastMissingFraction == 0)
  }

  @Test func `a late packet is neither lost nor repaired`() throws {
    let stream = try JitterBufferTests.voice(seconds: 4)
    let statistics = try Line(
      stream, delay: { number, _ in number % 50 == 49 ? 200_000_000 : 0 }
    ).play(until: 5_000_000_000).statistics
    #expect(statistics.fates.lost == 0 && statistics.fates.residualLost == 0)
    #expect(statistics.framesLate >= 2 && statistics.framesLate <= 4)
  }

  /// The line drops the last packet of a length and the first of the next.
  @Test(arguments: [(2, 6), (6, 2), (1, 2), (4, 1)] as [(Int64, Int64)])
  func `losses count across a change of the frame length`(before: Int64, after: Int64) {
    var ledger = FrameLedger()
    var step: Int64 = 0
    func note(_ length: Int64, isLost: Bool) {
      defer { step += length }
      if isLost { return }
      _ = ledger.recordArrival(
        step: step, frameSteps: length, isPrimary: true, isMarked: false, arrival: step * 10_000_000
      )
    }
    for number in 0..<20 { note(before, isLost: number == 5 || number == 19) }
    for number in 0..<20 { note(after, isLost: number == 8) }
    #expect(ledger.fates.received == 37 && ledger.fates.lost == 3)
    for number in 0..<20 { note(before, isLost: number == 0) }
    #expect(ledger.fates.received == 56 && ledger.fates.lost == 4)
    #expect(ledger.framesLost == 4 && ledger.framesUnrepaired == 4)
  }

  @Test func `a pause that the sender marked is no loss, a hole of any length is`() {
    var ledger = FrameLedger()
    func note(_ steps: some Sequence<Int64>, isMarked: Bool = false) {
      for step in steps {
        _ = ledger.recordArrival(
          step: step, frameSteps: 2, isPrimary: true, isMarked: isMarked,
          arrival: step * 10_000_000)
      }
    }
    note(stride(from: 0, to: 100, by: 2))
    note([400], isMarked: true)
    #expect(ledger.fates.lost == 0 && ledger.framesExpected == 50)
    note(stride(from: 402, to: 500, by: 2))
    note([900])
    #expect(ledger.fates.lost == 200 && ledger.framesLost == 200)
    #expect(ledger.lossBursts == 0, "the sender is told of it, but not as a run of losses")
    // The last of the hole comes by a copy, the one before it late.
    ledger.noteRepair(step: 898, .forwardErrorCorrection)
    note([896])
    #expect(ledger.fates.lost == 199 && ledger.fates.recoveredByFec == 1)
    #expect(ledger.fates.received == 102 && ledger.fates.residualLost == 198)
  }

  /// Of a gap of frames some were lost and some never sent; who sent them knows how many.
  @Test(arguments: [10, 100, 450] as [Int64], [0, 3, 10] as [UInt64])
  func `frames that the sender left out are not lost`(gap: Int64, sent: UInt64) {
    var ledger = FrameLedger()
    func note(_ steps: some Sequence<Int64>, isMarked: Bool = false) {
      for step in steps {
        _ = ledger.recordArrival(
          step: step, frameSteps: 2, isPrimary: true, isMarked: isMarked,
          arrival: step * 10_000_000)
      }
    }
    note(stride(from: 0, to: 100, by: 2))
    let unsent = UInt64(gap) - sent
    ledger.noteUnsent(unsent)
    let back = 100 + 2 * gap
    // The newest of the left out comes as a copy, too.
    ledger.noteRepair(step: back - 2, .forwardErrorCorrection)
    note(stride(from: back, to: back + 100, by: 2))
    #expect(ledger.fates.lost == sent && ledger.fates.received == 100)
    #expect(ledger.fates.recoveredByFec == min(1, sent))
    // One is lost after that, and counts: what was left out is settled.
    note(stride(from: back + 102, to: back + 140, by: 2))
    #expect(ledger.fates.lost == sent + 1)
    #expect(ledger.framesLost == sent + 1 && ledger.framesExpected == 116 + sent)
    // Before a pause that the sender marked there is nothing to take off.
    ledger.noteUnsent(5)
    note([back + 900], isMarked: true)
    note(stride(from: back + 904, to: back + 920, by: 2))
    #expect(ledger.fates.lost == sent + 2)
  }

  /// Method: anything, in any order; only what must hold whatever comes.
  @Test func `whatever comes, every lost frame has one fate`() {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = RandomSource(seed: seed)
      var ledger = FrameLedger()
      var step: Int64 = 0
      for turn in 0..<4000 {
        step += Int64(random.next() % 40 == 0 ? random.next() % 900 : random.next() % 5)
        let place = max(0, step - Int64(random.next() % 12))
        switch random.next() % 8 {
        case 0: ledger.noteRepair(step: place, .retransmission)
        case 1: ledger.noteRepair(step: place, .forwardErrorCorrection)
        case 2: ledger.forgetRepair(step: place)
        case 3 where random.next() % 100 == 0: ledger.restart()
        case 4 where random.next() % 20 == 0: ledger.noteUnsent(random.next() % 30)
        default:
          _ = ledger.recordArrival(
            step: place, frameSteps: 1 + Int64(random.next() % 3), isPrimary: true,
            isMarked: random.next() % 20 == 0, arrival: Int64(turn) * 10_000_000)
        }
        let fates = ledger.fates
        let repaired = fates.recoveredByFec + fates.recoveredByRetransmission
        #expect(repaired + fates.residualLost == fates.lost, "seed \(seed), turn \(turn)")
        #expect(fates.lost <= fates.expected && ledger.framesUnrepaired <= ledger.framesLost)
      }
    }
  }
}
