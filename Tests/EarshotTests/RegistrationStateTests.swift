import Peer
import Primitives
import Testing

@testable import Earshot

/// What an application is told of its contact with the rendezvous.
struct RegistrationStateTests {
  private static let id = PeerID(Bytes32.zero)

  private static func state(_ failure: RegistrationFailure) -> RegistrationState {
    RegistrationState(.failed(failure)) { _ in .closed }
  }

  @Test func `an outage is never final`() {
    #expect(Self.state(.noAnswer) == .reconnecting(.closed))
    #expect(Self.state(.notUnderstood) == .reconnecting(.closed))
    #expect(RegistrationState(.reconnecting) { _ in .closed } == .reconnecting(nil))
  }

  @Test func `what the user must change is final`() {
    let final: [RegistrationFailure] = [
      .identityMismatch(expected: Self.id, found: Self.id),
      .versionMismatch(lowest: 2, highest: 3), .notAllowed, .replaced, .isRelay,
    ]
    for failure in final { #expect(Self.state(failure) == .failed(.closed), "\(failure)") }
  }
}
