import Cryptography
import Primitives
import Wire

/// Why a packet was not sealed or not taken.
package enum SessionError: Error, Equatable, Sendable {
  /// Fewer than 25 bytes, more than 1200, or no room for the tag.
  case wrongLength
  /// Not one of our connection IDs.
  case unknownConnection
  /// Does not open. Nothing has changed but the count of failures.
  case notAuthentic
  /// Seen before, or older than the window.
  case replayed
  /// No key is left: 180 s (rendezvous: 5400 s) old, 2^31 packets sent, or 2^36 failures.
  case closed
}

/// A packet that opened.
package struct OpenedPacket: Equatable, Sendable {
  /// Epoch × 2^32 + packet number.
  package let number: UInt64
  /// Where the frames are in the datagram, in the clear now.
  package let frames: Range<Int>
  /// No packet with a higher number has opened before: only such a one may move a path.
  package let isHighestYet: Bool
  /// The first one under new keys (docs/protocol/session.md §7).
  package let switchedEpoch: Bool
}

/// Both directions under one pair of keys: numbers, window, connection IDs
/// (docs/protocol/session.md §6). What sessions, epochs and ring keys have in common.
///
/// Station 8 of the house tour; next is `SentPacketHistory`.
struct PacketStream: ~Copyable {
  private var send: PacketCipher
  private var receive: PacketCipher
  let local: ConnectionID
  let remote: ConnectionID
  private(set) var nextNumber: UInt64 = 0
  private var window = PeerReplayWindow()

  init(
    send: consuming PacketCipher, receive: consuming PacketCipher, local: ConnectionID,
    remote: ConnectionID
  ) {
    self.send = send
    self.receive = receive
    self.local = local
    self.remote = remote
  }

  mutating func erase() {
    send.erase()
    receive.erase()
  }

  /// Seals `packet` under the next number and returns that number, which is used up also when the
  /// datagram is never sent.
  @_lifetime(packet: copy packet)
  mutating func seal(
    _ packet: inout OutputSpan<UInt8>, through lastNumber: UInt64 = SessionLimits.lastNumber
  ) throws(SessionError) -> UInt64 {
    guard nextNumber <= lastNumber else { throw .closed }
    guard packet.count + SealedPacket.tagByteCount <= Datagram.maximumByteCount else {
      throw .wrongLength
    }
    let number = nextNumber
    do throws(CryptographyError) {
      try send.seal(
        &packet, connectionID: remote.rawValue, number: UInt32(truncatingIfNeeded: number))
    } catch {
      throw .wrongLength
    }
    nextNumber = number + 1
    return number
  }

  /// Opens `packet` in place: unmask, check the window, open, and only then mark the number.
  @_lifetime(packet: copy packet)
  mutating func open(
    _ packet: inout MutableSpan<UInt8>
  ) throws(SessionError) -> (number: UInt64, frames: Range<Int>, isHighest: Bool) {
    guard packet.count <= Datagram.maximumByteCount else { throw .wrongLength }
    let number = UInt64(try unmask(&packet))
    guard window.accepts(number) else { throw .replayed }
    do throws(CryptographyError) {
      let frames = try receive.open(&packet, number: UInt32(truncatingIfNeeded: number))
      return (number, frames, window.insert(number))
    } catch {
      throw .notAuthentic
    }
  }

  @_lifetime(packet: copy packet)
  private func unmask(_ packet: inout MutableSpan<UInt8>) throws(SessionError) -> UInt32 {
    do throws(CryptographyError) {
      return try receive.unmask(&packet)
    } catch {
      throw error == .wrongLength ? .wrongLength : .notAuthentic
    }
  }
}
