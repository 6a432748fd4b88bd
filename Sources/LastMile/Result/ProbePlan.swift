internal import Primitives

/// What a probe is asked for.
public struct ProbePlan: Sendable, Equatable {
  /// Whether the two directions are loaded together.
  public enum Loading: String, Sendable, CaseIterable {
    /// The downlink first, then the uplink: each one's delay under load is its own.
    case oneAfterTheOther
    /// Both at once: shorter, and shows what a call in both directions meets.
    case atOnce
  }

  /// Rates that can be expected, in bit/s.
  public static let expectedRates = 100_000...100_000_000
  /// How long a probe may take.
  public static let durations = Duration.seconds(4)...Duration.seconds(30)
  /// The same in seconds.
  package static let secondRange = 4.0...30.0

  /// Whether the uplink is probed.
  public var probesUplink = true
  /// Whether the downlink is probed.
  public var probesDownlink = true
  /// The uplink is never tested above it (and 5 %), in bit/s of IP packets.
  public var expectedUplink = 2_500_000
  /// The same for the downlink.
  public var expectedDownlink = 2_500_000
  /// The result is there after so long at most.
  public var duration = Duration.seconds(8)
  /// The same in seconds.
  package var seconds: Double {
    get { Double(duration.nanoseconds) / 1e9 }
    set { duration = .nanoseconds(Int64(min(max(newValue, 0), 86_400) * 1e9)) }
  }
  /// Whether the two directions are loaded together.
  public var loading = Loading.oneAfterTheOther
  /// Whether the report has every test packet (`LineReport.packets`).
  public var keepsPackets = false
  /// Whether bandwidth is measured; without, a probe costs a few kilobytes (`--watch`).
  public var measuresBandwidth = true

  /// Both directions, 2.5 Mbit/s, 8 s.
  public init() {}

  /// Whether every number is in its range and a direction is asked for.
  public var isValid: Bool {
    Self.expectedRates.contains(expectedUplink) && Self.expectedRates.contains(expectedDownlink)
      && Self.durations.contains(duration) && (probesUplink || probesDownlink)
  }

  /// Whether a direction is probed.
  public func probes(_ direction: LineDirection) -> Bool {
    direction == .uplink ? probesUplink : probesDownlink
  }

  /// The most that one side may send for a direction, in bytes of IP packets: 4.6 s of what is
  /// expected, longer where the probe is, up to 4 s at 5 Mbit/s. At higher rates 2 s and 5 %. A
  /// reflector keeps a rate free by it: who asks for more than it uses is in the way of others.
  public func byteBudget(_ direction: LineDirection) -> Int {
    guard measuresBandwidth else { return Prober.smallByteBudget }
    guard probes(direction) else { return Self.leastBudget }
    if expected(direction) > Prober.usualRate {
      return max(Prober.byteBudget, expected(direction) / 80 * 21)
    }
    let wanted = Double(expected(direction)) / 80 * 46 * max(1, seconds / 8)
    return max(Self.leastBudget, min(Prober.byteBudget, Int(wanted)))
  }

  /// 2 s at the rate that every run may have.
  private static let leastBudget = 1_312_500

  /// The expected rate of a direction, in bit/s.
  public func expected(_ direction: LineDirection) -> Int {
    direction == .uplink ? expectedUplink : expectedDownlink
  }
}
