import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// A peer in a call that says more than there is room for.
@Suite struct WordFloodTests {
  private static let wordCount = 2000

  /// Goal: however many words come in one turn of the loop, each is told, and so is the end of the
  /// call.
  /// Method: all that Alice sends for half a second is handed to Bob before his events are polled,
  /// as a loop does that reads many datagrams at once. There is room for 64 events. The second time
  /// a hang-up is behind the words.
  @Test func `many short messages and a hang-up in one turn are all told`() throws {
    let pair = TwoPeers(configure: { $0.limits.events = 64 })
    let call = try pair.connect()
    pair.world.run(.seconds(2))
    Self.speak(pair, in: call)
    #expect(Self.heard(pair) > 64)
    pair.world.run(.seconds(3))
    #expect(Self.heard(pair) == Self.wordCount)
    Self.speak(pair, in: call, hangingUp: true)
    #expect(pair.summary(of: call, at: pair.bob)?.cause == .remoteHangUp)
    #expect(Self.heard(pair) > Self.wordCount + 64)
  }

  private static func heard(_ pair: TwoPeers) -> Int {
    pair.events(of: pair.bob).count { event in
      if case .link(_, .messageReceived) = event { true } else { false }
    }
  }

  private static func speak(_ pair: TwoPeers, in call: CallID, hangingUp: Bool = false) {
    let (world, alice, bob) = (pair.world, pair.alice, pair.bob)
    let place = world.network.address(of: bob.hostID)
    var packets: [[UInt8]] = []
    alice.host.command(now: world.now) { machine, now in
      for word in 0..<wordCount {
        var message = ApplicationMessage([1], stream: UInt8(8 + word % 10))
        message.life = .seconds(8)
        _ = try? machine.send(message, on: call, now: now)
      }
      // Packets of messages leave at a pace.
      for step in 0..<110 {
        let later = now + .milliseconds(5 * step)
        if hangingUp, step == 100 { try? machine.end(call, now: later) }
        machine.handleTimeout(now: later)
        packets += transmitted(&machine, to: place, now: later)
      }
    }
    let source = world.network.address(of: alice.hostID)
    bob.host.command(now: world.now) { machine, now in
      for packet in packets {
        var bytes = packet
        var span = bytes.mutableSpan
        machine.handle(&span, from: source, marks: DatagramMarks(), now: now)
      }
    }
  }

  private static func transmitted(
    _ machine: inout PeerMachine, to peer: SocketAddress, now: Instant
  ) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    while true {
      var path: DatagramPath?
      var packet: [UInt8] = []
      packet.append(addingCapacity: PeerMachine.roomByteCount) { output in
        path = machine.pollTransmit(into: &output, now: now)
      }
      guard let path else { return packets }
      if path.remote == peer { packets.append(packet) }
    }
  }
}
