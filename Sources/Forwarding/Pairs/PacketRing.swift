import Primitives

/// Packets that wait to be written, each with where it goes; its memory is taken once.
struct PacketRing {
  private var bytes: [UInt8] = []
  private var entries: [(path: DatagramPath, byteCount: Int)] = []
  private var first = 0
  private(set) var count = 0
  private let limit: Int

  /// - Parameter limit: Packets at most.
  init(limit: Int) { self.limit = max(1, limit) }

  /// `false` = there is no place for it.
  mutating func append(_ packet: Span<UInt8>, to path: DatagramPath) -> Bool {
    guard count < limit, packet.count <= Datagram.maximumByteCount else { return false }
    if bytes.isEmpty {
      bytes = Array(repeating: 0, count: limit * Datagram.maximumByteCount)
      entries = Array(
        repeating: (DatagramPath(path.remote), 0), count: limit)
    }
    let place = (first + count) % limit
    var room = bytes.mutableSpan
    let start = place * Datagram.maximumByteCount
    for index in 0..<packet.count { room[start + index] = packet[index] }
    entries[place] = (path, packet.count)
    count += 1
    return true
  }

  /// Writes the oldest; where it goes, or `nil` = there is none.
  @_lifetime(packet: copy packet)
  mutating func popFirst(into packet: inout OutputSpan<UInt8>) -> DatagramPath? {
    guard count > 0 else { return nil }
    let (path, byteCount) = entries[first]
    let start = first * Datagram.maximumByteCount
    packet.append(span: bytes.span.extracting(start..<(start + byteCount)))
    first = (first + 1) % limit
    count -= 1
    return path
  }
}
