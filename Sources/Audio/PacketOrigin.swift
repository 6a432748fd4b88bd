/// How a frame of audio came to this end, and so what its arrival says about the path.
///
/// Only the packets that were sent for their own frame (`primary`) measure jitter and loss; what
/// was sent later on purpose must not be taken for lateness.
package enum PacketOrigin: Equatable, Sendable, BitwiseCopyable {
  /// In the packet that was sent for it.
  case primary
  /// In a packet that was sent for a later frame.
  ///
  /// - Parameters:
  ///   - steps: how much later the carrying packet's own frame is, in steps of 10 ms.
  ///   - isLowRate: whether it was encoded anew at a lower rate than the primary.
  case copy(steps: UInt16, isLowRate: Bool)
  /// Sent again on request, as it first was.
  case retransmission

  /// A frame of a higher rank replaces one of a lower rank that waits to be played.
  package var rank: UInt8 {
    switch self {
    case .primary, .retransmission, .copy(_, isLowRate: false): 1
    case .copy(_, isLowRate: true): 0
    }
  }
}
