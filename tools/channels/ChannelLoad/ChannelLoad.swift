import Channels
import Glibc
import GroupKeys
import Peer
import Primitives
import Reactor
import SecureSession
import Tokens
import Wire

/// All members on one loop, each with a socket of its own.
final class ChannelLoad {
  /// The rendezvous whose grants the relay takes: the same in each run.
  static var rendezvous: LocalIdentity {
    var random = RandomSource(seed: 41)
    return LocalIdentity(kind: .rendezvous, unixSeconds: unixSeconds, random: &random)
  }

  private static var unixSeconds: UInt64 { SystemClock.wallNanoseconds / 1_000_000_000 }

  /// One member.
  private final class Member {
    let driver: MachineDriver<ChannelRelayMachine>
    let stated: ChannelMember
    var isSeated = false
    var hasHeard = false
    var heard = 0

    init(_ driver: MachineDriver<ChannelRelayMachine>, _ stated: ChannelMember) {
      self.driver = driver
      self.stated = stated
    }
  }

  private let options: LoadOptions
  private let signer = LocalIdentityBox(rendezvous)
  private let loop: EventLoop
  private let channel: ChannelIdentity
  private let wall: UInt64
  private var random = RandomSource.system
  private var members: [Member] = []
  private var pending: [(stated: ChannelMember, identity: LocalIdentityBox)] = []
  private var roster: [ChannelMember] = []
  private var timer: EventLoop.Token?
  private var mediaTime: UInt16 = 0
  private var ticks = 0
  /// While figures are taken; the tick at which it began.
  private var began: Int?
  private var said = 0
  /// Frames that were sent within it are counted, by the clock that they carry, in ns.
  private var counted: (from: UInt64, until: UInt64) = (.max, .max)
  /// How late frames were, in µs.
  private var delays: [UInt32] = []
  private var isFailed = false

  init(_ options: LoadOptions) throws {
    self.options = options
    loop = try EventLoop()
    wall = SystemClock.wallNanoseconds / 1_000_000 &- SystemClock.now.nanoseconds / 1_000_000
    guard let tea = ChannelIdentity("load") else { preconditionFailure("a name") }
    channel = tea
    delays.reserveCapacity(1 << 20)
    for index in 0..<(options.hosts + options.audience) {
      let identity = LocalIdentity(
        kind: .peer, unixSeconds: Self.unixSeconds, random: &random)
      let stated = ChannelMember(
        uid: UInt32(index + 1), role: index < options.hosts ? .host : .audience, joinNumber: 1,
        id: identity.id)
      pending.append((stated, LocalIdentityBox(identity)))
      roster.append(stated)
    }
    pending.reverse()
  }

  func run() throws -> Int32 {
    timer = try loop.addTimer { [self] now in tick(now: now) }
    if let timer { loop.setDeadline(timer, SystemClock.now) }
    loop.run()
    for member in members {
      member.driver.withMachine { machine, now in machine.shutDown(now: now) }
    }
    return isFailed ? 1 : 0
  }

  // MARK: - Each 20 ms

  private func tick(now: Instant) {
    ticks += 1
    mediaTime &+= 2
    if let began, ticks == began + options.seconds * 50 {
      counted.until = SystemClock.now.nanoseconds
      say("{\"type\": \"done\"}")
    }
    for _ in 0..<Self.joinsAtOnce where !pending.isEmpty { join(now: now) }
    for (index, member) in members.enumerated() where member.stated.role == .host {
      speak(member, index, now: now)
    }
    if pending.isEmpty { follow() }
    if let timer { loop.setDeadline(timer, now + .milliseconds(20)) }
  }

  private func speak(_ member: Member, _ index: Int, now: Instant) {
    var payload = [UInt8](repeating: 7, count: 80)
    let time = SystemClock.now.nanoseconds
    for place in 0..<8 { payload[place] = UInt8(truncatingIfNeeded: time >> UInt64(place * 8)) }
    // Three are loud; the others take turns in being quieter.
    let level = UInt8(index < 3 ? 20 : 40 + (index + ticks / 50) % 40)
    let label = ChannelAudioLabel(
      length: .milliseconds20, isMarked: false, mediaTime: mediaTime, level: level)
    let isSent = member.driver.withMachine { machine, now in
      machine.sendAudio(payload.span, label, now: now)
    }
    if isSent, time >= counted.from, time < counted.until { said += 1 }
  }

