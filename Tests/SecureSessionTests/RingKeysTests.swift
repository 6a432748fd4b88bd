import Cryptography
import Primitives
import SecureSession
import Testing
import Vectors
import Wire

@Suite struct RingKeysTests {
  private let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

  @Test func `path checks run both ways, and no side opens its own`() throws {
    var caller = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    var callee = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    let ids = (ConnectionID(rawValue: 1), ConnectionID(rawValue: 2))
    guard var near = caller.pathChecks(local: ids.0, remote: ids.1, presence: .first),
      var far = callee.pathChecks(local: ids.1, remote: ids.0, presence: .first)
    else { throw Missing() }
    for _ in 0..<10 {
      let check = seal(&near)
      expect(SealedPacket.connectionID(of: check.span) == ids.1)
      expect(opens(&far, check) && !opens(&far, check) && !opens(&near, check))
      let answer = seal(&far)
      expect(opens(&near, answer) && !opens(&near, answer))
    }
  }

  @Test func `path keys are given out once, so that no number is used twice`() throws {
    var keys = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    let id = ConnectionID(rawValue: 1)
    let first = keys.pathChecks(local: id, remote: id, presence: .first) != nil
    let second = keys.pathChecks(local: id, remote: id, presence: .first) != nil
    expect(first && !second)
  }

  /// Both have the secret of one INVITE, and count their packets from 0.
  @Test(arguments: [
    (PresenceID.second, UInt32(2)), (PresenceID.first, UInt32(3)), (.second, UInt32(3)),
  ])
  func `two programs of one callee never share a path key`(
    other: PresenceID, otherID: UInt32
  ) throws {
    let local = ConnectionID(rawValue: 1)
    var caller = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    var one = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    var two = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    let ids = (ConnectionID(rawValue: 2), ConnectionID(rawValue: otherID))
    guard var toOne = caller.pathChecks(local: local, remote: ids.0, presence: .first),
      var toTwo = caller.pathChecks(local: local, remote: ids.1, presence: other),
      var atOne = one.pathChecks(local: ids.0, remote: local, presence: .first),
      var atTwo = two.pathChecks(local: ids.1, remote: local, presence: other)
    else { throw Missing() }
    // The same plain text under the same number: under one key the sealed parts would be equal.
    let (fromOne, fromTwo) = (seal(&atOne), seal(&atTwo))
    expect(fromOne.dropFirst(9) != fromTwo.dropFirst(9))
    expect(seal(&toOne).dropFirst(9) != seal(&toTwo).dropFirst(9))
    expect(!opens(&toTwo, fromOne) && !opens(&toOne, fromTwo))
    expect(opens(&toOne, fromOne) && opens(&toTwo, fromTwo))
  }

  @Test func `a caller has path keys for eight programs, and a callee for itself alone`() throws {
    var caller = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    var callee = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    let id = ConnectionID(rawValue: 1)
    var made = (0, 0)
    for number in UInt64(1)...10 {
      let presence = PresenceID(rawValue: number)
      if caller.pathChecks(local: id, remote: id, presence: presence) != nil { made.0 += 1 }
      if callee.pathChecks(local: id, remote: id, presence: presence) != nil { made.1 += 1 }
    }
    expect(made == (8, 1))
  }

