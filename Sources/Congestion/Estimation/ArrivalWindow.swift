/// One packet that arrived, in microseconds: each time on the clock of the host that read it.
struct ArrivedPacket: Sendable, BitwiseCopyable {
  var sent: Int64 = 0
  var arrival: Int64 = 0
  /// On the line, with the headers below ours.
  var byteCount: Int64 = 0
  /// What of its delay is its own sender's (`OwnQueue`).
  var own: Int64 = 0

  /// One-way delay plus the unknown difference of the two clocks.
  var delay: Int64 { arrival &- sent }
}

/// The last 512 packets that arrived, in the order in which they were reported.
struct ArrivalWindow: Sendable {
  private static let capacity = 512
  /// Between the sending of two packets that belong together, in microseconds.
  private static let longestGap: Int64 = 250_000
  private var ring = Array(repeating: ArrivedPacket(), count: capacity)
  /// How many were ever added.
  private(set) var count = 0

  mutating func add(_ packet: ArrivedPacket) {
    ring[count & (Self.capacity - 1)] = packet
    count &+= 1
  }

  /// How many of the newest are still there.
  private var held: Int { min(count, Self.capacity) }

  /// The packet `age` places before the newest; `age` is below `held`.
  private func packet(_ age: Int) -> ArrivedPacket {
    ring[(count &- 1 &- age) & (Self.capacity - 1)]
  }

  var newest: ArrivedPacket? { held > 0 ? packet(0) : nil }

  /// Bytes of the longest of the newest so many packets.
  func longest(of count: Int) -> Int64 {
    var longest: Int64 = 0
    for age in 0..<min(count, held) { longest = max(longest, packet(age).byteCount) }
    return longest
  }

  /// The least delay, without what is the sender's own, among those that arrived in the last
  /// `span`, and at least `least` packets.
  ///
  /// - Parameters:
  ///   - usual: so many packets are looked at where they are no older than `most`.
  ///   - most: no less than `span`.
  func leastDelay(
    over span: Int64, atLeast least: Int, usually usual: Int = 0, within most: Int64 = 0
  ) -> Int64? {
    guard held > 0 else { return nil }
    let newest = packet(0).arrival
    var delay = Int64.max
    for age in 0..<held {
      let packet = packet(age)
      let oldest = newest &- (age < usual ? max(span, most) : span)
      if age >= least, packet.arrival < oldest { break }
      delay = min(delay, packet.delay &- packet.own)
    }
    return delay
  }

  /// What arrived, and how it had been sent, between two packets.
  struct Rates: Equatable {
    /// In bit/s.
    var arrival: Double
    var sending: Double
    /// Between the arrivals of the first and the last, in microseconds.
    var span: Int64
    var packetCount: Int
  }

  /// The rates over the last `span`, and at least `least` packets: the first one's bytes do not
  /// count, it only says when the counting begins. `nil` while too few arrived.
  func rates(over span: Int64, atLeast least: Int, notBefore oldest: Int = 0) -> Rates? {
    let last = min(held, count - oldest)
    guard last > least else { return nil }
    let newest = packet(0)
    var bytes: Int64 = 0
    var first = newest
    var used = 0
    for age in 0..<last {
      let packet = packet(age)
      // Nothing was sent, or all was lost: what was before says nothing of now.
      if age > 0, first.sent &- packet.sent > Self.longestGap { break }
      first = packet
      used = age
      if age >= least, first.arrival <= newest.arrival &- span { break }
      bytes += first.byteCount
    }
    guard used >= least else { return nil }
    // Where everything was taken the oldest has been counted too.
    if first.arrival > newest.arrival &- span { bytes -= first.byteCount }
    let elapsed = newest.arrival &- first.arrival
    guard elapsed > 0 else { return nil }
    let sent = max(1, newest.sent &- first.sent)
    let bits = Double(bytes) * 8e6
    return Rates(
      arrival: bits / Double(elapsed), sending: bits / Double(sent), span: elapsed,
      packetCount: used)
  }

  /// How the delay fell from the packets sent at one moment to those sent at another.
  struct Fall: Equatable {
    /// In microseconds; negative where it rose.
    var delay: Int64
    /// Between the two moments, in microseconds.
    var span: Int64
    /// Sent meanwhile.
    var bits: Double
  }

  /// `nil` where nothing that was sent near one of the two moments is among what arrived.
  func fall(sentFrom from: Int64, to: Int64) -> Fall? {
    var before: ArrivedPacket?
    var after: ArrivedPacket?
    var bytes: Int64 = 0
    for age in 0..<held {
      let packet = packet(age)
      if packet.sent >= to {
        after = packet
      } else if packet.sent >= from {
        bytes += packet.byteCount
        before = packet
      } else {
        before = packet
        break
      }
    }
    guard let before, let after, after.sent > before.sent else { return nil }
    return Fall(
      delay: before.delay &- after.delay, span: after.sent &- before.sent,
      bits: Double(bytes) * 8)
  }
}
