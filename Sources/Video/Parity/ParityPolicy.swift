import Primitives
import Wire

/// How many fragments of parity a frame gets (docs/decisions/0019): none where nothing is lost, or
/// where a fragment can be asked for and come again in time; elsewhere as few as make it likely
/// that the frame can be put together without asking.
///
/// The line is taken for a chain of two states (Gilbert 1960) with the loss and the runs that were
/// measured. Nothing here allocates after `init`.
package struct ParityPolicy: Sendable {
  /// What the line does to packets.
  package struct Line: Equatable, Sendable {
    /// Share that does not arrive, 0...1.
    package var loss: Double
    /// Packets lost in a row on average, at least 1.
    package var run: Double
    package var roundTrip: Duration

    package init(loss: Double, run: Double, roundTrip: Duration) {
      self.loss = loss
      self.run = run
      self.roundTrip = roundTrip
    }
  }

  /// Whether frames get any.
  package private(set) var isOn = false
  /// Of the bytes of fragments lately, what was parity: 0...1.
  package private(set) var share = 0.0

  /// Leaving the state in which packets arrive, and that in which they are lost.
  private var toBad = 0.0
  private var toGood = 1.0
  /// Probability of so many losses so far with the last packet in either state; the last place is
  /// for all that are more.
  private var good = [Double](repeating: 0, count: most + 2)
  private var bad = [Double](repeating: 0, count: most + 2)
  private var media = 0.0
  private var parity = 0.0

  package init() {}

  // MARK: - Inputs

  /// Takes what has been measured; to be called now and then.
  package mutating func update(_ line: Line) {
    let loss = min(max(line.loss, 0), 0.5)
    let time = Self.repairTime(loss, line.roundTrip)
    if isOn {
      isOn = time > Self.timeOff && loss > Self.lossOff
    } else {
      isOn = time > Self.timeOn && loss > Self.lossOn
    }
    // Chance alone makes runs of 1 / (1 - loss).
    let run = min(max(line.run, 1 / (1 - loss)), Self.longestRun)
    toGood = 1 / run
    toBad = min(1, loss / (run * (1 - loss)))
  }

  /// How many fragments of parity a frame gets, 0..32.
  package mutating func count(
    fragments: Int, byteCount: Int, isKeyFrame: Bool, temporalLayer: UInt8
  ) -> Int {
    let goal = isKeyFrame ? Self.key : temporalLayer == 0 ? Self.base : Self.upper
    let count = isOn ? least(fragments, goal) : 0
    media = media * Self.memory + Double(byteCount)
    parity = parity * Self.memory + Double(byteCount * count) / Double(max(1, fragments))
    share = parity / max(1, media + parity)
    return count
  }

  /// How long it takes, asking again and again, until 99 of 100 lost fragments have come; in
  /// seconds.
  private static func repairTime(_ loss: Double, _ roundTrip: Duration) -> Double {
    let attempts = loss > 0.01 ? logarithm(0.01) / logarithm(loss) : 1
    return attempts * (roundTrip / .seconds(1) + Self.asking)
  }

  /// To the base 2, to a tenth.
  private static func logarithm(_ value: Double) -> Double {
    Double(value.exponent) + value.significand - 1
  }

  // MARK: - How many

  /// What is aimed at: with so many fragments of parity a frame is incomplete with no more than
  /// this probability, unless that takes more than this share of its fragments.
  private struct Goal {
    var failure: Double
    var most: Double
  }

  private mutating func least(_ fragments: Int, _ goal: Goal) -> Int {
    guard (1...VideoMediaFrame.maximumProtectedCount).contains(fragments) else { return 0 }
    let most = min(Self.most, Int((Double(fragments) * goal.most).rounded(.up)))
    start()
    for _ in 0..<fragments { addPacket() }
    for count in 0..<most {
      if failure(withParity: count) <= goal.failure { return count }
      addPacket()
    }
    return most
  }

  /// The chain before the first packet, in the long run.
  private mutating func start() {
    for index in good.indices {
      good[index] = 0
      bad[index] = 0
    }
    let all = toBad + toGood
    bad[0] = all > 0 ? toBad / all : 0
    good[0] = 1 - bad[0]
  }

  private mutating func addPacket() {
    let last = good.count - 1
    // Lost packets move one place up, from the top down; what is beyond the end stays there.
    let beyond = bad[last] * (1 - toGood) + good[last] * toBad
    let found = good[last] * (1 - toBad) + bad[last] * toGood
    for index in stride(from: last, to: 0, by: -1) {
      let lost = bad[index - 1] * (1 - toGood) + good[index - 1] * toBad
      let arrived = good[index] * (1 - toBad) + bad[index] * toGood
      bad[index] = index == last ? lost + beyond : lost
      good[index] = index == last ? found : arrived
    }
    good[0] = good[0] * (1 - toBad) + bad[0] * toGood
    bad[0] = 0
  }

  /// More lost than there is parity.
  private func failure(withParity count: Int) -> Double {
    var sum = 0.0
    for index in (count + 1)..<good.count { sum += good[index] + bad[index] }
    return sum
  }

  private static let most = VideoMediaFrame.maximumParityCount
  /// Everything waits for a key frame; a frame of layer 0 holds up all until it was sent again; one
  /// of an upper layer is missed alone. By trial (Benchmarks/README.md).
  private static let key = Goal(failure: 0.002, most: 1)
  private static let base = Goal(failure: 0.01, most: 0.7)
  private static let upper = Goal(failure: 0.06, most: 0.34)
  /// What an attempt takes besides the round trip: the wait for reordering, and for room.
  private static let asking = 0.02
  /// Up to here asking is soon enough: four pictures, as long as a receiver may well hold them for
  /// their sound.
  private static let timeOn = 0.13
  private static let timeOff = 0.11
  private static let lossOn = 0.005
  private static let lossOff = 0.002
  private static let longestRun = 8.0
  /// Of the share, from one frame to the next.
  private static let memory = 0.9
}
