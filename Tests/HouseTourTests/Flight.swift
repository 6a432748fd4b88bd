import Congestion
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// One audio frame between two machines that are in a call: what left, and what arrives.
final class Flight {
  let world: CallWorld
  let alice: SimulatedPeer
  let bob: SimulatedPeer
  let call: CallID
  private(set) var datagram: [UInt8] = []
  private(set) var destination = SocketAddress(v4: 0, 0, 0, 0, port: 0)
  /// Alice's counters before the frame.
  private(set) var sentBefore = PathQuality()
  private var heardBefore: LinkStatistics?
  private let mediaTime: UInt16

  /// Puts two people in a call, lets them fall silent, and sends the frame off.
  init(_ payload: [UInt8], mediaTime: UInt16) throws {
    self.mediaTime = mediaTime
    world = CallWorld(seed: 22)
    alice = world.addPeer(CallWorld.names[0])
    bob = world.addPeer(CallWorld.names[1])
    let isReady = world.run(atMost: .seconds(20)) { [alice, bob] in
      alice.isRegistered && bob.isRegistered
    }
    try #require(isReady)
    call = try #require(alice.call(.id(bob.id)))
    world.run(.seconds(4))
    alice.isSilent = true
    bob.isSilent = true
    world.run(.milliseconds(450))
    bob.host.observe = { _, _ in }  // Or Bob would take the frame out of his machine at once.
    try dispatch(payload)
  }

  private func dispatch(_ payload: [UInt8]) throws {
    let heard = try #require(bob.statistics(of: call), "no call between the two")
    heardBefore = heard
    sentBefore = try #require(alice.statistics(of: call)).quality
    world.network.tap = { [unowned self] seen in
      guard seen.host == alice.hostID, datagram.isEmpty else { return }
      for index in seen.bytes.indices { datagram.append(seen.bytes[index]) }
      destination = seen.destination
    }
    let isTaken = alice.host.command(now: world.now) { [call, mediaTime] machine, now in
      machine.sendAudio(
        payload.span, mediaTime: mediaTime, length: .milliseconds20, isMarked: true, on: call,
        now: now)
    }
    #expect(isTaken == true)
  }

  /// Alice's counters after it.
  func sentQuality() -> PathQuality { alice.statistics(of: call)?.quality ?? PathQuality() }

  /// Stations 13 to 17, at Bob's: gives what comes out for the media thread.
  func receive(_ tour: inout Tour) throws -> [UInt8] {
    guard case .sealed = Demultiplexer.classify(datagram.span) else {
      Issue.record("the first byte says DATA")
      return []
    }
    var payload: [UInt8] = []
    var audio: ReceivedAudio?
    for _ in 0..<200 where audio == nil {
      world.run(.microseconds(500))
      audio = poll(into: &payload)
    }
    let received = try #require(audio, "the frame did not come out of Bob's machine")
    try tour.pass(13, "Demultiplexer", "PeerMachine")

    var copy = datagram
    let source = world.network.address(of: alice.hostID)
    bob.host.receive(&copy, from: source, marks: DatagramMarks(ecn: 0), now: world.now)
    var again: [UInt8] = []
    #expect(poll(into: &again) == nil, "a packet is opened once")
    try tour.pass(14, "ReplayWindow", "Session")
    let before = try #require(heardBefore).media.packetsReceived
    #expect(bob.statistics(of: call)?.media.packetsReceived == before + 1)
    try tour.pass(15, "CallLink")

    world.run(.milliseconds(600))
    #expect(sentQuality().packetsAcknowledged > sentBefore.packetsAcknowledged)
    try tour.pass(16, "FeedbackRecorder")
    let header = received.header.frame
    #expect(header.mediaTime == mediaTime && header.length == .milliseconds20)
    #expect(header.isMarked && received.byteCount == payload.count)
    try tour.pass(17, "FrameReader")
    return payload
  }

  private func poll(into payload: inout [UInt8]) -> ReceivedAudio? {
    var audio: ReceivedAudio?
    _ = bob.host.command(now: world.now) { [call] machine, _ in
      payload.append(addingCapacity: 1275) { output in
        audio = machine.pollAudio(of: call, into: &output)
      }
    }
    return audio
  }
}
