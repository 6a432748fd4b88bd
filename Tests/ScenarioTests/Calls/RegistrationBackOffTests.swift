import Testing

@testable import Peer

struct RegistrationBackOffTests {
  @Test func `waits double up to 5 s, a quarter more or less`() {
    let expected = [1.0, 2, 4, 5, 5, 5]
    for (index, seconds) in expected.enumerated() {
      for chance in [0, 0.25, 0.5, 0.999] {
        let wait = RegistrationBackOff.wait(after: index + 1, isInCall: false, chance: chance)
        let wanted = seconds * (0.75 + 0.5 * chance)
        #expect(abs(wait / .seconds(1) - wanted) < 0.002)
      }
    }
    // Days later it is the same, and a call never waits long.
    let late = RegistrationBackOff.wait(after: 100_000, isInCall: false, chance: 0.999)
    #expect(late <= .milliseconds(6250))
    #expect(RegistrationBackOff.wait(after: 9, isInCall: true, chance: 0.5) == .milliseconds(500))
  }
}
