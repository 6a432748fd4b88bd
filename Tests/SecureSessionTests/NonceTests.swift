import Cryptography
import Primitives
import SecureSession
import Testing
import Trials
import Wire

/// No two packets are ever sealed under the same key and nonce.
///
/// All packets have the same plain text, so that what is sealed is the keystream: it repeats where,
/// and only where, a key and a nonce do (by chance once in 2^64 pairs). This sees every seal from
/// outside and needs nothing in the code that ships.
@Suite struct NonceTests {
  @Test func `no key and nonce come twice in calls with rekeys, moves, losses and retries`() throws
  {
    let goal = Trials.count(150_000, full: 10_000_000)
    var seen = SeenKeystreams(capacity: goal + 2)
    var seed: UInt64 = 0
    var rekeys = 0
    var retries = 0
    while seen.count < goal {
      seed += 1
      var call = try SealingCall(seed: seed)
      try call.ring(&seen)
      try call.run(packets: min(50_000, goal - seen.count), &seen)
      rekeys += call.rekeys
      retries += call.retries
    }
    let repeats = seen.repeatCount()
    expect(repeats == 0, "\(repeats) of \(seen.count) repeat")
    expect(rekeys >= goal / 10_000, "\(rekeys) rekeys")
    expect(retries >= goal / 20, "\(retries) retries")
    Trials.report(
      "4: \(seen.count) seals in \(seed) calls, \(rekeys) rekeys, \(retries) retries, "
        + "\(repeats) repeats")
  }

  @Test func `a key and nonce that come twice are seen`() throws {
    var random = RandomSource(seed: 7)
    var seen = SeenKeystreams(capacity: 8)
    let first = PacketCipher(
      aead: SecretKey(random: &random), header: SecretKey(random: &random))
    let second = PacketCipher(
      aead: SecretKey(random: &random), header: SecretKey(random: &random))
    for number in UInt32(0)..<3 {
      seen.note(Self.packet(first, number, connectionID: 1))
      seen.note(Self.packet(second, number, connectionID: 1))
    }
    expect(seen.repeatCount() == 0)
    // Also when the rest of the header differs.
    seen.note(Self.packet(first, 1, connectionID: 2))
    expect(seen.repeatCount() == 1)
  }

  private static func packet(
    _ cipher: borrowing PacketCipher, _ number: UInt32, connectionID: UInt32
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { packet in
      Session.beginPacket(&packet)
      packet.append(bytes: SealingCall.frames)
      do throws(CryptographyError) {
        try cipher.seal(&packet, connectionID: connectionID, number: number)
      } catch {
        Issue.record("\(error)")
      }
    }
    return bytes
  }
}

/// The first 8 sealed bytes of each packet.
private struct SeenKeystreams {
  private var prints: [UInt64] = []

  init(capacity: Int) { prints.reserveCapacity(capacity) }

  var count: Int { prints.count }

  mutating func note(_ packet: [UInt8]) {
    var print: UInt64 = 0
    for byte in packet[SealedPacket.headerByteCount..<(SealedPacket.headerByteCount + 8)] {
      print = print << 8 | UInt64(byte)
    }
    prints.append(print)
  }

  mutating func repeatCount() -> Int {
    prints.sort()
    var repeats = 0
    for index in prints.indices.dropFirst() where prints[index] == prints[index - 1] {
      repeats += 1
    }
    return repeats
  }
}

/// A call whose ends seal, lose, repeat, move and renew their keys.
private struct SealingCall: ~Copyable {
  private var pair: SessionPair
  private var random: RandomSource
  private let secret: SecretKey
  /// Control messages that wait to be carried, of the initiator and of the responder.
  private var controls: [[[UInt8]]] = [[], []]
  private(set) var retries = 0

  /// Alike in all packets, and longer than what is looked at.
  static let frames = [UInt8](repeating: 0, count: 32)

  init(seed: UInt64) throws {
    // A low limit of numbers for every second call: it ends there, or is renewed before.
    var limits = SessionLimits.peer
    if seed % 2 == 0 { limits.rekeyNumber = 1_500 }
    if seed % 2 == 0 { limits.lastNumber = 3_000 }
    pair = try SessionPair(seed: seed, limits: limits)
    random = RandomSource(seed: seed &* 31)
    secret = SecretKey(random: &random)
  }

