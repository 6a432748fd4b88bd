import Calling
import Cryptography
import Messaging
import Peer
import Primitives
import SecureSession
import Wire

extension FuzzTarget {
  /// A peer whose rendezvous is hostile, and so is who calls it: the input chooses every byte that
  /// either of them seals, beside what strangers send, what the user does, and when.
  static let peerMachine = FuzzTarget(
    "peer-machine", maximumByteCount: 4000, seeds: { peerSeeds },
    run: { bytes in
      var world = HostileWorld()
      var acts = Acts(bytes.span)
      var left = 200
      while left > 0, let act = acts.next() {
        left -= 1
        world.perform(act.choice, act.bytes)
      }
    })

  private static var peerSeeds: [[UInt8]] {
    let frames = frameSeeds
    let answered = Acts.write(2) + Acts.write(3, [0])
    let online = frames.flatMap { Acts.write(0, $0) }
    let inCall = frames.flatMap { Acts.write(4, $0) }
    let signals = [SignalBody.Content.cancel(.userCancelled), .hangUp(.userHungUp, .empty)]
      .flatMap { content in
        Acts.write(
          1,
          RendezvousMessage.forwarded(
            Forwarded(
              Forward(
                id: ForwardID(low: 1, high: 2), to: .zero, lifeSeconds: 8,
                body: SignalBody(HostileWorld.callID, content, mac: Array(repeating: 1, count: 16))
                  .bytes), from: HostileWorld.callerID)
          ).bytes)
      }
    let confirm = CallControlMessage.confirm(opening: HostileWorld.opening).bytes
    let control = FuzzTarget.bytes { packet in
      MessageFrame(stream: .callControl, sequence: 0, fragmentIndex: 0, fragmentCount: 1)
        .write(confirm.span, to: &packet)
    }
    let answerToLookUp = RendezvousMessage.lookUpResult(
      LookUpResult(request: 1, status: .online, card: Figure(3).card.bytes)
    ).bytes
    return [
      online, answered + inCall, answered + Acts.write(4, control) + inCall + Acts.write(3, [4]),
      Acts.write(2) + Acts.write(3, [1]), Acts.write(2) + signals,
      Acts.write(3, [2]) + Acts.write(1, answerToLookUp) + Acts.write(6, [9]),
      frames.flatMap { Acts.write(5, $0) } + Acts.write(6, [200]), Acts.write(3, [6]) + online,
    ]
  }
}

/// A registered peer, and the two that wish it ill.
private struct HostileWorld: ~Copyable {
  private var peer: Driven<PeerMachine>
  private var server: HostileEnd
  private var caller: HostileEnd?
  private var initiator: CallInitiator?
  private var sequence: UInt32 = 0

  static let opening = [UInt8](repeating: 6, count: 32)
  static let callID = FuzzTarget.someCall
  static let callerID = Figure(3).identity.id
  private static let serverAddress = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
  private static let callerAddress = SocketAddress(v4: 198, 51, 100, 9, port: 5000)

  init() {
    peer = Driven(Self.makePeer())
    peer.machine.register(now: peer.now)
    let recording = PeerRecording.shared
    expect(peer.wait(.zero).first == recording.initiation, "a seed reproduces a peer's INIT")
    server = recording.end
    _ = peer.receive(recording.response, from: Self.serverAddress)
  }

  static func makePeer() -> PeerMachine {
    var configuration = PeerConfiguration(
      rendezvous: serverAddress, wallClockAtZero: Int64(Figure.unixSeconds) * 1000)
    configuration.rendezvousCard = PeerRecording.serverCard.bytes
    configuration.name = PeerName("alice")
    configuration.hostCandidates = [SocketAddress(v4: 10, 0, 0, 2, port: 4000)]
    return PeerMachine(
      configuration, identity: Figure(2).intoIdentity(), random: RandomSource(seed: 8),
      now: Figure.start)
  }

  mutating func perform(_ choice: UInt8, _ bytes: [UInt8]) {
    switch choice & 7 {
    case 0: note(peer.receive(server.packet(bytes), from: Self.serverAddress))
    case 1: say(bytes)
    case 2: invite()
    case 3: command(bytes.first ?? 0)
    case 4:
      if let packet = caller?.packet(bytes) {
        note(peer.receive(packet, from: Self.callerAddress))
      }
    case 5:
      let source = choice & 8 == 0 ? Self.serverAddress : Self.callerAddress
      note(peer.receive(bytes, from: source))
    default: note(peer.wait(.milliseconds(Int(bytes.first ?? 1) * 50)))
    }
  }

  /// One whole message from the server.
  private mutating func say(_ message: [UInt8]) {
    let packet = server.packet(FuzzTarget.message(message, &sequence))
    note(peer.receive(packet, from: Self.serverAddress))
  }

  private mutating func command(_ choice: UInt8) {
    let call = Self.callID
    let now = peer.now
    switch choice & 7 {
    case 0: try? peer.machine.accept(call, now: now)
    case 1: try? peer.machine.reject(call, now: now)
    case 2: _ = try? peer.machine.invite(.id(Self.callerID), InviteOptions(), now: now)
    case 3: try? peer.machine.setAudioMuted(call, true, now: now)
    case 4: try? peer.machine.end(call, now: now)
    case 5:
      _ = try? peer.machine.send(
        ApplicationMessage([1, 2, 3], stream: 8), on: call, now: now)
    case 6: peer.machine.shutDown(now: now)
    default: peer.machine.changeHostCandidates([], now: now)
    }
    note(peer.drained())
  }

