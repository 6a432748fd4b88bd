import Cryptography
import Primitives
import SecureSession
import Testing
import Trials
import Wire

/// Somebody who answers alice as bob, calls bob as alice, and wants both to read the same short
/// code (docs/protocol/calling.md §5). The codes are shortened to 12 bits, so that luck can be
/// counted.
@Suite struct ManInTheMiddleTests {
  @Test func `against the commitment the man in the middle has the luck of one guess`() throws {
    let runs = 100_000
    var hits = 0
    try Self.repeated(runs, seed: 70) { middle, random in
      hits += middle.agrees(bits: 12, tries: 1, isCommitted: true, random: &random) ? 1 : 0
    }
    // Binomial: the mean is 24.4, its deviation 4.9.
    let mean = Double(runs) / Double(1 << 12)
    let deviation = (mean * (1 - 1 / Double(1 << 12))).squareRoot()
    expect(abs(Double(hits) - mean) <= 3 * deviation, "\(hits) hits, expected \(mean)")
    Trials.report("7: \(hits) of \(runs) 12-bit codes agree, expected \(mean) ± \(3 * deviation)")
  }

  @Test func `without the commitment the man in the middle nearly always makes the codes agree`()
    throws
  {
    let runs = Trials.count(40, full: 1_000)
    var hits = 0
    try Self.repeated(runs, seed: 71) { middle, random in
      hits +=
        middle.agrees(bits: 12, tries: 10 << 12, isCommitted: false, random: &random) ? 1 : 0
    }
    // Ten tries for each possible code: one run in 22 000 fails.
    expect(hits == runs, "\(hits) of \(runs)")
    Trials.report("7: without the commitment \(hits) of \(runs) agree")
  }

  @Test func `codes of full length differ in every run`() throws {
    let runs = Trials.count(2_000, full: 10_000)
    var same = 0
    try Self.repeated(runs, seed: 72, handshakeEvery: Trials.isFull ? 1 : 20) { middle, random in
      same += middle.agrees(bits: 30, tries: 1, isCommitted: true, random: &random) ? 1 : 0
    }
    expect(same == 0, "\(same) of \(runs)")
    Trials.report("7: \(same) of \(runs) 30-bit codes agree")
  }

  /// Runs `attack` with the keys of two real handshakes, made anew now and then, and fresh numbers.
  private static func repeated(
    _ runs: Int, seed: UInt64, handshakeEvery interval: Int = 1_000,
    _ attack: (borrowing Middle, inout RandomSource) -> Void
  ) throws {
    var random = RandomSource(seed: seed)
    var middle = try Middle(seed: seed)
    for run in 0..<runs {
      if run > 0, run % interval == 0 { middle = try Middle(seed: seed &+ UInt64(run)) }
      attack(middle, &random)
    }
  }
}

/// Two calls with the man in the middle: alice's, who dialled a name, and bob's.
private struct Middle: ~Copyable {
  private let alicesKey: SecretKey
  private let bobsKey: SecretKey
  private let alice: PeerID
  private let bob: PeerID
  private let mallory: PeerID

  init(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let alice = testIdentity(seed: 3 &* seed)
    let bob = testIdentity(seed: 3 &* seed &+ 1)
    let mallory = testIdentity(seed: 3 &* seed &+ 2)
    let first = try Self.call(from: alice, to: mallory, &random)
    let second = try Self.call(from: mallory, to: bob, &random)
    alicesKey = first
    bobsKey = second
    self.alice = alice.id
    self.bob = bob.id
    self.mallory = mallory.id
  }

  /// What the caller's and the callee's code are made of.
  private static func call(
    from caller: borrowing LocalIdentity, to callee: borrowing LocalIdentity,
    _ random: inout RandomSource
  ) throws -> SecretKey {
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: caller, callee: callee.id,
      calleeStatic: callee.staticKey.publicKey, payload: [1].span, random: &random)
    let ringing = try CallResponder(
      message: call.message.span, connectionID: id, caller: caller.id, callee: callee)
    let accepted = try ringing.accept(payload: [2].span, random: &random)
    let answer = accepted.message
    guard let keys = try call.readAnswer(answer.span).establish() else { throw Missing() }
    let theirs = accepted.intoKeys()
    let isSame = keys.exporter.export(.shortCode) == theirs.exporter.export(.shortCode)
    expect(isSame)
    return keys.exporter.export(.shortCode)
  }

  /// The attack in the order of the protocol. When alice opens her number, what she will read is
  /// certain; the man in the middle then looks for a number of its own with which bob reads the
  /// same. Bob checks it against the commitment, where there is one.
  func agrees(
    bits: Int, tries: Int, isCommitted: Bool, random: inout RandomSource
  ) -> Bool {
    // INVITE to bob, bob's answer, and the answer to alice.
    let ownNumber = Bytes32(random: &random)
    let promise = ShortCode.commitment(to: ownNumber)
    let bobsNumber = Bytes16(random: &random)
    let answer = Bytes16(random: &random)
    let aliceReads = alicesCode(Bytes32(random: &random), answer, bits)
    var opened = ownNumber
    for _ in 0..<tries where bobsCode(opened, bobsNumber, bits) != aliceReads {
      opened = Bytes32(random: &random)
      // Another number than the promised one ends the call: better none.
      if isCommitted, ShortCode.commitment(to: opened) != promise { opened = ownNumber }
    }
    return bobsCode(opened, bobsNumber, bits) == aliceReads
  }

  private func alicesCode(_ caller: Bytes32, _ callee: Bytes16, _ bits: Int) -> UInt32 {
    let digest = ShortCode.digest(
      key: alicesKey, callerNumber: caller, calleeNumber: callee, caller: alice, callee: mallory)
    return Self.first(bits, of: digest)
  }

  private func bobsCode(_ caller: Bytes32, _ callee: Bytes16, _ bits: Int) -> UInt32 {
    let digest = ShortCode.digest(
      key: bobsKey, callerNumber: caller, calleeNumber: callee, caller: mallory, callee: bob)
    return Self.first(bits, of: digest)
  }

  private static func first(_ bits: Int, of digest: Bytes32) -> UInt32 {
    let word = digest.bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return word >> UInt32(32 - bits)
  }
}
