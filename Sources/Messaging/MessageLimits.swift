package import Wire

/// What one side of a session may keep, wait for and have under way (docs/protocol/frames.md §4).
package struct MessageLimits: Equatable, Sendable {
  /// Message bytes that each side may send before the first CREDIT. Both sides of a session have
  /// the same number: it is the receiver's greatest buffer.
  package var initialGrant: UInt32
  /// The longest message that `send` takes. With what CREDIT may hold back (1/4 of the grant) it
  /// must fit into the grant, or it would wait for ever.
  package var messageByteCount: Int
  /// Bytes that wait in `send` for their turn: beyond that the application is told to slow down.
  package var waitingByteCount: Int
  /// Messages that wait, however short.
  package var waitingMessageCount: Int
  /// Part of the grant that application streams leave to streams 0..7, so that a hang-up or a
  /// rekey never queues behind a file.
  package var controlReserve: UInt32
  /// Streams a remote peer may open: each costs a window's worth of book-keeping.
  package var streamCount: Int
  /// The only stream that is allowed; `nil` allows all.
  package var onlyStream: StreamID?

  /// Between peers: §4's 128 KiB, messages up to §3's 64 KiB; four of the largest may wait.
  package static let peer = MessageLimits(
    initialGrant: 131_072, messageByteCount: 65_536, waitingByteCount: 262_144,
    waitingMessageCount: 4096, controlReserve: 8192, streamCount: 32, onlyStream: nil)

  /// At a rendezvous and at its clients: §4's 32 KiB; the longest message is a FORWARD of 4096
  /// bytes and its header (rendezvous.md §3); there is only stream 0x81.
  package static let rendezvous = MessageLimits(
    initialGrant: 32_768, messageByteCount: 8192, waitingByteCount: 65_536,
    waitingMessageCount: 256, controlReserve: 0, streamCount: 1, onlyStream: .rendezvous)

  func allows(_ stream: StreamID) -> Bool { onlyStream == nil || onlyStream == stream }
}

/// Numbers of docs/protocol/frames.md §3 and §4 that are the same everywhere.
enum MessageRules {
  /// How far above the lowest unacknowledged message of its stream a message may be.
  static func window(of stream: StreamID) -> UInt32 { stream.isOrdered ? 63 : 255 }

  /// Packets with MSG in flight.
  static let packetWindow = 32
  static let smallestPacketWindow = 2
  /// Packets with bulk in flight: three quarters of those that the session remembers
  /// (`SentPacketHistory`), so that those beside them keep their places.
  static let bulkPacketWindow = 768
  /// The widest that a receiver opens its window: four times what may be in flight of bulk.
  static let widestWindow: UInt32 = 4 << 20

  /// Bytes that are left of a grant when it is low: what peers keep for streams 0..7.
  static let lowGrant: UInt32 = 8192
  /// Bytes by which a low grant is raised at least: some HANGUPs with their words.
  static let leastRaise: UInt32 = 2048

  /// Messages that wait for the owner, however short: four times what fits into all packets that
  /// may be in flight.
  static let mostUnpolled = 16_384

  /// Polled events that are kept before their places are given back.
  static let mostPolled = 256

  /// Before there is an RTT sample.
  static let initialProbeTimeout: UInt64 = 300_000_000
  /// Doubling ends here: eight tries within the 8 s that a look-up has. With 2 s five losses in a
  /// row ended it, one call in 400 at 30 % loss.
  static let longestProbeTimeout: UInt64 = 1_000_000_000
  /// What is urgent first goes again after that. FEEDBACK comes a round trip and 20 ms after a
  /// message: up to a round trip of 50 ms nothing goes twice where nothing is lost.
  static let firstUrgentRepeat: UInt64 = 75_000_000
  /// And then so far apart at the most, two packets at a time, as long as it lives: 100 packets in
  /// 7.5 s. Bursts of five packets (20 %) lose as many in a row once in 10⁹ times; of the 41
  /// that doubled waits left, once in 10⁴.
  static let urgentRepeat: UInt64 = 150_000_000
  /// Of how many of these one is of everything: 1.05 s apart, about `longestProbeTimeout`.
  static let urgentRepeatsForAll = 7
  /// Fragments repeated when the probe timer fires, and packets they may take (RFC 9002 §6.2.4).
  static let probeCount = 2
}
