/// What became of one stream's frames, each in one place only (docs/decisions/0034).
///
/// A frame is *lost* when its own packet did not come, whatever repaired it (RFC 3550 §6.4.1, W3C
/// `packetsLost`). One that comes late after all is not lost any more. Duplicates count once. One
/// that the sender says it left out is not lost either.
package struct PacketFates: Equatable, Sendable, BitwiseCopyable {
  /// Frames whose own packet came, in time or late.
  package internal(set) var received: UInt64 = 0
  /// Frames whose own packet did not come, before any repair.
  package internal(set) var lost: UInt64 = 0
  /// Of the lost, those that a copy, a parity or in-band FEC brought in time.
  package internal(set) var recoveredByFec: UInt64 = 0
  /// Of the lost, those that were sent again, and came in time.
  package internal(set) var recoveredByRetransmission: UInt64 = 0

  package init() {}

  /// From the first frame that came to the newest: what came and what is missing.
  package var expected: UInt64 { received &+ lost }
  /// Of the lost, those that nothing brought in time.
  package var residualLost: UInt64 {
    lost - min(lost, recoveredByFec &+ recoveredByRetransmission)
  }

  /// Takes out lost frames that were never sent: those that nothing brought first.
  mutating func remove(unsent count: UInt64) {
    let count = min(count, lost)
    var repaired = count - min(count, residualLost)
    lost -= count
    let byFec = min(repaired, recoveredByFec)
    recoveredByFec -= byFec
    repaired -= byFec
    recoveredByRetransmission -= min(repaired, recoveredByRetransmission)
  }
}
