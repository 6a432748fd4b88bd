/// What waits to be sent, in the order in which it goes (docs/congestion.md).
package enum SendClass: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  case audio, feedback, message, retransmission, video, bulk, padding
}

extension SendClass {
  /// It leaves at the rate, not at once.
  var isPaced: Bool { rawValue >= SendClass.message.rawValue }
  /// It waits while as much is under way as the path holds.
  var isLimited: Bool { rawValue >= SendClass.retransmission.rawValue }
}
