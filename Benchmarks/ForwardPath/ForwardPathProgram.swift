import AllocationCounter
import Channels
import Forwarding
import Glibc
import Peer
import Primitives
import Rendezvous
import SecureSession
import Tokens
import Wire

/// Prints one line of JSON for each number of members.
enum ForwardPathProgram {
  static let usage = """
    usage: ForwardPath [--frames N] [--rounds N]

    One host and 1, 10 and 50 listeners at a relay, without sockets: thread CPU time of the relay's
    machine for a packet that it forwards, from the datagram that comes to the sealed one that
    leaves, and calls of malloc and its kin. The least of the rounds counts.

    """

  static func run(_ words: [String]) -> Int32 {
    guard words.count % 2 == 0, let frames = number("--frames", words, 2000),
      let rounds = number("--rounds", words, 5)
    else {
      print(usage, terminator: "")
      return 2
    }
    for count in [1, 10, 50] {
      var room = RelayRoom(listeners: count)
      var best = Double.infinity
      var allocations: UInt64 = 0
      for round in 0..<rounds {
        let cost = room.measure(frames: frames)
        best = min(best, cost.nanoseconds)
        if round > 0 { allocations = max(allocations, cost.allocations) }
      }
      print(
        "{\"listeners\": \(count), \"nsPerPacket\": \(Int(best)), "
          + "\"bytes\": \(room.byteCount), \"allocations\": \(allocations), \"frames\": \(frames)}")
    }
    return 0
  }

  /// At least 1; `nil` for what is none.
  private static func number(_ name: String, _ words: [String], _ usual: Int) -> Int? {
    guard let place = words.firstIndex(of: name) else { return usual }
    return words.dropFirst(place + 1).first.flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
  }
}

/// Where packets of the relay go: one memory, that is written over.
private struct Sink: DatagramOutlet {
  private var bytes = [UInt8](repeating: 0, count: 2048)
  private(set) var count = 0
  private(set) var byteCount = 0

  mutating func send(
    _ byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> DatagramPath?
  ) -> Bool {
    var path: DatagramPath?
    let written = unsafe bytes.withUnsafeMutableBufferPointer { room in
      var packet = unsafe OutputSpan(buffer: room, initializedCount: 0)
      path = write(&packet)
      return unsafe packet.finalize(for: room)
    }
    guard path != nil else { return false }
    count += 1
    self.byteCount = written
    return true
  }

  func flush() {}
}

/// A channel at a relay, in one process.
struct RelayRoom: ~Copyable {
  private static let wall: UInt64 = 1_790_000_000
  private static let address = SocketAddress(v4: 192, 0, 2, 1, port: 7500)

  /// A class, because a list of machines cannot be copied.
  private final class Member {
    var machine: ChannelRelayMachine
    let address: SocketAddress
    var events: [ChannelRelayEvent] = []

    init(_ machine: consuming ChannelRelayMachine, _ address: SocketAddress) {
      self.machine = machine
      self.address = address
    }
  }

  private var relay: RendezvousMachine
  private var members: [Member] = []
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var time: UInt16 = 0
  private var sink = Sink()
  /// Of the last packet that left.
  var byteCount: Int { sink.byteCount }

