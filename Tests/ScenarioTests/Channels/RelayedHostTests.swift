import Congestion
import Primitives
import Testing
import Wire

@testable import Peer

/// What has come of a host by a relay, and what the relay has left out of it.
struct RelayedHostTests {
  private var host = RelayedHost(capacity: 8, isTold: false)
  private var now = Instant(nanoseconds: 1_000_000_000)

  private mutating func speak(_ time: UInt16, level: UInt8 = 20, lastOther: Instant? = nil) {
    host.recordFrame(
      ChannelAudioLabel(
        length: .milliseconds20, isMarked: false, mediaTime: time, level: level), byteCount: 80,
      lastOther: lastOther, now: now)
  }

  @Test mutating func `a gap after silence is the relay's, one in speech is loss`() {
    speak(0)
    speak(2)
    speak(10)
    #expect(host.leftOut == 0 && !host.isSilent)
    speak(12, level: 127)
    #expect(host.isSilent)
    now = now + .seconds(1)
    speak(112, level: 127)
    #expect(host.leftOut == 49)
    speak(116)
    #expect(host.leftOut == 50 && !host.isSilent)
    // One that was overtaken ends no gap.
    speak(114, level: 127)
    #expect(host.leftOut == 50 && !host.isSilent)
    #expect(host.counters.packetsReceived == 7 && host.counters.payloadBytesReceived == 560)
  }

  @Test mutating func `a host that is missing while others are heard was left out`() {
    speak(65_500)
    let before = now
    now = now + .seconds(1)
    // The line was down for all.
    speak(64, lastOther: before)
    #expect(host.leftOut == 0)
    now = now + .seconds(1)
    speak(164, lastOther: now)
    #expect(host.leftOut == 49)
    now = now + .milliseconds(400)
    speak(204, lastOther: now)
    #expect(host.leftOut == 49)
  }

  @Test mutating func `a relay that counts what it leaves out is believed, and nothing is guessed`()
  {
    host = RelayedHost(capacity: 8, isTold: true)
    speak(0)
    now = now + .seconds(1)
    speak(100, lastOther: now)
    #expect(host.leftOut == 0)
    host.handleUnsent(0, isLeftOut: true)
    #expect(host.isSilent)
    now = now + .seconds(1)
    host.handleUnsent(49, isLeftOut: false)
    speak(200, lastOther: now)
    #expect(host.leftOut == 49 && !host.isSilent)
  }

  @Test mutating func `another relay counts from the beginning`() {
    host = RelayedHost(capacity: 8, isTold: true)
    speak(0)
    host.handleUnsent(40, isLeftOut: false)
    host.restart(isTold: true)
    // Nobody brought what was said meanwhile.
    speak(100)
    #expect(host.leftOut == 40)
    host.handleUnsent(3, isLeftOut: true)
    #expect(host.leftOut == 43)
    // It was left out when the relay went: what was said meanwhile is not missed.
    host.restart(isTold: true)
    speak(200)
    #expect(host.leftOut == 92)
    host.handleUnsent(5, isLeftOut: false)
    #expect(host.leftOut == 97)
    // An older relay: it is guessed again.
    host.restart(isTold: false)
    host.handleUnsent(500, isLeftOut: true)
    #expect(host.leftOut == 97 && !host.isSilent)
  }

  @Test mutating func `what a call brings while the relay is away is not missed`() {
    host = RelayedHost(capacity: 8, isTold: true)
    speak(0)
    host.restart(isTold: true)
    now = now + .seconds(1)
    for _ in 0...4 {
      host.handleCall(now: now)
      now = now + .milliseconds(250)
    }
    // The call has ended: of the last second nothing was heard.
    now = now + .milliseconds(750)
    speak(300)
    #expect(host.leftOut == 50)
    speak(302)
    // The same session: the relay had lost the line, and a call brought the whole.
    bringByCall()
    speak(402)
    #expect(host.leftOut == 50 + 49)
    // What the relay has not sent it has said: nothing counts twice.
    bringByCall()
    host.handleUnsent(30, isLeftOut: false)
    speak(502)
    #expect(host.leftOut == 50 + 49 + 49)
    // What neither brought is lost.
    speak(602)
    #expect(host.leftOut == 50 + 49 + 49)
  }

