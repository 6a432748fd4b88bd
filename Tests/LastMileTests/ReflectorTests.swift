import LastMile
import Primitives
import Testing
import Wire

/// A reflector alone, asked by hand.
private struct Asked {
  var reflector: Reflector
  var now = Instant(nanoseconds: 1_000_000_000)
  var number: UInt32 = 0
  var sentPackets = 0
  var sentBytes = 0
  var lastSent: Instant?
  let client: Reflector.Client

  init(_ limits: ReflectorLimits = ReflectorLimits(), session: UInt32 = 1) {
    reflector = Reflector(limits: limits)
    client = Self.client(session)
  }

  static func client(_ session: UInt32, prefix: UInt64 = 1) -> Reflector.Client {
    Reflector.Client(
      session: session, identity: PeerID(word0: UInt64(session), word1: 0, word2: 0, word3: 0),
      prefix: prefix, overhead: 28)
  }

  mutating func request(
    run: UInt32 = 7, rate: UInt32 = 0, train: UInt8 = 0, received: UInt32 = 0,
    from client: Reflector.Client? = nil, budget: UInt32 = 2_500_000
  ) {
    number += 1
    var request = ProbeRequestFrame(
      run: run, number: number, payloadByteCount: 1200, byteBudget: budget)
    request.rate = rate
    request.train = train
    request.trainLimit = .max
    request.receivedCount = received
    reflector.handle(request, from: client ?? self.client, now: now)
  }

  /// Frames that it writes now; each datagram's first frame.
  mutating func drain() -> [Frame] {
    var frames: [Frame] = []
    reflector.handleTimeout(now: now)
    while let session = reflector.nextSession(now: now) {
      var bytes: [UInt8] = []
      var hasWritten = false
      bytes.append(addingCapacity: Datagram.maximumByteCount) { output in
        hasWritten = reflector.writeFrames(
          to: session, into: &output, tagByteCount: 25, now: now)
      }
      guard hasWritten else { break }
      var reader = FrameReader(bytes.span)
      if let frame = try? reader.next() { frames.append(frame) }
      sentBytes += bytes.count + 25 + 28
      if case .probePacket = frames.last {
        sentPackets += 1
        lastSent = now
      }
    }
    return frames
  }

  /// Goes on for a while, in steps of a millisecond.
  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while now < end {
      now = now + .milliseconds(1)
      _ = drain()
    }
  }

  static func status(_ frames: [Frame]) -> ProbeAnswerFrame.Status? {
    for case .probeAnswer(let answer) in frames { return answer.status }
    return nil
  }
}

/// docs/protocol/probe.md §3: what a reflector refuses and stops.
@Suite struct ReflectorTests {
  @Test func `a train ends 250 ms after the last request`() {
    var asked = Asked()
    asked.request()
    #expect(Asked.status(asked.drain()) == .accepted)
    asked.request(rate: 300_000, train: 1)
    let last = asked.now
    asked.pass(.seconds(5))
    #expect(asked.sentPackets > 3)
    #expect((asked.lastSent ?? .zero) < last + .milliseconds(250))
    #expect(asked.reflector.runCount == 0, "forgotten 2 s after the last request")
  }

  @Test func `the rate grows only while arrivals are named`() {
    var asked = Asked()
    asked.request()
    for _ in 0..<50 {  // 2 s of requests that name nothing.
      asked.request(rate: 5_000_000, train: 1)
      asked.pass(.milliseconds(40))
    }
    // Two seconds at the rate that a train begins with, and a tenth.
    #expect(asked.sentBytes * 8 < 2 * 330_000 * 11 / 10)
    let before = asked.sentBytes
    for _ in 0..<50 {
      asked.request(rate: 5_000_000, train: 1, received: UInt32(asked.sentPackets))
      asked.pass(.milliseconds(40))
    }
    #expect(asked.sentBytes - before > 500_000, "it grows when they are named")
  }

  @Test func `a run may be as fast as its bytes last, and all together as fast as one`() {
    let limits = ReflectorLimits()
    #expect(limits.rate(forBytes: 26_250_000) == 105_000_000)
    #expect(limits.rate(forBytes: 60_000) == 5_250_000)
    #expect(limits.rate(forBytes: 26_250_000, granted: 100_000_000) == 5_250_000)
    #expect(limits.rate(forBytes: 26_250_000, granted: 84_000_000) == 21_000_000)
    #expect(limits.pause(forBytes: 60_000) == .seconds(1))
    #expect(limits.pause(forBytes: 2_500_000) == .seconds(15))
    #expect(limits.pause(forBytes: 26_250_000) == .milliseconds(62_500))
    var asked = Asked()
    asked.request(budget: 26_250_000)
    #expect(Self.rateLimit(asked.drain()) == 105_000_000)
    asked.request(run: 8, from: Asked.client(2), budget: 26_250_000)
    #expect(Self.rateLimit(asked.drain()) == 5_250_000, "another one has the rest")
  }

  @Test func `probes of usual lines leave a fast one beside them nearly all`() {
    var asked = Asked()
    let usual = UInt32(ProbePlan().byteBudget(.downlink))
    for session in 1...8 as ClosedRange<UInt32> {
      let client = Asked.client(session, prefix: UInt64(session))
      asked.request(run: session, from: client, budget: usual)
    }
    _ = asked.drain()
    asked.request(run: 9, from: Asked.client(9, prefix: 9), budget: 26_250_000)
    #expect((Self.rateLimit(asked.drain()) ?? 0) > 100_000_000)
  }

