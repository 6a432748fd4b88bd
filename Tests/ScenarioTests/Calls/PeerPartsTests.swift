import Calling
import LastMile
import Primitives
import SecureSession
import Testing
import Wire

@testable import Peer

/// The parts of a peer and of its contact with the rendezvous, each alone.
@Suite struct PeerPartsTests {
  private static let start = Instant.zero + .seconds(5)
  private static let server = SocketAddress(v4: 192, 0, 2, 1, port: 7400)

  @Test func `events come in their order, and no more than the limit wait`() {
    var events = PeerEventQueue(limit: 2)
    var polled = 0
    for _ in 0..<2 {
      #expect(!events.isFull)
      events.append(.registration(.connecting))
    }
    #expect(events.isFull)
    while events.poll() != nil { polled += 1 }
    #expect(polled == 2 && !events.isFull)
  }

  @Test func `last words are given up after half a second, or after eight`() {
    var life = PeerLife.running
    #expect(life.nextDeadline(latest: Self.start) == nil)
    life.end(now: Self.start)
    life.end(now: Self.start + .seconds(1))
    #expect(life.nextDeadline(latest: Self.start) == Self.start + .milliseconds(500))
    let late = Self.start + .milliseconds(500)
    #expect(life.nextDeadline(latest: late) == Self.start + .seconds(8))
    life = .over
    #expect(life.isOver && life.nextDeadline(latest: late) == nil)
  }

  @Test func `an uplink without two calls is not divided`() {
    var sharing = UplinkSharing()
    sharing.divide(among: [], now: Self.start)
    #expect(sharing.nextDeadline([]) == nil)
  }

  @Test func `a registration counts when the server has shown that it has our confirmation`() {
    var standing = RendezvousStanding.none
    #expect(standing.confirm() == nil && !standing.isRegistered)
    let token = Bytes16([UInt8](repeating: 7, count: 16)) ?? .zero
    let payload = ResponsePayload(
      responder: ConnectionID(rawValue: 1), initiator: ConnectionID(rawValue: 2),
      seenAddress: Self.server,
      terms: SessionTerms(
        serverTime: 1_000_000, boot: 1, life: 100, period: 20, resetToken: token,
        status: .noNameAskedFor, knownSerial: 0))
    standing = .answered(
      RendezvousStanding.Terms(payload: payload, since: Self.start, asked: Self.start))
    #expect(standing.isRegistered && !standing.isConfirmed)
    #expect(standing.confirm() != nil && standing.isConfirmed)
    #expect(standing.confirm() == nil, "once")
    #expect(standing.terms?.renewal == Self.start + .seconds(90))
    #expect(standing.terms?.serverMilliseconds(now: Self.start + .seconds(2)) == 1_002_000)
    var reset: [UInt8] = []
    ResetPacket(answered: ConnectionID(rawValue: 2), token: token, padding: .zero).write(to: &reset)
    let isEnded = standing.isEnded(by: reset.span)
    reset[20] ^= 1
    let isForged = standing.isEnded(by: reset.span)
    #expect(isEnded && !isForged)
  }

  @Test func `each INIT says a later time, and a granted name is on the next card`() {
    var schedule = AttemptSchedule()
    let first = schedule.initTime(unixMilliseconds: 1000)
    #expect(schedule.initTime(unixMilliseconds: 500) > first)
    schedule.amendment.withholdsName = true
    schedule.retry(isInCall: false, chance: 0.5, now: Self.start)
    #expect(schedule.failures == 1 && schedule.next == Self.start + .seconds(1))
    schedule.handleSuccess(.nameGranted)
    #expect(schedule.failures == 0 && !schedule.amendment.withholdsName)
  }

  @Test func `a pinned server is the only one whose card is kept`() throws {
    var random = RandomSource(seed: 3)
    let time: UInt64 = 1_800_000_000
    var host = LocalIdentity(kind: .rendezvous, unixSeconds: time, random: &random)
    let card = try host.makeCard(unixSeconds: time)
    var configuration = PeerConfiguration(rendezvous: Self.server, wallClockAtZero: 0)
    configuration.rendezvousCard = card.bytes
    var known = KnownRendezvous(configuration)
    #expect(known.card?.id == card.id && known.expectedID == nil)
    known.handleAnswer(card)
    #expect(known.confirm()?.id == card.id, "now it is expected")
    known.handleAnswer(card)
    #expect(known.confirm() == nil && known.expectedID == card.id)
    configuration.rendezvousID = .zero
    #expect(KnownRendezvous(configuration).card == nil)
  }

  @Test func `a probe that waits for the session says so when its time is over`() {
    var probe = RendezvousProbe()
    #expect(!probe.isProbing)
    probe.ask(ProbePlan(), run: 1, now: Self.start)
    #expect(probe.isProbing && probe.awaitsSession)
    #expect(probe.nextDeadline(canSend: false) == Self.start + .seconds(8))
    #expect(probe.hasExpired(now: Self.start + .seconds(8)))
    guard case .finished = probe.end(.noAnswer, now: Self.start) else {
      Issue.record("no report")
      return
    }
    #expect(!probe.isProbing)
  }
}
