import Cryptography
import Primitives
import Reactor
import SecureSession
import Wire

/// The packet path as Earshot ships it: `UDPSocket`, `Session` and the frames of `Wire`, between
/// two sockets on the loopback address.
struct SwiftPath: ~Copyable {
  private var sender: UDPSocket
  private var receiver: UDPSocket
  private var sessions: BothSessions
  private let destination: SocketAddress
  private let shape: Shape
  private let payload: [UInt8]
  private var mediaTime: UInt16 = 0
  /// Keeps the optimiser from dropping what nobody reads.
  private(set) var checksum: UInt64 = 0

  static func make(_ shape: Shape) throws -> SwiftPath {
    var options = UDPSocket.Options()
    options.segments = shape.isOffloaded
    options.merges = shape.isOffloaded
    let any = SocketAddress(v4: 127, 0, 0, 1, port: 0)
    var random = RandomSource.system
    let payload = random.bytes(shape.payloadByteCount)
    let sessions = try BothSessions.make(random: &random)
    let sender = try UDPSocket(binding: any, options)
    return SwiftPath(
      shape, payload, sessions, sender: sender, receiver: try UDPSocket(binding: any, options))
  }

  private init(
    _ shape: Shape, _ payload: [UInt8], _ sessions: consuming BothSessions,
    sender: consuming UDPSocket, receiver: consuming UDPSocket
  ) {
    self.shape = shape
    self.payload = payload
    self.sessions = sessions
    self.sender = sender
    destination = receiver.localAddress
    self.receiver = receiver
  }

  /// Seals, frames and sends one burst; how many packets the kernel took.
  mutating func send() -> Int {
    let now = SystemClock.now
    let before = sender.statistics.sentDatagrams
    for _ in 0..<shape.burst {
      let room = unsafe sender.room()
      var packet = unsafe OutputSpan(buffer: room, initializedCount: 0)
      write(&packet, now: now)
      let count = unsafe packet.finalize(for: room)
      sender.commit(count, to: destination)
      if !shape.isOffloaded { sender.flush() }
    }
    sender.flush()
    return Int(sender.statistics.sentDatagrams - before)
  }

  @_lifetime(packet: copy packet)
  private mutating func write(_ packet: inout OutputSpan<UInt8>, now: Instant) {
    Session.beginPacket(&packet)
    AudioMediaFrame(length: .milliseconds20, isMarked: false, mediaTime: mediaTime)
      .write(payload.span, to: &packet)
    mediaTime &+= 2
    do throws(SessionError) {
      _ = try sessions.sending.seal(&packet, now: now)
    } catch {
      packet.removeAll()
    }
  }

  /// Receives, opens and parses one burst; how many packets opened.
  mutating func receive() -> Int {
    var opened = 0
    while opened < shape.burst {
      let count = receiver.receive()
      if count == 0 { return opened }
      for index in 0..<count {
        guard let message = unsafe receiver.message(index) else { continue }
        opened += unsafe open(message)
      }
    }
    return opened
  }

  private mutating func open(_ message: ReceivedMessage) -> Int {
    var opened = 0
    var start = 0
    while unsafe start < message.byteCount {
      let count = unsafe min(message.segmentByteCount, message.byteCount - start)
      var bytes = unsafe MutableSpan(_unsafeStart: message.bytes + start, count: count)
      unsafe opened += open(&bytes, now: message.arrival)
      start += count
    }
    return opened
  }

  @_lifetime(bytes: copy bytes)
  private mutating func open(_ bytes: inout MutableSpan<UInt8>, now: Instant) -> Int {
    guard case .sealed = Demultiplexer.classify(bytes.span) else { return 0 }
    do {
      let packet = try sessions.opening.open(&bytes, now: now)
      let frames = bytes.span.extracting(packet.frames)
      var reader = FrameReader(frames)
      while let frame = try reader.next() {
        guard case .audio(let audio, let range) = frame else { continue }
        let payload = frames.bytes(at: range)
        checksum &+= UInt64(audio.mediaTime) &+ UInt64(payload[0]) &+ UInt64(payload.count)
      }
      return 1
    } catch {
      return 0
    }
  }
}

/// Both ends of one session, by a real handshake.
struct BothSessions: ~Copyable {
  var sending: Session
  var opening: Session

  static func make(random: inout RandomSource) throws -> BothSessions {
    let now = SystemClock.now
    let alice = LocalIdentity(kind: .peer, unixSeconds: 1, random: &random)
    let bob = LocalIdentity(kind: .peer, unixSeconds: 1, random: &random)
    let local = ConnectionID(random: &random)
    let remote = ConnectionID(random: &random)
    let context = HandshakeContext(
      purpose: .call, connectionID: local, responder: bob.id, initiator: alice.id)
    var initiator = try HandshakeState(
      context, role: .initiator, localStatic: alice.staticKey,
      remoteStatic: bob.staticKey.publicKey)
    var responder = try HandshakeState(context, role: .responder, localStatic: bob.staticKey)
    let first = try initiator.writeMessage(payload: [UInt8]().span, random: &random)
    _ = try responder.readMessage(first.span)
    let second = try responder.writeMessage(payload: [UInt8]().span, random: &random)
    _ = try initiator.readMessage(second.span)
    guard let forward = initiator.split(), let backward = responder.split() else {
      throw BenchmarkError(reason: "the handshake is not complete")
    }
    let sending = Session(
      SessionKeys(forward, role: .initiator), local: local, remote: remote,
      parties: Session.Parties(
        localID: alice.id, remoteID: bob.id, localStatic: alice.staticKey.clone(),
        remoteStatic: bob.staticKey.publicKey, role: .initiator), now: now, random: &random)
    let opening = Session(
      SessionKeys(backward, role: .responder), local: remote, remote: local,
      parties: Session.Parties(
        localID: bob.id, remoteID: alice.id, localStatic: bob.staticKey.clone(),
        remoteStatic: alice.staticKey.publicKey, role: .responder), now: now, random: &random)
    return BothSessions(sending: sending, opening: opening)
  }
}

struct BenchmarkError: Error {
  let reason: String
}
