import Peer
import Primitives
import Reactor
import Relay
import Testing

@testable import Earshot

/// One TURN server that is asked for a relay, in simulated time and on the loopback address.
@Suite struct RelayTrialTests {
  private static let server = SocketAddress(v4: 192, 0, 2, 1, port: 3478)

  private func trial() -> RelayTrial {
    RelayTrial(
      RelayServer(
        server: Self.server, credentials: RelayCredentials(user: "u", password: "p")),
      random: RandomSource(seed: 1))
  }

  /// What it sends and tells at a moment.
  private func drained(
    _ trial: inout RelayTrial, now: Instant
  ) -> (paths: [DatagramPath], events: [RelayTrial.Event]) {
    var sent = DatagramList()
    var events: [RelayTrial.Event] = []
    _ = drain(&trial, into: &sent, events: &events, now: now)
    return (sent.datagrams.map(\.path), events)
  }

  private func answer(_ trial: inout RelayTrial, from source: SocketAddress, now: Instant) {
    var bytes: [UInt8] = [0, 1, 2, 3]
    var span = bytes.mutableSpan
    trial.handle(&span, from: source, marks: DatagramMarks(), now: now)
  }

  @Test func `the time from a request to its answer is the round trip`() {
    var trial = trial()
    let start = Instant.zero + .seconds(1)
    trial.start(now: start)
    let sent = drained(&trial, now: start)
    #expect(sent.paths.map(\.remote) == [Self.server])
    answer(&trial, from: SocketAddress(v4: 10, 0, 0, 1, port: 9), now: start + .milliseconds(2))
    #expect(trial.roundTrip == nil)
  }

  @Test func `of a request that was repeated no round trip is taken`() {
    let start = Instant.zero + .seconds(1)
    for isRepeated in [false, true] {
      var trial = trial()
      trial.start(now: start)
      _ = drained(&trial, now: start)
      var now = start
      if isRepeated {
        now = now + .milliseconds(250)
        trial.handleTimeout(now: now)
        #expect(drained(&trial, now: now).paths.count == 1)
      }
      answer(&trial, from: Self.server, now: now + .milliseconds(30))
      #expect(trial.roundTrip == (isRepeated ? nil : .milliseconds(30)))
    }
  }

  @Test func `a server that is silent gives no relay`() {
    var trial = trial()
    var now = Instant.zero + .seconds(1)
    trial.start(now: now)
    var events: [RelayTrial.Event] = []
    while events.isEmpty, now < .zero + .seconds(60) {
      events = drained(&trial, now: now).events
      now = max(now, trial.nextDeadline ?? now + .seconds(60))
      trial.handleTimeout(now: now)
    }
    #expect(events == [.relay(.failed(.noAnswer))])
  }

  @Test(.timeLimit(.minutes(1)))
  func `nobody who listens and no TURN server are told apart from a relay`() async {
    let options = RelayOptions(uri: "turn:127.0.0.1:1?transport=tcp", user: "u", password: "p")
    let told = await RelayExaminer.examine(
      options, isOffered: true, authorities: nil, bind: "127.0.0.1:0")
    #expect(told.error?.code == .relayUnavailable && told.relayed == nil && told.isOffered)
    let none = RelayOptions(uri: "http://x", user: "u", password: "p")
    let refused = await RelayExaminer.examine(
      none, isOffered: false, authorities: nil, bind: "127.0.0.1:0")
    #expect(refused.error?.code == .invalidArgument && refused.server == nil)
  }
}