  private static func rateLimit(_ frames: [Frame]) -> UInt32? {
    for case .probeAnswer(let answer) in frames { return answer.rateLimit }
    return nil
  }

  @Test func `a run sends no more bytes than were agreed on`() {
    var asked = Asked()
    asked.request(budget: 200_000)
    var status: ProbeAnswerFrame.Status?
    for _ in 0..<200 {
      asked.request(
        rate: 5_000_000, train: 1, received: UInt32(asked.sentPackets), budget: 200_000)
      for _ in 0..<40 {
        asked.now = asked.now + .milliseconds(1)
        status = Asked.status(asked.drain()) ?? status
      }
    }
    #expect(asked.sentPackets * 1228 <= 200_000)
    #expect(asked.sentPackets * 1228 > 185_000)
    #expect(status == .budgetSpent)
  }

  @Test func `nothing more is sent when the session is gone or moves`() {
    var asked = Asked()
    asked.request()
    asked.request(rate: 300_000, train: 1)
    asked.pass(.milliseconds(100))
    #expect(asked.sentPackets > 0)
    asked.reflector.stop(asked.client.session)
    let before = asked.sentBytes
    asked.pass(.milliseconds(200))
    #expect(asked.sentBytes == before)
    asked.request(rate: 300_000, train: 2)
    #expect(Asked.status(asked.drain()) == .over, "the run does not begin anew")
    asked.reflector.drop(asked.client.session)
    asked.pass(.seconds(1))
    #expect(asked.sentBytes < before + 100)
  }

  @Test func `who asks too often, or while all places are taken, is told so`() {
    var limits = ReflectorLimits()
    limits.runs = 2
    limits.runsPerSource = 1
    var asked = Asked(limits)
    asked.request(run: 1, from: Asked.client(1, prefix: 1))
    #expect(Asked.status(asked.drain()) == .accepted)
    asked.number = 0
    asked.request(run: 2, from: Asked.client(2, prefix: 1))
    #expect(Asked.status(asked.drain()) == .busy, "one of each source")
    asked.number = 0
    asked.request(run: 3, from: Asked.client(3, prefix: 3))
    #expect(Asked.status(asked.drain()) == .accepted)
    asked.number = 0
    asked.request(run: 4, from: Asked.client(4, prefix: 4))
    #expect(Asked.status(asked.drain()) == .busy, "two in all")
  }

  @Test func `one client has four runs a minute, and a grade every second`() {
    var asked = Asked()
    var accepted = 0
    for run in 1...40 as ClosedRange<UInt32> {
      asked.number = 0
      asked.request(run: run)
      if Asked.status(asked.drain()) == .accepted { accepted += 1 }
      asked.pass(.milliseconds(2_100))
    }
    #expect((7...10).contains(accepted), "84 s: 4 and one every 15 s, not \(accepted)")
    var watched = Asked()
    var grades = 0
    for run in 1...40 as ClosedRange<UInt32> {
      watched.number = 0
      watched.request(run: run, budget: 60_000)
      if Asked.status(watched.drain()) == .accepted { grades += 1 }
      watched.pass(.milliseconds(2_100))
    }
    #expect(grades == 40)
  }

  @Test func `a closed reflector ends its runs and begins none`() {
    var asked = Asked()
    asked.request()
    _ = asked.drain()
    asked.reflector.close(.callInProgress)
    #expect(Asked.status(asked.drain()) == .callInProgress)
    asked.number = 0
    asked.request(run: 9)
    #expect(Asked.status(asked.drain()) == .callInProgress)
  }

  @Test func `a request beside the end of its run is told of the end, not accepted again`() {
    var asked = Asked()
    asked.request()
    _ = asked.drain()
    asked.reflector.close(.callInProgress)
    asked.request()
    #expect(Asked.status(asked.drain()) == .callInProgress)
    asked.request()
    #expect(Asked.status(asked.drain()) == .callInProgress)
    asked.pass(.seconds(3))
    #expect(asked.reflector.runCount == 0)
  }

  @Test func `a packet of no run draws nothing, so two reflectors cannot loop`() {
    var asked = Asked()
    asked.reflector.handle(
      ProbePacketFrame(run: 5, sequence: 0, sent: 0), from: 1, ecn: 0, now: asked.now)
    #expect(asked.drain().isEmpty)
    // Whatever one reflector says, another one answers none of it: it takes requests and packets.
    asked.request()
    asked.request(rate: 300_000, train: 1)
    asked.pass(.milliseconds(50))
    var other = Asked()
    for frame in asked.drain() {
      if case .probePacket(let packet) = frame {
        other.reflector.handle(packet, from: 1, ecn: 0, now: other.now)
      }
    }
    #expect(other.drain().isEmpty)
  }

  @Test func `no answer is longer than what it answers`() {
    var asked = Asked()
    asked.request()
    _ = asked.drain()
    #expect(asked.sentBytes <= ProbeRequestFrame.byteCount + 25 + 28)
    let before = asked.sentBytes
    var echo = ProbePacketFrame(run: 7, sequence: 0, sent: 0)
    echo.isEcho = true
    asked.reflector.handle(echo, from: 1, ecn: 0, now: asked.now)
    _ = asked.drain()
    #expect(asked.sentBytes - before <= ProbePacketFrame.payloadByteCounts.lowerBound + 28)
  }
}
