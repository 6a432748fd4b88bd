import Cryptography
import Primitives
import SecureSession
import Testing
import Vectors
import Wire

struct Missing: Error {}

/// As the macro, which cannot look into what is not copyable.
func expect(
  _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment() ?? "does not hold", sourceLocation: sourceLocation) }
}

func unwrap<Value>(
  _ value: Value?, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) throws(Missing) -> Value {
  if let value { return value }
  Issue.record(comment() ?? "is missing", sourceLocation: sourceLocation)
  throw Missing()
}

func secretKey(hex: String) throws(Missing) -> SecretKey {
  guard let key = SecretKey(copying: bytes(hex: hex).span) else { throw Missing() }
  return key
}

/// Seconds since 1970 UTC, somewhere in 2026.
let testDay: UInt64 = 1_790_000_000

func testIdentity(seed: UInt64, kind: LocalIdentity.Kind = .peer) -> LocalIdentity {
  var random = RandomSource(seed: seed)
  return LocalIdentity(kind: kind, unixSeconds: testDay, random: &random)
}

/// Two sessions with each other, and the simulated time they live in.
struct SessionPair: ~Copyable {
  var initiator: Session
  var responder: Session
  var now: Instant
  var random: RandomSource

  /// Runs the handshake of a call.
  init(seed: UInt64, limits: SessionLimits = .peer) throws {
    var random = RandomSource(seed: seed)
    let alice = testIdentity(seed: seed &* 2 &+ 1)
    let bob = testIdentity(seed: seed &* 2 &+ 2)
    let aliceID = ConnectionID(random: &random)
    let bobID = ConnectionID(random: &random)
    let call = try CallInitiator(
      connectionID: aliceID, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: [1, 2, 3].span, random: &random)
    let ringing = try CallResponder(
      message: call.message.span, connectionID: aliceID, caller: alice.id, callee: bob)
    let accepted = try ringing.accept(payload: [4].span, random: &random)
    let answer = accepted.message
    guard let keys = try call.readAnswer(answer.span).establish() else { throw Missing() }
    now = Instant(nanoseconds: 1_000_000_000_000)
    initiator = Session(
      keys, local: aliceID, remote: bobID,
      parties: Session.Parties(
        localID: alice.id, remoteID: bob.id, localStatic: alice.staticKey.clone(),
        remoteStatic: bob.staticKey.publicKey, role: .initiator),
      limits: limits, now: now, random: &random)
    responder = Session(
      accepted.intoKeys(), local: bobID, remote: aliceID,
      parties: Session.Parties(
        localID: bob.id, remoteID: alice.id, localStatic: bob.staticKey.clone(),
        remoteStatic: alice.staticKey.publicKey, role: .responder),
      limits: limits, now: now, random: &random)
    self.random = random
  }
}

extension Session {
  /// A packet with `frames`, and its transport number.
  mutating func packet(
    _ frames: [UInt8], now: Instant
  ) throws(SessionError) -> (number: UInt64, bytes: [UInt8]) {
    var bytes: [UInt8] = []
    var number: UInt64 = 0
    try bytes.append(addingCapacity: 1200) { output throws(SessionError) in
      Session.beginPacket(&output)
      output.append(bytes: frames)
      number = try seal(&output, now: now)
    }
    return (number, bytes)
  }

  /// What `open` says of a packet, and the frames in it.
  mutating func receive(
    _ packet: [UInt8], now: Instant
  ) throws(SessionError) -> (opened: OpenedPacket, frames: [UInt8]) {
    var packet = packet
    var span = packet.mutableSpan
    let opened = try open(&span, now: now)
    return (opened, Array(packet[opened.frames]))
  }

  /// The error of a packet that must not open.
  mutating func refusal(of packet: [UInt8], now: Instant) -> SessionError? {
    do throws(SessionError) {
      _ = try receive(packet, now: now)
      return nil
    } catch {
      return error
    }
  }
}
