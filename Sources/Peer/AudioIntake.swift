/// Takes the bodies of a call's audio out of their packets at once, so that they do not wait in the
/// machine and are copied once: into what the media thread reads.
package protocol AudioIntake: AnyObject, Sendable {
  /// Copies a body, or leaves it out where there is no room: late audio is worth less than new.
  ///
  /// - Parameters:
  ///   - roundTrip: to the other side, as `PeerMachine.roundTrip`.
  ///   - allowance: for the own audio, as `PeerMachine.audioAllowance`.
  func carry(
    _ body: Span<UInt8>, _ audio: ReceivedAudio,
    roundTrip: (smoothed: UInt64, minimum: UInt64)?, allowance: Int?)
}
