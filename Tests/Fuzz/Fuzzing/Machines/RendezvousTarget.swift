import Messaging
import Primitives
import Rendezvous
import SecureSession
import Wire

extension FuzzTarget {
  /// A server with a registered client whose every sealed byte the input chooses, beside datagrams
  /// from strangers and time that passes.
  static let rendezvousMachine = FuzzTarget(
    "rendezvous-machine", maximumByteCount: 3000, seeds: { serverSeeds },
    run: { bytes in
      let recording = ServerRecording.shared
      var server = Driven(ServerRecording.makeMachine())
      let answers = server.receive(recording.initiation, from: ServerRecording.client)
      expect(answers.first == recording.response, "a seed reproduces a server's answer")
      var end = recording.end
      var acts = Acts(bytes.span)
      var sequence: UInt32 = 0
      var left = 200
      while left > 0, let act = acts.next() {
        left -= 1
        switch act.choice & 7 {
        case 0, 1:
          _ = server.receive(end.packet(act.bytes), from: ServerRecording.client)
        case 2, 3:
          _ = server.receive(
            end.packet(message(act.bytes, &sequence)), from: ServerRecording.client)
        case 4:
          let source = act.choice & 8 == 0 ? ServerRecording.client : ServerRecording.stranger
          let answers = server.receive(act.bytes, from: source)
          if act.choice & 8 != 0 {
            expect(
              answers.reduce(0) { $0 + $1.count } <= act.bytes.count,
              "no stranger gets more than it sent")
          }
        case 5: _ = server.receive(recording.initiation, from: ServerRecording.stranger)
        case 6: _ = server.wait(.milliseconds(Int(act.choice >> 3) * 400))
        default:  // The client moved.
          _ = server.receive(end.packet(act.bytes), from: ServerRecording.stranger)
        }
      }
    })

  /// `bytes` as one whole message to the server.
  static func message(_ bytes: [UInt8], _ sequence: inout UInt32) -> [UInt8] {
    let fragment = Array(bytes.prefix(1080))
    let frame = MessageFrame(
      stream: .rendezvous, sequence: sequence, fragmentIndex: 0, fragmentCount: 1)
    sequence &+= 1
    return FuzzTarget.bytes { frame.write(fragment.span, to: &$0) }
  }

  private static var serverSeeds: [[UInt8]] {
    let recording = ServerRecording.shared
    let own = Figure(2).identity.id
    let id = ForwardID(low: 5, high: 6)
    let requests: [RendezvousMessage] = [
      .lookUp(LookUp(request: 1, target: .id(own))),
      .lookUp(LookUp(request: 2, target: .id(.zero))),
      .forward(Forward(id: id, to: own, lifeSeconds: 8, body: Array(0..<90))),
      .forward(Forward(id: id, to: .zero, lifeSeconds: 8, body: [])),
      .audience(Audience([AudienceMark(rawValue: 3), AudienceMark(rawValue: 4)])),
    ]
    let asked = requests.flatMap { Acts.write(2, $0.bytes) }
    let framed = frameSeeds.flatMap { Acts.write(0, $0) }
    let strange = Acts.write(12, recording.initiation) + Acts.write(5) + Acts.write(12, [0xC6, 1])
    return [
      asked, framed, strange + Acts.write(0x16) + asked, Acts.write(7, frameSeeds[0]) + asked,
      Acts.write(0xF6) + Acts.write(0xF6) + framed,
    ]
  }
}

/// The handshake of the hostile client, made once: with the same seeds it is the same in every run.
private struct ServerRecording: Sendable {
  let initiation: [UInt8]
  let response: [UInt8]
  let end: HostileEnd

  static let client = SocketAddress(v4: 192, 0, 2, 7, port: 4000)
  static let stranger = SocketAddress(v4: 198, 51, 100, 9, port: 5000)
  static let shared = ServerRecording()

  static func makeMachine() -> RendezvousMachine {
    let figure = Figure(1, .rendezvous)
    let card = figure.card
    let settings = ServerSettings(
      identity: Figure(1, .rendezvous).intoIdentity(), card: card, bootCounter: 5,
      resetKey: Array(repeating: 3, count: 32), wallMilliseconds: Figure.unixSeconds * 1000)
    var limits = ServerLimits()
    limits.sessions = 64
    limits.sources = 64
    limits.exchanges = 64
    return RendezvousMachine(
      settings, store: MemoryStore(), limits: limits, random: RandomSource(seed: 4))
  }

  private init() {
    let figure = Figure(2)
    let server = Figure(1, .rendezvous)
    let own = ConnectionID(rawValue: 0x0102_0304)
    var random = RandomSource(seed: 5)
    let context = HandshakeContext(
      purpose: .register, connectionID: own, responder: server.identity.id)
    var payload: [UInt8] = []
    InitPayload(
      time: TAI64N(unixMilliseconds: Figure.unixSeconds * 1000), card: figure.card,
      name: PeerName("mallory")
    ).write(to: &payload)
    guard
      var handshake = try? HandshakeState(
        context, role: .initiator, localStatic: figure.identity.staticKey,
        remoteStatic: server.card.staticKey),
      let first = try? handshake.writeMessage(payload: payload.span, random: &random)
    else { preconditionFailure("the first message can always be written") }
    var packet = InitPacket.unauthenticated(
      purpose: .register, connectionID: own, noiseMessage: first)
    packet += Figure.mac1(packet, for: server.card.staticKey).bytes
    packet += [UInt8](repeating: 0, count: 16)
    initiation = packet
    var machine = Driven(Self.makeMachine())
    let response = machine.receive(packet, from: Self.client).first ?? []
    var reader = ByteReader(response.span)
    guard let answer = try? ResponsePacket(parsing: &reader),
      (try? handshake.readMessage(response.span.extracting(ResponsePacket.noiseRange))) != nil,
      let split = handshake.split()
    else { preconditionFailure("the server answers its client") }
    self.response = response
    end = HostileEnd(SessionKeys(split, role: .initiator), to: answer.responder)
  }
}
