package import Primitives
package import Wire

/// What an examination asks: what gets in to this program, by echoes of the rendezvous
/// (docs/protocol/frames.md §12), and why it has no session.
extension PeerMachine {
  /// Why the attempt to register that is under way would fail if it ended now; `nil` = there is
  /// none.
  package var registrationTrouble: RegistrationFailure? { rendezvous.trouble }

  /// By which another program of the identity names this one.
  package var presenceID: PresenceID { rendezvous.presence.id }

  /// Asks for an echo, in a packet with so many bytes of UDP payload.
  package mutating func askForEcho(
    _ request: EchoRequestFrame, byteCount: Int, now: Instant
  ) {
    rendezvous.echoes.ask(request, byteCount: byteCount)
    settle(now: now)
  }

  /// The echoes that came, the newest last.
  package var heardEchoes: [HeardEcho] { rendezvous.echoes.heard }

  /// Says nothing by itself from now on, until it is shut down: the rendezvous forgets the session
  /// after a minute, and translators the mapping when they like.
  package mutating func hush() { rendezvous.echoes.isHushed = true }
}