  private func follow() {
    if let began {
      guard ticks >= began + options.seconds * 50 + Self.grace else { return }
      report()
      return loop.stop()
    }
    // Nobody is heard by the only host.
    let isReady = members.allSatisfy { member in
      member.isSeated && (member.hasHeard || member.stated.role == .host && options.hosts == 1)
    }
    if isReady || ticks > Self.patience {
      began = ticks
      counted.from = SystemClock.now.nanoseconds
      let seats = members.count(where: \.isSeated)
      let hearing = members.count(where: \.hasHeard)
      isFailed = !isReady
      say("{\"type\": \"begin\", \"seats\": \(seats), \"hearing\": \(hearing)}")
    }
  }

  private func report() {
    delays.sort()
    func share(_ part: Double) -> Double {
      delays.isEmpty ? 0 : Double(delays[Int(Double(delays.count - 1) * part)]) / 1000
    }
    let heard = members.reduce(0) { $0 + $1.heard }
    say(
      "{\"type\": \"end\", \"said\": \(said), \"heard\": \(heard), \"delayMs\": "
        + "{\"p50\": \(share(0.5)), \"p95\": \(share(0.95)), \"p99\": \(share(0.99))}}")
  }

  private func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
  }

  // MARK: - Members

  private func join(now: Instant) {
    guard let (stated, box) = pending.popLast() else { return }
    do {
      let machine = try ChannelRelayMachine(
        ChannelRelayMachine.Settings(
          channel: channel, own: stated, token: [], grant: grant(stated),
          wallClockAtZero: Int64(wall)),
        identity: box.take(), random: random.split(), now: now)
      let index = members.count
      let place = SocketAddress(
        v4: 127, UInt8(1 + index / 4000), UInt8(index / 200 % 250), 1, port: 0)
      let driver = MachineDriver(machine, socket: try UDPSocket(binding: place), on: loop)
      let member = Member(driver, stated)
      members.append(member)
      try driver.start { [self] event in handle(event, member) }
      // An audience needs to know the hosts alone.
      let known = stated.role == .host ? roster : roster.filter { $0.role == .host }
      driver.withMachine { machine, now in
        machine.handleRoster(known, revision: 1, now: now)
      }
    } catch {
      isFailed = true
      say("{\"type\": \"failed\", \"reason\": \"\(error)\"}")
      loop.stop()
    }
  }

  private func grant(_ member: ChannelMember) -> ChannelRelayGrant {
    let seat = SeatClaim(channel: channel.id, uid: member.uid, role: member.role)
    let claims = TokenClaims(
      audience: "\(options.relayID)", subject: member.id, scope: seat.scope,
      expires: Self.unixSeconds * 1000 + 3_600_000, uid: member.uid)
    let token = PublicToken(signing: claims.json) { signer.signToken($0) }
    return ChannelRelayGrant(
      relay: options.relayID, address: options.relay, token: Array(token.text.utf8))
  }

  private func handle(_ event: ChannelRelayEvent, _ member: Member) {
    switch event {
    case .connected: member.isSeated = true
    case .lost, .refused: member.isSeated = false
    case .audioArrived(let uid): listen(member, to: uid)
    case .publishing, .grantNeeded, .audioLeftOut, .firstFrame, .firstPicture, .pictureArrived,
      .pictureStreamChanged, .pictureViewChanged, .seatChanged, .publishFallback, .picturesPaused,
      .audioMuted, .music, .switched, .picturesTurned, .message, .messagesMissed, .messageFinished,
      .rosterDiffers:
      break
    }
  }

  private func listen(_ member: Member, to uid: UInt32) {
    let counted = self.counted
    member.driver.withMachine { machine, _ in
      var isThere = true
      while isThere {
        isThere =
          machine.pollAudio(of: uid) { body, received -> Bool in
            member.hasHeard = true
            guard !received.header.frame.hasCopies, body.count == 80 else { return true }
            var sent: UInt64 = 0
            for place in 0..<8 { sent |= UInt64(body[place]) << UInt64(place * 8) }
            guard sent >= counted.from, sent < counted.until else { return true }
            member.heard += 1
            let late = received.arrival.nanoseconds &- sent
            if delays.count < Self.mostDelays { delays.append(UInt32(clamping: late / 1000)) }
            return true
          } ?? false
      }
    }
  }

  /// 100 a second.
  private static let joinsAtOnce = 2
  /// Ticks until all have to hear.
  private static let patience = 6000
  /// Ticks for the last frames to come.
  private static let grace = 25
  private static let mostDelays = 4_000_000
}

/// An identity that is taken once, or used in place.
final class LocalIdentityBox {
  private var identity: LocalIdentity?

  init(_ identity: consuming LocalIdentity) { self.identity = .some(identity) }

  func take() -> LocalIdentity {
    guard let identity = identity.take() else { preconditionFailure("taken once") }
    return identity
  }

  func signToken(_ bytes: Span<UInt8>) -> [UInt8] {
    guard identity != nil else { preconditionFailure("taken once") }
    return identity!.signToken(bytes)
  }
}
