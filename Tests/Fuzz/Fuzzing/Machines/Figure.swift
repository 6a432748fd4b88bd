import Cryptography
import Primitives
import SecureSession
import Wire

/// Somebody with an identity and a card, the same in every run.
struct Figure: ~Copyable {
  let identity: LocalIdentity
  let card: ContactCard

  /// Wall time at the beginning of every run, in seconds since 1970 UTC.
  static let unixSeconds: UInt64 = 1_800_000_000
  /// The machines' time at the beginning of every run.
  static let start = Instant(nanoseconds: 1_000_000_000)

  init(_ number: UInt64, _ kind: LocalIdentity.Kind = .peer) {
    var random = RandomSource(seed: number)
    var identity = LocalIdentity(kind: kind, unixSeconds: Self.unixSeconds, random: &random)
    guard let card = try? identity.makeCard(unixSeconds: Self.unixSeconds) else {
      preconditionFailure("a card without a home always fits")
    }
    self.identity = identity
    self.card = card
  }

  /// The identity alone, to be given away.
  consuming func intoIdentity() -> LocalIdentity { identity }

  /// MAC1 of a handshake packet (docs/protocol/session.md §3).
  static func mac1(_ packet: [UInt8], for staticKey: Bytes32) -> Bytes16 {
    var key = BLAKE2b(byteCount: 32)
    key.update("EST1mac1")
    key.update(staticKey.span)
    let keyBytes = key.finalize32()
    var hash = BLAKE2b(byteCount: 16, key: keyBytes.span)
    hash.update(packet.span)
    return hash.finalize16()
  }
}

/// The attacker's end of a session: it has the keys, and says what it likes.
struct HostileEnd: Sendable {
  let send: PacketKeys
  let receive: PacketKeys
  /// The other side's.
  let connectionID: ConnectionID
  private var number: UInt32 = 0

  init(_ keys: consuming SessionKeys, to connectionID: ConnectionID) {
    (send, receive) = keys.compact()
    self.connectionID = connectionID
  }

  /// A packet that opens, with `frames` as they are.
  mutating func packet(_ frames: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount) { packet in
      packet.append(zeros: SealedPacket.headerByteCount)
      packet.append(bytes: Array(frames.prefix(1100)))
      try? send.seal(&packet, connectionID: connectionID.rawValue, number: number)
    }
    number += 1
    return bytes
  }

  /// What the other side sealed for us; `nil` for what does not open.
  func frames(of datagram: [UInt8]) -> [UInt8]? {
    var bytes = datagram
    var span = bytes.mutableSpan
    guard let number = try? receive.unmask(&span),
      let range = try? receive.open(&span, number: number)
    else { return nil }
    return Array(bytes[range])
  }
}

/// A machine and the outputs it gives.
struct Driven<Machine: DatagramMachine & ~Copyable>: ~Copyable {
  var machine: Machine
  var now = Figure.start

  init(_ machine: consuming Machine) { self.machine = machine }

  /// Hands it one datagram and collects what it sends.
  mutating func receive(_ datagram: [UInt8], from source: SocketAddress) -> [[UInt8]] {
    guard datagram.count <= Datagram.maximumByteCount else { return [] }
    var bytes = datagram
    var span = bytes.mutableSpan
    machine.handle(&span, from: source, marks: DatagramMarks(), now: now)
    return drained()
  }

  mutating func wait(_ duration: Duration) -> [[UInt8]] {
    now = now + duration
    machine.handleTimeout(now: now)
    return drained()
  }

  mutating func drained() -> [[UInt8]] {
    var sent = DatagramList()
    var events: [Machine.Event] = []
    _ = drain(&machine, into: &sent, events: &events, now: now)
    expect(sent.datagrams.count < 5000, "one input does not make a flood")
    return sent.datagrams.map(\.bytes)
  }
}

/// Reads an input as a list of acts: what to do 1, length 2, bytes.
struct Acts: ~Escapable {
  private var reader: ByteReader

  @_lifetime(copy bytes)
  init(_ bytes: Span<UInt8>) { reader = ByteReader(bytes) }

  @_lifetime(self: copy self)
  mutating func next() -> (choice: UInt8, bytes: [UInt8])? {
    guard let choice = try? reader.readUInt8("choice"),
      let length = try? reader.readUInt16("length"),
      let bytes = try? reader.readBytes(min(Int(length), reader.remaining), "bytes")
    else { return nil }
    return (choice, bytes)
  }

  static func write(_ choice: UInt8, _ bytes: [UInt8] = []) -> [UInt8] {
    [choice, UInt8(truncatingIfNeeded: bytes.count), UInt8(truncatingIfNeeded: bytes.count >> 8)]
      + bytes
  }
}
