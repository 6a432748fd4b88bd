package import Primitives

/// When the next packet of a class may leave: a rate, and a limit on what is under way.
///
/// Audio and feedback go at once and are charged to those behind them. The rest leaves at `rate`;
/// retransmissions, video and padding also wait while as much is under way as the path holds. Its
/// owner keeps the packets.
package struct PacingGate: Sendable, BitwiseCopyable {
  /// In bit/s.
  package var rate: Double
  /// Bytes under way above which the classes from retransmission down wait.
  package var inFlightLimit: Int = .max
  /// Audio looks for the end of an outage (`AudioHold`): the others need not.
  package var isProbed = false
  /// In bit/s: padding leaves only when all that left before has had its time at this rate.
  package var fillRate = Double.infinity

  /// When the line will have carried, at `rate`, what left: nanoseconds.
  private var lineFree: UInt64 = 0
  /// The same at `fillRate`.
  private var filled: UInt64 = 0
  /// When something last left while the limit was reached.
  private var lastProbe: UInt64 = 0
  /// When a message last left.
  private var lastMessage: UInt64 = 0

  /// Sent ahead of time at once, in nanoseconds of the rate: what a timer may be late by.
  private static let burst: UInt64 = 1_000_000
  /// With the limit reached one packet goes each 100 ms, so that the end of an outage is seen.
  private static let usualProbeInterval: UInt64 = 100_000_000
  private static let longProbeInterval: UInt64 = 300_000_000
  /// What audio has borrowed is paid back no later: in nanoseconds.
  private static let mostDebt: UInt64 = 100_000_000
  /// Where audio takes all there is a message goes this often, so that the other side is told.
  private static let messageInterval: UInt64 = 200_000_000

  package init(rate: Double) { self.rate = rate }

  // MARK: Inputs

  /// A packet has left.
  package mutating func noteSent(
    byteCount: Int, hasMessages: Bool = false, now: Instant
  ) {
    let time = now.nanoseconds
    lastProbe = max(lastProbe, time)
    if hasMessages { lastMessage = time }
    let start = max(lineFree, time &- min(time, Self.burst))
    let length = duration(byteCount)
    lineFree = min(start &+ length, time &+ max(length, Self.mostDebt))
    let share = Self.duration(byteCount, at: fillRate)
    filled = min(max(filled, time) &+ share, time &+ max(share, Self.mostDebt))
  }

  // MARK: Outputs

  /// Whether a packet of this class may leave now.
  package func admits(_ sendClass: SendClass, bytesInFlight: Int, now: Instant) -> Bool {
    let time = now.nanoseconds
    if sendClass == .message, time &- min(time, lastMessage) >= Self.messageInterval { return true }
    if sendClass.isPaced, lineFree > time &+ Self.burst { return false }
    if sendClass == .padding, filled > time { return false }
    guard sendClass.isLimited, bytesInFlight >= inFlightLimit else { return true }
    return time &- min(time, lastProbe) >= probeInterval
  }

  /// When a packet of this class may leave, if nothing changes.
  package func admission(of sendClass: SendClass, bytesInFlight: Int, now: Instant) -> Instant {
    guard sendClass.isPaced else { return now }
    var time = lineFree > Self.burst ? lineFree - Self.burst : 0
    if sendClass == .padding { time = max(time, filled) }
    if sendClass == .message { time = min(time, lastMessage &+ Self.messageInterval) }
    if sendClass.isLimited, bytesInFlight >= inFlightLimit {
      time = max(time, lastProbe &+ probeInterval)
    }
    return Instant(nanoseconds: max(now.nanoseconds, time))
  }

  private var probeInterval: UInt64 {
    isProbed ? Self.longProbeInterval : Self.usualProbeInterval
  }

  /// How long so many bytes need at the present rate, in nanoseconds.
  package func duration(_ byteCount: Int) -> UInt64 { Self.duration(byteCount, at: rate) }

  /// No slower than 1 kbit/s, which is also what no number (0 of infinity) stands for.
  private static func duration(_ byteCount: Int, at rate: Double) -> UInt64 {
    let known = rate >= 1_000 ? rate : 1_000
    return UInt64(Double(byteCount) * 8e9 / known)
  }
}
