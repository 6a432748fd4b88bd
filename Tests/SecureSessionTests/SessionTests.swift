import Cryptography
import Primitives
import SecureSession
import Testing
import Vectors
import Wire

@Suite struct SessionTests {
  @Test func `carries packets both ways, with numbers that rise by one`() throws {
    var pair = try SessionPair(seed: 1)
    for round in UInt64(0)..<50 {
      let frames = (0..<Int(round)).map { UInt8($0) }
      let out = try pair.initiator.packet(frames, now: pair.now)
      let (opened, received) = try pair.responder.receive(out.bytes, now: pair.now)
      expect(out.number == round && opened.number == round && received == frames)
      expect(opened.isHighestYet && !opened.switchedEpoch)
      let back = try pair.responder.packet(frames + [1], now: pair.now)
      let answer = try pair.initiator.receive(back.bytes, now: pair.now)
      expect(answer.opened.number == round && answer.frames == frames + [1])
    }
  }

  @Test func `opens each packet once, in any order inside the window`() throws {
    var pair = try SessionPair(seed: 2)
    var packets: [[UInt8]] = []
    for _ in 0..<9000 {
      packets.append(try pair.initiator.packet([7], now: pair.now).bytes)
    }
    expect(try pair.responder.receive(packets[8999], now: pair.now).opened.isHighestYet)
    for index in stride(from: 8998, through: 808, by: -1) {
      let (opened, _) = try pair.responder.receive(packets[index], now: pair.now)
      expect(!opened.isHighestYet && opened.number == UInt64(index))
    }
    for index in [0, 807, 808, 5000, 8999] {
      let refusal = pair.responder.refusal(of: packets[index], now: pair.now)
      expect(refusal == .replayed, "packet \(index)")
    }
    let failures = pair.responder.failureCount
    expect(failures == 0, "a repeated packet is no forgery")
  }

  @Test func `forged packets between good ones lose nothing`() throws {
    var pair = try SessionPair(seed: 3)
    var random = RandomSource(seed: 3)
    var forgeries: UInt64 = 0
    for number in UInt64(0)..<200 {
      let good = try pair.initiator.packet([1, 2, 3, 4, 5], now: pair.now).bytes
      for _ in 0..<20 {
        var forged = good
        let index = Int(random.next() % UInt64(forged.count))
        forged[index] ^= UInt8(1 << (random.next() % 8))
        let isOtherConnection = (1...4).contains(index)
        let refusal = pair.responder.refusal(of: forged, now: pair.now)
        // A flipped bit of the masked number may name one that has been seen: replayed, not forged.
        expect(refusal != nil && (refusal == .unknownConnection) == isOtherConnection)
        if refusal == .notAuthentic { forgeries += 1 }
      }
      let (opened, _) = try pair.responder.receive(good, now: pair.now)
      expect(opened.number == number && opened.isHighestYet)
    }
    let counted = pair.responder.failureCount
    expect(counted == forgeries && forgeries > 2000)
  }

  @Test func `a packet cut or changed at any byte neither opens nor traps`() throws {
    var pair = try SessionPair(seed: 4)
    let good = try pair.initiator.packet(Array("frames".utf8), now: pair.now).bytes
    for count in 0..<good.count {
      expect(pair.responder.refusal(of: Array(good.prefix(count)), now: pair.now) != nil)
    }
    for index in good.indices {
      var changed = good
      changed[index] ^= 0xFF
      expect(pair.responder.refusal(of: changed, now: pair.now) != nil)
    }
    expect(pair.responder.refusal(of: good + [0], now: pair.now) == .notAuthentic)
    expect(try pair.responder.receive(good, now: pair.now).frames == Array("frames".utf8))
  }

  @Test func `a side does not open what it has sealed itself`() throws {
    var pair = try SessionPair(seed: 5)
    var reflected = try pair.initiator.packet([1], now: pair.now).bytes
    let id = pair.initiator.localConnectionIDs[0].rawValue
    for index in 0..<4 { reflected[1 + index] = UInt8(truncatingIfNeeded: id >> UInt32(8 * index)) }
    expect(pair.initiator.refusal(of: reflected, now: pair.now) == .notAuthentic)
  }