  init(listeners: Int) {
    var random = RandomSource(seed: 1)
    guard let tea = ChannelIdentity("tea") else { preconditionFailure("a name") }
    let signer = TokenSigningKey(random: &random)
    var identity = LocalIdentity(kind: .peer, unixSeconds: Self.wall, random: &random)
    guard let card = try? identity.makeCard(unixSeconds: Self.wall) else {
      preconditionFailure("a card without a home always fits")
    }
    let relayID = identity.id
    var settings = ServerSettings(
      identity: identity, card: card, bootCounter: 1, resetKey: Array(repeating: 1, count: 32),
      wallMilliseconds: Self.wall * 1000, tokenKey: signer.publicKey)
    settings.forwarding = ForwardingLimits()
    relay = RendezvousMachine(settings, store: MemoryStore(), random: random.split())
    for index in 0...listeners {
      let uid = UInt32(index + 1)
      let role: MemberRole = index == 0 ? .host : .audience
      let own = LocalIdentity(kind: .peer, unixSeconds: Self.wall, random: &random)
      let claims = TokenClaims(
        audience: "\(relayID)", subject: own.id,
        scope: SeatClaim(channel: tea.id, uid: uid, role: role).scope,
        expires: (Self.wall + 3600) * 1000, uid: uid)
      let grant = ChannelRelayGrant(
        relay: relayID, address: Self.address,
        token: Array(PublicToken(signing: claims.json, by: signer).text.utf8))
      let stated = ChannelMember(uid: uid, role: role, joinNumber: 1, id: own.id)
      guard
        let machine = try? ChannelRelayMachine(
          ChannelRelayMachine.Settings(
            channel: tea, own: stated, token: [], grant: grant,
            wallClockAtZero: Int64(Self.wall * 1000)),
          identity: own, random: random.split(), now: now)
      else { preconditionFailure("an open channel wants no token") }
      members.append(
        Member(machine, SocketAddress(v4: 10, 0, UInt8(index), 1, port: 4000)))
    }
    for _ in 0..<150 { step(.milliseconds(20)) }
    precondition(relay.gauges.seats == listeners + 1, "all have their seats")
  }

  /// Time passes, and everything that is sent arrives.
  private mutating func step(_ duration: Duration) {
    now = now + duration
    var inbound: [(bytes: [UInt8], from: SocketAddress)] = []
    for member in members {
      member.machine.handleTimeout(now: now)
      var out = DatagramList()
      _ = drain(&member.machine, into: &out, events: &member.events, now: now)
      member.events = []
      inbound += out.datagrams.map { ($0.bytes, member.address) }
    }
    for (bytes, source) in inbound {
      var copy = bytes
      var span = copy.mutableSpan
      relay.handle(&span, from: source, marks: DatagramMarks(), now: now)
    }
    relay.handleTimeout(now: now)
    var events: [ServerEvent] = []
    var out = DatagramList()
    _ = drain(&relay, into: &out, events: &events, now: now)
    for (bytes, path) in out.datagrams {
      guard let member = members.first(where: { $0.address == path.remote }) else { continue }
      var copy = bytes
      var span = copy.mutableSpan
      member.machine.handle(&span, from: Self.address, marks: DatagramMarks(), now: now)
    }
  }

  /// Frames of 80 bytes, 20 ms apart: what the relay does for each of them.
  mutating func measure(frames: Int) -> (nanoseconds: Double, allocations: UInt64) {
    let payload = [UInt8](repeating: 7, count: 80)
    var packets: [[UInt8]] = []
    let host = members[0]
    for _ in 0..<frames {
      time &+= 2
      let label = ChannelAudioLabel(
        length: .milliseconds20, isMarked: false, mediaTime: time, level: 30)
      _ = host.machine.sendAudio(payload.span, label, now: now)
      var out = DatagramList()
      _ = drain(&host.machine, into: &out, events: &host.events, now: now)
      packets += out.datagrams.map(\.bytes)
    }
    var events: [ServerEvent] = []
    events.reserveCapacity(16)
    let countBefore = sink.count
    let allocationsBefore = allocation_total()
    let began = Self.threadNanoseconds()
    for index in packets.indices {
      now = now + .milliseconds(20)
      var span = packets[index].mutableSpan
      relay.handle(&span, from: host.address, marks: DatagramMarks(), now: now)
      _ = drain(&relay, into: &sink, events: &events, now: now)
    }
    let nanoseconds = Double(Self.threadNanoseconds() - began)
    let allocations = allocation_total() - allocationsBefore
    return (nanoseconds / Double(max(1, sink.count - countBefore)), allocations)
  }

  private static func threadNanoseconds() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
