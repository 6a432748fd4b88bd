package import Primitives

/// A packet as its sender remembers it.
package struct SentPacket: Equatable, Sendable, BitwiseCopyable {
  /// Epoch in the upper 32 bits, packet number in the lower.
  package var number: UInt64
  package var sent: Instant
  /// The whole datagram's.
  package var byteCount: Int
  /// It asks for FEEDBACK.
  package var elicitsFeedback: Bool
  /// It carries MSG frames: whoever sent them wants to know what became of it.
  package var hasMessages: Bool
  /// For the caller's own use.
  package var token: UInt32

  package init(
    number: UInt64, sent: Instant, byteCount: Int, elicitsFeedback: Bool, hasMessages: Bool,
    token: UInt32 = 0
  ) {
    self.number = number
    self.sent = sent
    self.byteCount = byteCount
    self.elicitsFeedback = elicitsFeedback
    self.hasMessages = hasMessages
    self.token = token
  }
}

/// What became of one packet.
package struct PacketOutcome: Equatable, Sendable, BitwiseCopyable {
  package enum Fate: UInt8, Sendable, BitwiseCopyable {
    case acknowledged
    case lost
    /// Reported after it had been given out as lost: that loss was spurious.
    case acknowledgedLate
  }

  package var packet: SentPacket
  package var fate: Fate
  /// On the receiver's clock, in 250 µs, unwrapped; without meaning for a lost packet.
  package var arrivalTicks: Int64
  package var isCongestionExperienced: Bool
}