  /// A call brings a second of it, and the relay nothing.
  private mutating func bringByCall() {
    for _ in 0...4 {
      host.handleCall(now: now)
      now = now + .milliseconds(250)
    }
  }

  @Test mutating func `a host with another number is counted from the beginning`() {
    host = RelayedHost(capacity: 8, isTold: true)
    host.handleSource(3, isTold: true)
    speak(0)
    host.handleUnsent(2000, isLeftOut: false)
    speak(2)
    host.handleSource(4, isTold: true)
    speak(4)
    host.handleUnsent(30, isLeftOut: false)
    #expect(host.leftOut == 2030)
    host.handleSource(4, isTold: true)
    host.handleUnsent(31, isLeftOut: false)
    #expect(host.leftOut == 2031)
  }

  @Test mutating func `what came by one relay goes on to be counted with another`() {
    host = RelayedHost(capacity: 8, isTold: true)
    speak(0)
    host.handleUnsent(500, isLeftOut: true)
    var next = RelayedHost(capacity: 8, isTold: true, after: host.past)
    #expect(next.leftOut == 500 && next.isSilent && next.counters.packetsReceived == 0)
    next.handleUnsent(7, isLeftOut: false)
    #expect(next.leftOut == 507)
    swap(&host, &next)
    speak(100)
    // It was left out when that relay went.
    #expect(host.leftOut == 556 && !host.isSilent)
  }

  @Test mutating func `a host that comes back after ten minutes is heard`() {
    host = RelayedHost(capacity: 8, isTold: true)
    speak(0)
    host.handleUnsent(0, isLeftOut: true)
    now = now + .seconds(400)
    speak(40_000)
    #expect(!host.isSilent && host.leftOut == 0)
    speak(40_002, level: 127)
    #expect(host.isSilent)
  }

  /// Whether a value of such a type is in another one.
  private func holds(_ type: String, in value: Any) -> Bool {
    String(describing: Swift.type(of: value)) == type
      || Mirror(reflecting: value).children.contains { holds(type, in: $0.value) }
  }

  /// Goal: what is handed to the machine of another relay has counts, and no queue of frames.
  @Test func `frames of a former relay are not kept`() throws {
    let world = try RelayedWorld(seed: 902)
    for uid in 1...2 as ClosedRange<UInt32> { try world.join(uid) }
    world.run(.seconds(1))
    world.speak(1, 0)
    world.run(.milliseconds(100))
    let hosts = try #require(world.member(2)).machine.hosts
    #expect(holds("Past", in: hosts) && !holds("AudioFrameQueue", in: hosts))
  }

  /// Goal: who hears silence by a relay loses nothing.
  @Test func `numbers of the way and of a host, and silence that is no loss`() throws {
    let world = try RelayedWorld(seed: 901)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid, uid == 3 ? .audience : .host) }
    world.run(.seconds(1))
    for time in UInt16(0)..<200 {
      world.speak(1, time * 2, level: time < 50 ? 20 : 127)
      world.run(.milliseconds(20))
    }
    let listener = try #require(world.member(3))
    let read = (
      host: LinkStatistics(listener.machine, of: 1), none: LinkStatistics(listener.machine, of: 2),
      way: LinkStatistics(listener.machine, now: world.now)
    )
    let host = try #require(read.host)
    #expect((60...70).contains(host.media.packetsReceived))
    #expect(read.none == nil)
    let way = try #require(read.way)
    #expect(way.media.packetsReceived == host.media.packetsReceived && way.roundTrip != nil)
    #expect(way.arrivals.received > host.media.packetsReceived)
    let sender = try #require(world.member(1))
    let found = LinkStatistics(sender.machine, now: world.now)
    let sent = try #require(found)
    #expect(sent.media.packetsSent == 200)
    // Five packets count as lost, three more may; a tenth above the 197 bytes a frame.
    #expect(sent.quality.packetsLost <= 8 && sent.media.wireBytesSent <= 200 * 217)
    withKnownIssue("what was sent before the relay reports counts as lost: copies go out") {
      #expect(sent.quality.packetsLost == 0 && sent.media.payloadBytesSent == 200 * 80)
      #expect((200 * 110...200 * 123).contains(Int(sent.media.wireBytesSent)))
    }
    let isSilent = listener.machine.isSilent(1)
    #expect(isSilent)
  }
}
