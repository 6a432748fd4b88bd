/// The packets with MSG that are under way, and how many there may be (docs/protocol/frames.md §4):
/// of bulk a number that stays, of the others one that losses make smaller.
struct PacketWindow: Sendable {
  struct Packet: Sendable {
    let number: UInt64
    let fragments: [FragmentReference]
  }

  /// By number, rising; at most `limit`.
  private(set) var packets: [Packet] = []
  private(set) var size: Int
  private let limit: Int
  private let shrinks: Bool
  /// Packets up to here were under way when the window was halved: their loss says nothing new.
  private var recoveryEnd: UInt64?
  /// The acknowledgement of a packet above this ends a round trip.
  private var roundTripEnd: UInt64?
  private var newest: UInt64?
  /// Packets that may go although the window is full, because the probe timer fired.
  private(set) var probesAllowed = 0

  /// - Parameter isBulk: How much may be under way its owner knows better.
  init(isBulk: Bool = false) {
    limit = isBulk ? MessageRules.bulkPacketWindow : MessageRules.packetWindow
    size = limit
    shrinks = !isBulk
  }

  var isEmpty: Bool { packets.isEmpty }
  var hasRoom: Bool { packets.count < (probesAllowed > 0 ? limit : size) }

  mutating func add(_ packet: Packet) {
    if probesAllowed > 0 { probesAllowed -= 1 }
    packets.append(packet)
    newest = packet.number
    if roundTripEnd == nil { roundTripEnd = packet.number }
  }

  /// Takes a packet out that arrived; the window grows by one a round trip.
  mutating func acknowledge(_ number: UInt64) -> Packet? {
    guard let packet = remove(number) else { return nil }
    if let end = roundTripEnd, number >= end {
      size = min(size + 1, limit)
      roundTripEnd = nil
    }
    probesAllowed = 0
    return packet
  }

  /// Takes a packet out that was lost; the window halves, once for all packets of a round trip.
  mutating func lose(_ number: UInt64) -> Packet? {
    guard let packet = remove(number) else { return nil }
    guard shrinks else { return packet }
    if let end = recoveryEnd, number <= end { return packet }
    size = max(size / 2, MessageRules.smallestPacketWindow)
    recoveryEnd = newest
    return packet
  }

  /// Allows `count` packets beyond the window. Returns the oldest packets that are forgotten so
  /// that there are never more than the limit.
  mutating func allowProbes(_ count: Int) -> [Packet] {
    probesAllowed = count
    let excess = packets.count + count - limit
    guard excess > 0 else { return [] }
    let forgotten = Array(packets.prefix(excess))
    packets.removeFirst(forgotten.count)
    return forgotten
  }

  mutating func removeAll() {
    packets.removeAll()
    probesAllowed = 0
  }

  /// Whether a packet under way carries `reference`.
  func carries(_ reference: FragmentReference) -> Bool {
    packets.contains { $0.fragments.contains(reference) }
  }

  private mutating func remove(_ number: UInt64) -> Packet? {
    var low = 0
    var high = packets.count
    while low < high {
      let middle = (low + high) / 2
      if packets[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < packets.count, packets[low].number == number else { return nil }
    return packets.remove(at: low)
  }
}