  @Test func `holds at most 1175 bytes of frames`() throws {
    var pair = try SessionPair(seed: 6)
    let largest = Array(repeating: UInt8(9), count: 1175)
    let packet = try pair.initiator.packet(largest, now: pair.now).bytes
    expect(packet.count == 1200)
    expect(try pair.responder.receive(packet, now: pair.now).frames == largest)
    expect(try pair.initiator.packet([], now: pair.now).bytes.count == 25)
    let refused: SessionError? = {
      do throws(SessionError) {
        _ = try pair.initiator.packet(largest + [9], now: pair.now)
        return nil
      } catch {
        return error
      }
    }()
    expect(refused == .wrongLength)
    // The refused packet used no number.
    expect(try pair.initiator.packet([], now: pair.now).number == 2)
  }

  @Test func `exports the same keys at both ends, another for each label`() throws {
    let pair = try SessionPair(seed: 7)
    func text(_ key: borrowing SecretKey) -> String { hex((0..<32).map { key.span[$0] }) }
    let labels: [ExporterLabel] = [.rekeyPSK, .shortCode, .hangUp, .candidates]
    let ours = labels.map { text(pair.initiator.export($0)) }
    let theirs = labels.map { text(pair.responder.export($0)) }
    expect(ours == theirs)
    expect(Set(ours).count == labels.count)
  }

  @Test func `uses no key beyond its life`() throws {
    var pair = try SessionPair(seed: 8)
    let end = pair.now + SessionLimits.peer.hardStop
    let late = try pair.initiator.packet([1], now: end - .nanoseconds(1)).bytes
    expect(try pair.responder.receive(late, now: end - .nanoseconds(1)).frames == [1])
    expect(pair.responder.refusal(of: late, now: end) == .closed)
    expect(Self.sealFails(&pair.initiator, now: end))
    var actions: [Session.TimeoutAction] = []
    while let action = pair.initiator.handleTimeout(now: end) { actions.append(action) }
    expect(actions.last == .expired)
    expect(pair.initiator.isClosed && pair.initiator.nextDeadline == nil)
  }

  @Test func `a closed session neither seals nor opens`() throws {
    var pair = try SessionPair(seed: 9)
    let packet = try pair.initiator.packet([1], now: pair.now).bytes
    pair.responder.close()
    expect(pair.responder.refusal(of: packet, now: pair.now) == .closed)
    expect(Self.sealFails(&pair.responder, now: pair.now))
    let deadline = pair.responder.nextDeadline
    expect(deadline == nil)
  }

  @Test func `seals no number beyond the last, and asks for new keys long before`() throws {
    var limits = SessionLimits.peer
    limits.rekeyNumber = 10
    limits.lastNumber = 20
    var pair = try SessionPair(seed: 10, limits: limits)
    for number in UInt64(0)...20 {
      let sealed = try pair.initiator.packet([1], now: pair.now).number
      expect(sealed == number)
      let isDue = pair.initiator.nextDeadline == pair.now
      expect(isDue == (number >= 10))
    }
    expect(Self.sealFails(&pair.initiator, now: pair.now))
    expect(SessionLimits.peer.rekeyNumber == 1 << 30)
    expect(SessionLimits.peer.lastNumber == 1 << 31 - 1)
  }

  @Test func `closes after too many forgeries`() throws {
    var limits = SessionLimits.peer
    expect(limits.maximumFailures == 1 << 36)
    limits.maximumFailures = 100
    var pair = try SessionPair(seed: 11, limits: limits)
    var packet = try pair.initiator.packet([1], now: pair.now).bytes
    packet[packet.count - 1] ^= 1
    for _ in 0..<99 { _ = pair.responder.refusal(of: packet, now: pair.now) }
    expect(!pair.responder.isClosed)
    _ = pair.responder.refusal(of: packet, now: pair.now)
    expect(pair.responder.isClosed)
  }

  static func sealFails(_ session: inout Session, now: Instant) -> Bool {
    do throws(SessionError) {
      _ = try session.packet([1], now: now)
      return false
    } catch {
      return error == .closed
    }
  }
}
