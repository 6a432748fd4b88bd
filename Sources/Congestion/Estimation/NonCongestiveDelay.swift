/// Delay that came at once and not by what we send: a station of Wi-Fi that scans, a slot missed.
///
/// A queue of our own grows by what is sent beyond what the line carries, packet by packet. Where
/// one packet is suddenly late and those sent right behind it come as fast as the line is believed
/// to be, the line stood still for a moment. Such a queue goes by itself: a lower rate would only
/// empty it sooner. Where they come much faster the line is served in bursts. The rate of a burst
/// says nothing, and the delay is soon gone.
package struct NonCongestiveDelay: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Least step of the delay that counts, µs, beside the packet's own time. Tuned.
    package var leastStep = 2_500.0
    /// Greatest spacing of the packets behind, × their time on the line, above 1. Tuned.
    package var mostSpacing = 1.25
    /// What is added to that, µs: two ticks of FEEDBACK.
    package var spacingTolerance = 500.0
    /// Least spacing of the packets behind, × their time on the line, below 1. Tuned.
    package var leastSpacing = 0.65
    /// Most that is believed at once, µs. Tuned: what a stall of Wi-Fi takes.
    package var most = 70_000.0
    /// How fast it is given back, × elapsed time. Tuned.
    package var leak = 0.1
    /// A packet follows another if sent within this × its time on the line. Tuned.
    package var mostGap = 1.5
    /// Packets that confirm a step. Tuned.
    package var confirmations = 3
    /// Packets further apart say nothing of one another, µs. Tuned.
    package var mostApart: Int64 = 200_000

    package init() {}
  }

  private let constants: Constants
  /// What is left of it, in microseconds.
  private(set) var value = 0.0
  private var last: ArrivedPacket?
  /// A step that the packets behind it have not confirmed yet, µs.
  private var step = 0.0
  private var followers = 0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Takes the next packet that arrived.
  ///
  /// - Parameter rate: What the line is believed to carry, in bit/s.
  mutating func add(_ packet: ArrivedPacket, rate: Double) {
    defer { last = packet }
    guard let last, packet.sent >= last.sent, packet.arrival >= last.arrival,
      packet.sent &- last.sent < constants.mostApart
    else {
      step = 0
      return
    }
    let elapsed = Double(packet.arrival &- last.arrival)
    let between = Double(packet.sent &- last.sent)
    value = max(0, value - constants.leak * elapsed)
    // A packet follows by its own time on the line, or by that of the one before it.
    let own = Double(packet.byteCount) * 8e6 / max(rate, Self.leastRate)
    let before = Double(last.byteCount) * 8e6 / max(rate, Self.leastRate)
    if step > 0, between < max(own, before) * constants.mostGap {
      followers += 1
      let most = max(own, before) * constants.mostSpacing + constants.spacingTolerance
      if elapsed > most || elapsed < min(own, before) * constants.leastSpacing {
        step = 0
      } else if followers >= constants.confirmations {
        value = min(value + step, constants.most)
        step = 0
      }
    }
    if elapsed - between > constants.leastStep + own {
      step = max(step, elapsed - between)
      followers = 0
    }
  }

  /// In bit/s: no division by 0.
  private static let leastRate = 10_000.0
}