  @Test func `of a call that is over only MACs are left`() throws {
    var keys = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    let body = Array("CANCEL".utf8)
    let nonce = [UInt8](repeating: 7, count: SealedRingDetails.nonceByteCount)
    let mac = keys.mac(from: .caller, over: body.span)
    let sealed = try keys.sealDetails(body.span, head: body.span, nonce: nonce.span)
    keys.eraseAllButMAC()
    expect(mac == keys.mac(from: .caller, over: body.span))
    let id = ConnectionID(rawValue: 1)
    let hasPath = keys.pathChecks(local: id, remote: id, presence: .first) != nil
    expect(!hasPath)
    #expect(throws: CryptographyError.notAuthentic) {
      try keys.sealDetails(body.span, head: body.span, nonce: nonce.span)
    }
    #expect(throws: CryptographyError.notAuthentic) {
      try keys.openDetails(sealed.span, head: body.span, nonce: nonce.span)
    }
  }

  @Test func `a MAC names its direction, its body and its call`() throws {
    let keys = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    let same = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    let other = RingKeys(secret: SecretKey(), side: .callee)
    let body = Array("CANCEL".utf8)
    let mac = keys.mac(from: .caller, over: body.span)
    expect(mac == same.mac(from: .caller, over: body.span))
    expect(mac != same.mac(from: .callee, over: body.span))
    expect(mac != same.mac(from: .caller, over: (body + [0]).span))
    expect(mac != other.mac(from: .caller, over: body.span))
    // Python: hashlib.blake2b(b'\0CANCEL', digest_size=16, key=hashlib.blake2b(b'',
    //   key=bytes(range(32)), digest_size=32, salt=(1).to_bytes(8, 'little') + bytes(8),
    //   person=b'EST1ring' + bytes(8)).digest())
    expect(hex(mac.bytes) == "a89571bbb3af92e24d76b862f06a84dd")
  }

  @Test func `the MAC of a hang-up is made the same way under the session's own key`() throws {
    let key = try secretKey(hex: secret)
    let body = Array("HANGUP".utf8)
    let mac = SignallingMAC.make(key: key, from: .callee, over: body.span)
    expect(mac == SignallingMAC.make(key: key, from: .callee, over: body.span))
    expect(mac != SignallingMAC.make(key: key, from: .caller, over: body.span))
    expect(mac != RingKeys(secret: key, side: .caller).mac(from: .callee, over: body.span))
  }

  @Test func `ring details open for the other side only as they were sealed`() throws {
    let callee = RingKeys(secret: try secretKey(hex: secret), side: .callee)
    let caller = RingKeys(secret: try secretKey(hex: secret), side: .caller)
    let head = Array("RINGING head".utf8)
    let nonce = (0..<24).map { UInt8($0) }
    let details = Array("connection ID and candidates".utf8)
    let sealed = try callee.sealDetails(details.span, head: head.span, nonce: nonce.span)
    expect(try caller.openDetails(sealed.span, head: head.span, nonce: nonce.span) == details)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: CryptographyError.notAuthentic) {
        try caller.openDetails(changed.span, head: head.span, nonce: nonce.span)
      }
    }
    #expect(throws: CryptographyError.notAuthentic) {
      try caller.openDetails(sealed.span, head: (head + [0]).span, nonce: nonce.span)
    }
  }

  private func seal(_ session: inout RingSession) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(addingCapacity: 1200) { output in
      Session.beginPacket(&output)
      output.append(repeating: 7, count: 9)
      do throws(SessionError) { try session.seal(&output) } catch { Issue.record("\(error)") }
    }
    return packet
  }

  private func opens(_ session: inout RingSession, _ packet: [UInt8]) -> Bool {
    var packet = packet
    var span = packet.mutableSpan
    do throws(SessionError) {
      let frames = try session.open(&span)
      return Array(packet[frames]) == Array(repeating: 7, count: 9)
    } catch {
      return false
    }
  }
}

@Suite struct ShortCodeTests {
  @Test func `is what the protocol says, to the letter`() throws {
    // Python: hashlib.blake2b(bytes([1] * 32 + [2] * 16 + [3] * 32 + [4] * 32),
    //   key=bytes(range(32)), digest_size=32).digest(), its first 30 bits in z-base-32
    let key = try secretKey(
      hex: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
    let code = ShortCode.letters(
      key: key, callerNumber: Self.bytes32(1), calleeNumber: Bytes16(InlineArray(repeating: 2)),
      caller: PeerID(Self.bytes32(3)), callee: PeerID(Self.bytes32(4)))
    expect(code == "ikserg")
  }

  @Test func `differs where anything differs`() throws {
    var random = RandomSource(seed: 60)
    var codes: Set<String> = []
    for _ in 0..<1000 {
      codes.insert(
        ShortCode.letters(
          key: SecretKey(random: &random), callerNumber: Bytes32(random: &random),
          calleeNumber: Bytes16(random: &random), caller: PeerID(Bytes32(random: &random)),
          callee: PeerID(Bytes32(random: &random))))
    }
    // A thousand of 2^30 collide with a chance of 1 in 2000; this seed does not.
    expect(codes.count == 1000)
    expect(codes.allSatisfy { $0.count == ShortCode.letterCount })
  }

  @Test func `the commitment binds the caller's number`() {
    // Python: hashlib.blake2b(b'EST1 sas' + bytes([1] * 32), digest_size=32)
    expect(
      hex(ShortCode.commitment(to: Self.bytes32(1)).bytes)
        == "743eb772b8901c52d33515298e15971cc96964b415fd4b90f5fff6c385d0d144")
    expect(ShortCode.commitment(to: Self.bytes32(1)) != ShortCode.commitment(to: Self.bytes32(2)))
  }

  private static func bytes32(_ value: UInt8) -> Bytes32 { Bytes32(InlineArray(repeating: value)) }
}

extension PresenceID {
  fileprivate static let first = PresenceID(rawValue: 0x1111)
  fileprivate static let second = PresenceID(rawValue: 0x2222)
}
