internal import LastMile
internal import Peer
internal import Primitives
internal import Reactor

/// How far the clock of the rendezvous is from this host's (docs/protocol/rendezvous.md §2).
///
/// Calls work all the same: cards and invitations are judged by the time that the rendezvous tells.
/// Certificates of TURN servers over TLS, logs and files go by this host's clock.
public struct ClockDifference: Sendable, Hashable {
  /// What the rendezvous' clock shows more than this host's, give or take the way of a packet;
  /// below zero where this host's clock is ahead.
  public var offset: Duration

  package init(offset: Duration) { self.offset = offset }

  /// Whether cards and invitations would be refused by it, or nearly: five minutes and more.
  public var isLarge: Bool { abs(seconds) >= Self.large }

  /// `This host's clock is 2 h ahead of that of the rendezvous`.
  public var sentence: String {
    "This host's clock is \(amount) \(seconds < 0 ? "ahead of" : "behind") that of the rendezvous"
  }

  /// In the largest unit of which there are two: `2 h`, `10 years`; below that of milliseconds.
  package var amount: String {
    let seconds = abs(seconds)
    let unit = Self.units.first { seconds >= $0.threshold }
    guard let unit else { return Figures.milliseconds((seconds * 1e4).rounded() / 10) }
    return "\(Int((seconds / unit.seconds).rounded())) \(unit.name)"
  }

  private var seconds: Double { offset / .seconds(1) }

  /// Cards are refused from ten minutes on (docs/protocol/session.md §2); half of it, because two
  /// hosts may be off in opposite directions, in s.
  private static let large = 300.0
  private static let units: [(name: String, seconds: Double, threshold: Double)] = [
    ("years", 31_556_952, 2 * 31_556_952 - 43_200), ("days", 86_400, 2 * 86_400),
    ("h", 3600, 3600 * 1.95), ("min", 60, 120), ("s", 1, 2),
  ]
}

extension Endpoint {
  /// How far the clocks differ, by what the rendezvous last said; `nil` before it has.
  public var clockDifference: ClockDifference? {
    driver.readMachine { $0.rendezvousReading }
      .map { ClockDifference(offset: .milliseconds(Int64(ClockReading($0).offsetMs.rounded()))) }
  }
}

/// Two clocks compared by one answer, which has the other's time (RFC 5905 §8).
struct ClockReading {
  /// The other clock minus the own one, in ms: as if it was read midway.
  let offsetMs: Double
  /// How far that may be off, in ms.
  let uncertaintyMs: Double

  /// - Parameters:
  ///   - milliseconds: What the other clock showed, in ms since 1970 UTC.
  ///   - question: How long ago the question was made.
  ///   - answer: How long ago the answer came.
  ///   - wallNanoseconds: What the own clock shows now, in ns since 1970 UTC.
  init(
    _ milliseconds: UInt64, since question: Duration, until answer: Duration,
    wallNanoseconds: UInt64
  ) {
    let midway = (question + answer).inMilliseconds / 2
    let own = Int64(clamping: wallNanoseconds / 1_000_000)
    let part = Double(wallNanoseconds % 1_000_000) / 1e6
    offsetMs = Double(Int64(clamping: milliseconds) - own) - part + midway
    uncertaintyMs = (question - answer).inMilliseconds / 2 + Self.cutOff
  }

  /// Of a rendezvous and of this host's clock.
  init(_ reading: RendezvousReading) {
    let (now, wall) = (SystemClock.now, SystemClock.wallNanoseconds)
    self.init(
      reading.milliseconds, since: now - reading.asked, until: now - reading.answered,
      wallNanoseconds: wall)
  }

  /// A rendezvous takes whole ms of its wall clock, and adds whole ms of the other one since.
  private static let cutOff = 2.0
}
