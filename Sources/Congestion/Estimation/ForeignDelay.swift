/// Delay that came at once and not by what we send: a station of Wi-Fi that scans, a slot missed.
///
/// A queue of our own grows by what is sent beyond what the line carries, packet by packet. Where
/// one packet is suddenly late and those sent right behind it come as fast as the line is believed
/// to be, the line stood still for a moment. What waits for that reason goes by itself, as fast as
/// there is room on the line, and a lower rate would only empty it sooner. Where they come much
/// faster the line is served in bursts, whose rate says nothing, and the delay is soon gone.
struct ForeignDelay: Sendable, BitwiseCopyable {
  /// What is left of it, in microseconds.
  private(set) var value = 0.0
  private var last: ArrivedPacket?
  /// A jump that the packets behind it have not confirmed yet.
  private var jump = 0.0
  private var followers = 0

  /// Takes the next packet that arrived.
  ///
  /// - Parameter rate: What the line is believed to carry, in bit/s.
  mutating func add(_ packet: ArrivedPacket, rate: Double, _ tuning: EstimatorTuning) {
    defer { last = packet }
    guard let last, packet.sent >= last.sent, packet.arrival >= last.arrival,
      packet.sent &- last.sent < Self.mostApart
    else {
      jump = 0
      return
    }
    let elapsed = Double(packet.arrival &- last.arrival)
    let between = Double(packet.sent &- last.sent)
    value = max(0, value - tuning.foreignLeak * elapsed)
    // A packet follows by its own time on the line, or by that of the one before it.
    let own = Double(packet.byteCount) * 8e6 / max(rate, 10_000)
    let before = Double(last.byteCount) * 8e6 / max(rate, 10_000)
    if jump > 0, between < max(own, before) * 1.5 {
      followers += 1
      let isSlow = elapsed > max(own, before) * tuning.foreignSlowness + 500
      if isSlow || elapsed < min(own, before) * tuning.foreignHaste {
        jump = 0
      } else if followers >= Self.enough {
        value = min(value + jump, tuning.mostForeign)
        jump = 0
      }
    }
    if elapsed - between > tuning.leastForeign + own {
      jump = max(jump, elapsed - between)
      followers = 0
    }
  }

  /// In microseconds: packets further apart say nothing of one another.
  private static let mostApart: Int64 = 200_000
  /// Packets that confirm a jump.
  private static let enough = 3
}
