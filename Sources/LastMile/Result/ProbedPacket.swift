import Primitives

/// One test packet, as `LineReport.packets` keeps it.
public struct ProbedPacket: Sendable, Equatable {
  /// Which way it went.
  public var direction: LineDirection
  /// Its number among those of its direction.
  public var sequence: Int
  /// When it left, in µs since the probe began, by this host's clock; `nil` for one of the other
  /// end that did not come.
  public var sentUs: Int64?
  /// When it came, in the same time. Which part of a round trip each way takes cannot be told by
  /// two clocks: the least delays of both ways count as equal. `nil`: it was lost.
  public var arrivedUs: Int64?
  /// Of the IP packet; `nil` for one of the other end that did not come: its length is not told.
  public var byteCount: Int?
  /// The ECN bits with which it came here (RFC 3168 §5); `nil` for what was lost, and for the
  /// uplink, of which the other end reports counts alone.
  public var ecn: UInt8?
  /// Which part of the test it was sent for: `idle`, `ramp`, `steady`, `loaded` or `last`. One
  /// of the other end that did not come counts to the part of those beside it.
  public var part: String

  /// All of both directions, the uplink first.
  ///
  /// - Parameter roundTripMs: The least.
  static func all(
    up: [TestPackets.Entry], down: [TestPackets.Entry], began: Instant, roundTripMs: Double
  ) -> [ProbedPacket] {
    let zero = Int64(clamping: began.nanoseconds)
    let least = Int64(roundTripMs * 5e5)
    let upward = up.lazy.filter(\.isReceived).map(\.delay).min() ?? 0
    let downward = down.lazy.filter(\.isReceived).map(\.delay).min() ?? 0
    return up.enumerated().map { number, entry in
      var packet = ProbedPacket(.uplink, number, entry)
      packet.sentUs = (entry.sent - zero) / 1000
      if entry.isReceived { packet.arrivedUs = (entry.arrival - upward + least - zero) / 1000 }
      return packet
    }
      + down.enumerated().map { number, entry in
        var packet = ProbedPacket(.downlink, number, entry)
        guard entry.isReceived else {
          packet.byteCount = nil
          return packet
        }
        packet.sentUs = (entry.sent + downward - least - zero) / 1000
        packet.arrivedUs = (entry.arrival - zero) / 1000
        packet.ecn = entry.ecn
        return packet
      }
  }

  private init(_ direction: LineDirection, _ sequence: Int, _ entry: TestPackets.Entry) {
    self.direction = direction
    self.sequence = sequence
    byteCount = Int(entry.byteCount)
    part = entry.part.word
  }
}

extension TestPackets.Part {
  fileprivate var word: String {
    switch self {
    case .idle: "idle"
    case .ramp: "ramp"
    case .steady: "steady"
    case .loaded: "loaded"
    case .last: "last"
    }
  }
}