  /// A true INVITE of the hostile caller.
  private mutating func invite() {
    guard initiator == nil else { return }
    let figure = Figure(3)
    var random = RandomSource(seed: 12)
    var commitment = BLAKE2b(byteCount: 32)
    commitment.update("EST1 sas")
    commitment.update(Self.opening.span)
    let payload = InvitePayload(
      callID: Self.callID,
      createdMilliseconds: Figure.unixSeconds * 1000 + peer.now.nanoseconds / 1_000_000,
      commitment: commitment.finalize32().bytes, callKey: Array(repeating: 7, count: 32),
      ringConnectionID: 99, ringTimeoutMilliseconds: 15_000,
      offer: CallOffer(
        card: figure.card.bytes,
        candidates: CandidateList([Candidate(.host, Self.callerAddress)]),
        media: MediaDescription([.init(.opus, stream: 0)])))
    let own = ConnectionID(rawValue: 77)
    guard
      let initiator = try? CallInitiator(
        connectionID: own, caller: figure.identity, callee: peer.machine.id,
        calleeStatic: Figure(2).card.staticKey, payload: payload.bytes.span, random: &random)
    else { return expect(false, "an INVITE can be made") }
    let body = SignalBody(
      Self.callID, .invite(connectionID: 77, noiseMessage: initiator.message))
    let forward = Forward(
      id: ForwardID(low: 3, high: 4), to: .zero, lifeSeconds: 8, body: body.bytes)
    self.initiator = consume initiator
    say(RendezvousMessage.forwarded(Forwarded(forward, from: Self.callerID)).bytes)
  }

  /// Looks for ACCEPT in what the peer sends to its server: it gives the caller the call's keys.
  private mutating func note(_ datagrams: [[UInt8]]) {
    guard caller == nil, initiator != nil else { return }
    for datagram in datagrams {
      guard let frames = server.frames(of: datagram) else { continue }
      var reader = FrameReader(frames.span)
      while let frame = try? reader.next() {
        guard case .message(_, let range) = frame,
          case .forward(let forward) = try? RendezvousMessage(
            parsing: frames.span.bytes(at: range)),
          let body = try? SignalBody(parsing: forward.body.span),
          case .accept(let message) = body.content
        else { continue }
        establish(message)
      }
    }
  }

  private mutating func establish(_ message: [UInt8]) {
    guard let initiator = initiator.take(), let read = try? initiator.readAnswer(message.span)
    else { return }
    let payload = read.payload
    var reader = ByteReader(payload.span)
    guard let answer = try? AnswerPayload(parsing: &reader),
      case .accepted(let connectionID) = answer.verdict, let keys = read.establish()
    else { return expect(false, "an ACCEPT can be read by whoever it is for") }
    caller = HostileEnd(keys, to: ConnectionID(rawValue: connectionID))
  }
}

/// The handshake with the hostile server, made once.
private struct PeerRecording: Sendable {
  let initiation: [UInt8]
  let response: [UInt8]
  let end: HostileEnd

  static let serverCard = Figure(1, .rendezvous).card
  static let shared = PeerRecording()

  private init() {
    var peer = Driven(HostileWorld.makePeer())
    peer.machine.register(now: peer.now)
    let initiation = peer.wait(.zero).first ?? []
    var reader = ByteReader(initiation.span)
    let server = Figure(1, .rendezvous)
    let own = ConnectionID(rawValue: 0x5000_0001)
    var random = RandomSource(seed: 9)
    guard let packet = try? InitPacket(parsing: &reader),
      var handshake = try? HandshakeState(
        HandshakeContext(
          purpose: .register, connectionID: packet.connectionID, responder: server.identity.id),
        role: .responder, localStatic: server.identity.staticKey),
      (try? handshake.readMessage(initiation.span.extracting(InitPacket.noiseRange))) != nil
    else { preconditionFailure("a peer with its server's card begins with INIT") }
    let terms = SessionTerms(
      serverTime: Figure.unixSeconds * 1000, boot: 5, life: 3600, period: 20, resetToken: .zero,
      status: .nameGranted)
    var payload: [UInt8] = []
    ResponsePayload(
      responder: own, initiator: packet.connectionID,
      seenAddress: SocketAddress(v4: 203, 0, 113, 5, port: 4000), terms: terms
    ).write(to: &payload)
    guard let message = try? handshake.writeMessage(payload: payload.span, random: &random),
      let split = handshake.split()
    else { preconditionFailure("the second message can always be written") }
    var bytes = ResponsePacket.unauthenticated(
      purpose: .register, responder: own, initiator: packet.connectionID, noiseMessage: message)
    ResponsePacket.complete(
      &bytes, mac1: Figure.mac1(bytes, for: Figure(2).identity.staticKey.publicKey))
    self.initiation = initiation
    response = bytes
    end = HostileEnd(SessionKeys(split, role: .responder), to: packet.connectionID)
  }
}