  var rekeys: Int { Int(max(pair.initiator.epoch, pair.responder.epoch)) }

  /// Path checks with as many programs as there may be, before the session stands. Each is asked
  /// for twice: the second must give nothing.
  mutating func ring(_ seen: inout SeenKeystreams) throws {
    var caller = RingKeys(secret: secret, side: .caller)
    for program in 0..<RingKeys.programLimit {
      var callee = RingKeys(secret: secret, side: .callee)
      let presence = PresenceID(rawValue: UInt64(program / 2))
      let (near, far) = (ConnectionID(random: &random), ConnectionID(random: &random))
      for _ in 0..<2 {
        if var session = caller.pathChecks(local: near, remote: far, presence: presence) {
          for _ in 0..<20 { seen.note(try Self.packet(&session)) }
        }
        if var session = callee.pathChecks(local: far, remote: near, presence: presence) {
          for _ in 0..<20 { seen.note(try Self.packet(&session)) }
        }
      }
    }
  }

  mutating func run(packets: Int, _ seen: inout SeenKeystreams) throws {
    var left = packets
    while left > 0, !pair.initiator.isClosed, !pair.responder.isClosed {
      pair.now = pair.now + .microseconds(Int(random.next() % 40_000))
      for isInitiator in [true, false] {
        wake(initiator: isInitiator)
        left -= try talk(initiator: isInitiator, &seen)
        if random.next() % 5_000 == 0 { move(initiator: isInitiator) }
        // Both may start at once.
        if random.next() % 20_000 == 0 { start(initiator: isInitiator) }
      }
    }
  }

  private mutating func wake(initiator: Bool) {
    let now = pair.now
    while let action = initiator
      ? pair.initiator.handleTimeout(now: now) : pair.responder.handleTimeout(now: now)
    {
      guard action == .startRekey else { return }
      start(initiator: initiator)
    }
  }

  private mutating func start(initiator: Bool) {
    if let message = pair.start(initiator: initiator) { controls[initiator ? 0 : 1] = [message] }
  }

  private mutating func move(initiator: Bool) {
    if initiator {
      pair.initiator.requestRekey(now: pair.now, random: &random)
    } else {
      pair.responder.requestRekey(now: pair.now, random: &random)
    }
  }

  /// One packet that arrives, is lost, or could not be sent and is sealed anew; a control message
  /// arrives with every tenth. How many were sealed.
  private mutating func talk(initiator: Bool, _ seen: inout SeenKeystreams) throws -> Int {
    var sealed = 0
    repeat {
      guard let packet = seal(initiator: initiator) else { return sealed }
      seen.note(packet)
      sealed += 1
      switch random.next() % 10 {
      case 0: retries += 1  // The kernel refused it: the same frames again.
      case 1, 2: return sealed  // Lost.
      default:
        land(packet, toInitiator: !initiator)
        if random.next() % 10 == 0 { carryControl(fromInitiator: initiator) }
        return sealed
      }
    } while true
  }

  private mutating func seal(initiator: Bool) -> [UInt8]? {
    do throws(SessionError) {
      return initiator
        ? try pair.initiator.packet(Self.frames, now: pair.now).bytes
        : try pair.responder.packet(Self.frames, now: pair.now).bytes
    } catch {
      return nil  // No number is left, until the keys are new.
    }
  }

  private mutating func land(_ packet: [UInt8], toInitiator: Bool) {
    if toInitiator {
      _ = pair.initiator.refusal(of: packet, now: pair.now)
    } else {
      _ = pair.responder.refusal(of: packet, now: pair.now)
    }
  }

  private mutating func carryControl(fromInitiator: Bool) {
    guard let message = controls[fromInitiator ? 0 : 1].popLast() else { return }
    let action = pair.deliver(message, toInitiator: !fromInitiator)
    if case .send(let answer) = action { controls[fromInitiator ? 1 : 0] = [answer] }
  }

  private static func packet(_ session: inout RingSession) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try bytes.append(addingCapacity: 1200) { packet throws(SessionError) in
      Session.beginPacket(&packet)
      packet.append(bytes: frames)
      try session.seal(&packet)
    }
    return bytes
  }
}
