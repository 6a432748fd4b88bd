import Earshot
import PeerCommand
import Primitives
import Testing

/// What a person is told of a rendezvous that comes and goes.
struct RendezvousContactTests {
  private static let silent = EarshotError.rendezvousUnreachable(SocketAddress("192.0.2.1:7400")!)
  private static let there = RegistrationState.registered(
    seenAs: SocketAddress("192.0.2.9:5000")!, name: .granted)

  @Test func `an outage is warned of once, and its end told once`() {
    var contact = RendezvousContact(isPatient: true)
    var lines: [String] = []
    func tell(_ state: RegistrationState, at seconds: Int64, isInCall: Bool = false) {
      let now = Instant.zero + .seconds(seconds)
      if let line = contact.follow(state, isInCall: isInCall, now: now) { lines.append(line) }
    }
    tell(.connecting, at: 0)
    tell(Self.there, at: 1)
    #expect(lines.isEmpty)
    tell(.reconnecting(nil), at: 100)
    tell(.reconnecting(Self.silent), at: 110)
    #expect(contact.trouble == Self.silent && contact.failure == nil)
    tell(.reconnecting(.rendezvousNotUnderstood(SocketAddress("192.0.2.1:7400")!)), at: 120)
    tell(.reconnecting(Self.silent), at: 130)
    #expect(lines.count == 1 && lines[0].contains("lost"))
    tell(Self.there, at: 135)
    #expect(lines.count == 2 && lines[1] == "registered again after 0:35")
    #expect(contact.trouble == nil)
    tell(.reconnecting(nil), at: 200, isInCall: true)
    tell(Self.there, at: 202)
    #expect(lines.count == 4 && lines[2].contains("the call goes on"))
  }

  @Test func `a rendezvous that is not there yet is warned of by who waits for it`() {
    var patient = RendezvousContact(isPatient: true)
    var hasty = RendezvousContact(isPatient: false)
    let first = patient.follow(.reconnecting(Self.silent), isInCall: false, now: .zero)
    #expect(first?.contains("Nothing that can be understood answers") == true)
    #expect(patient.follow(.reconnecting(Self.silent), isInCall: false, now: .zero) == nil)
    let end = patient.follow(Self.there, isInCall: false, now: .zero + .seconds(90))
    #expect(end?.contains("1:30") == true)
    // A moment at the start is no outage.
    var brief = RendezvousContact(isPatient: true)
    _ = brief.follow(.reconnecting(Self.silent), isInCall: false, now: .zero)
    #expect(brief.follow(Self.there, isInCall: false, now: .zero + .seconds(1)) == nil)
    // Who does not wait ends with the error instead.
    #expect(hasty.follow(.reconnecting(Self.silent), isInCall: false, now: .zero) == nil)
    #expect(hasty.trouble == Self.silent)
  }

  @Test func `an end for good is remembered, whenever it came`() {
    var contact = RendezvousContact(isPatient: true)
    _ = contact.follow(Self.there, isInCall: false, now: .zero)
    _ = contact.follow(.failed(.closed), isInCall: true, now: .zero)
    #expect(contact.failure == .closed)
  }

  /// Method: the rendezvous is started again with another key, so that an outage comes first.
  @Test func `a token that is refused is told beside the outage, once of each fault`() {
    let refused = EarshotError(.tokenRefused, "Another key signed it.", advice: "Ask.")
    let expired = EarshotError(.tokenExpired, "It has expired.", advice: "Ask.")
    var contact = RendezvousContact(isPatient: true)
    var lines: [String] = []
    func tell(_ state: RegistrationState, at seconds: Int64) {
      let now = Instant.zero + .seconds(seconds)
      if let line = contact.follow(state, isInCall: false, now: now) { lines.append(line) }
    }
    tell(Self.there, at: 0)
    tell(.reconnecting(nil), at: 10)
    tell(.failed(refused), at: 12)
    #expect(lines.count == 2 && lines.last == "Another key signed it. Ask.")
    #expect(contact.failure == nil && contact.trouble == refused)
    tell(.connecting, at: 20)
    tell(.failed(refused), at: 21)
    tell(.reconnecting(refused), at: 22)
    #expect(lines.count == 2)
    tell(.failed(expired), at: 23)
    #expect(lines.count == 3 && lines.last == "It has expired. Ask.")
    tell(Self.there, at: 70)
    #expect(lines.last == "registered again after 1:00")
    tell(.failed(expired), at: 80)
    #expect(lines.count == 5 && lines.last == "It has expired. Ask.")
  }

  @Test func `who was never registered ends for want of a token`() {
    let refused = EarshotError(.tokenRefused, "Another key signed it.", advice: "Ask.")
    var contact = RendezvousContact(isPatient: true)
    #expect(contact.follow(.failed(refused), isInCall: false, now: .zero) == nil)
    #expect(contact.failure == refused)
    var hasty = RendezvousContact(isPatient: false)
    _ = hasty.follow(Self.there, isInCall: false, now: .zero)
    _ = hasty.follow(.failed(refused), isInCall: false, now: .zero)
    #expect(hasty.failure == refused)
  }

  @Test func `another token is wanted after a refusal and after an end`() {
    for code in EarshotError.Code.allCases {
      let error = EarshotError(code, "No.", advice: "")
      let isWanted = [.tokenRefused, .tokenExpired].contains(code)
      for state in [RegistrationState.failed(error), .reconnecting(error)] {
        #expect(RendezvousContact.wantsToken(state) == isWanted, "\(state)")
      }
    }
    for state in [RegistrationState.connecting, .reconnecting(nil), Self.there] {
      #expect(!RendezvousContact.wantsToken(state))
    }
  }

  @Test func `a name that somebody else got meanwhile is told`() {
    var contact = RendezvousContact(isPatient: true)
    _ = contact.follow(Self.there, isInCall: false, now: .zero)
    _ = contact.follow(.reconnecting(nil), isInCall: false, now: .zero)
    let taken = RegistrationState.registered(
      seenAs: SocketAddress("192.0.2.9:5000")!, name: .taken)
    let line = contact.follow(taken, isInCall: false, now: .zero + .seconds(7))
    #expect(line?.contains("belongs to another identity") == true)
  }

  @Test func `waits double, stay within half a minute, and differ`() {
    for chance in [0, 0.5, 0.999] {
      var delay = RetryDelay()
      let waits = (0..<12).map { _ in delay.next(chance: chance) }
      #expect(waits[0] >= .milliseconds(750) && waits[0] <= .milliseconds(1250))
      #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 <= $1 })
      #expect(waits[11] >= .milliseconds(22_500) && waits[11] <= .milliseconds(37_500))
    }
  }
}
