import Forwarding
import Primitives
import Testing
import Wire

@testable import Peer

/// One end's way to a binding (docs/protocol/relay.md §6), alone.
final class PairBindingTests {
  private let relay = SocketAddress(v4: 192, 0, 2, 1, port: 7500)
  private let program = PresenceID(rawValue: 4)
  private let secret = PairSecret(Bytes32(InlineArray(repeating: 5)))
  private let call: CallID
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var binding = PairBinding()

  init() throws { call = try #require(CallID(Array(0..<16))) }

  private var ticket: PairTicket {
    let pair = Bytes16(InlineArray(repeating: 3))
    return PairTicket(
      address: relay, pair: pair, until: 9, side: .lesser,
      key: secret.key(of: pair, .lesser, until: 9))
  }

  private func ask(hasPairs: Bool = true) -> PairRequest? {
    binding.pollRequest(to: .zero, of: call, hasPairs: hasPairs, now: now)
  }

  private func grant() {
    binding.seek(program, now: now)
    _ = ask()
    binding.handle(PairResult(call: call, program: program, .granted(ticket)), now: now)
  }

  private func poll(_ ids: PairIDs = PairIDs()) throws -> PairBindPacket? {
    var path: DatagramPath?
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { path = binding.write(into: &$0, ids: ids, now: now) }
    guard path != nil else { return nil }
    #expect(path == DatagramPath(relay))
    let bind = try PairBindPacket(parsing: bytes.span)
    let isAuthentic = bind.isAuthentic(bytes.span, ticket.key)
    #expect(isAuthentic)
    return bind
  }

  private func answer(
    _ status: PairBoundPacket.Status, to bind: PairBindPacket, isOtherBound: Bool = false,
    from source: SocketAddress? = nil
  ) -> PairBinding.Finding {
    let packet = PairBoundPacket(
      status, isOtherBound: isOtherBound, pair: bind.pair, number: bind.number,
      cookie: status == .cookie ? Bytes16(InlineArray(repeating: 6)) : .zero)
    let bytes = packet.sealed(by: ticket.key)
    return binding.handle(packet.with(mac: bytes), bytes.span, from: source ?? relay, now: now)
  }

  @Test func `it asks eight times, and not where the rendezvous has no relay`() {
    #expect(ask() == nil && binding.nextDeadline == nil)
    binding.seek(program, now: now)
    var count = 0
    for _ in 0..<100 {
      if ask() != nil { count += 1 }
      binding.seek(program, now: now)
      binding.handle(PairResult(call: call, program: program, .notKnown), now: now)
      now = now + .milliseconds(250)
    }
    #expect(count == 8 && binding.nextDeadline == nil)
    binding = PairBinding()
    binding.seek(program, now: now)
    #expect(ask(hasPairs: false) == nil && binding.nextDeadline == nil)
    binding.seek(program, now: now)
    #expect(ask() != nil)
    binding.handle(PairResult(call: call, program: program, .noRelay), now: now)
    binding.seek(program, now: now)
    #expect(binding.nextDeadline == nil)
  }

  @Test func `it binds with the cookie of its address, and again in time`() throws {
    grant()
    #expect(binding.address == relay)
    let first = try #require(try poll())
    #expect(first.cookie == .zero && first.number == 1)
    #expect(try poll() == nil)
    #expect(answer(.cookie, to: first) == .noted)
    let second = try #require(try poll())
    #expect(second.cookie == Bytes16(InlineArray(repeating: 6)) && second.number == 2)
    #expect(answer(.bound, to: second) == .noted && binding.isBound)
    now = now + .milliseconds(9_990)
    #expect(try poll() == nil)
    // A new connection ID of the peer is told at once.
    var ids = PairIDs()
    ids.one = ConnectionID(rawValue: 3)
    let third = try #require(try poll(ids))
    #expect(third.ids == ids && answer(.bound, to: third, isOtherBound: true) == .open)
    binding.hurry(now: now)
    #expect(try poll(ids)?.number == 4)
  }

  /// The relay lets few packets through whose connection ID it was not told of.
  @Test func `a new connection ID is told at once though answers are missing`() throws {
    grant()
    let first = try #require(try poll())
    #expect(answer(.cookie, to: first) == .noted)
    let second = try #require(try poll())
    #expect(answer(.bound, to: second) == .noted)
    // Renewed after 10 s, and the answers get lost.
    let end = now + .seconds(40)
    while now < end {
      _ = try poll()
      now = min(end, max(now + .milliseconds(1), binding.nextDeadline ?? end))
    }
    #expect(!binding.isBound)
    #expect(try poll() == nil)
    var ids = PairIDs()
    ids.two = ConnectionID(rawValue: 9)
    let start = now
    var told: [Int64] = []
    while told.count < 3 {
      if let bind = try poll(ids) {
        #expect(bind.ids == ids)
        told.append((now - start).milliseconds)
      }
      now = now + .milliseconds(10)
    }
    #expect(told == [0, 100, 300])
  }

  @Test func `answers of others, and late ones, change nothing`() throws {
    grant()
    let bind = try #require(try poll())
    #expect(answer(.bound, to: bind, from: SocketAddress(v4: 10, 0, 0, 9, port: 7500)) == .ignored)
    var packet = PairBoundPacket(.bound, isOtherBound: true, pair: bind.pair, number: bind.number)
    let forged = packet.sealed(by: .zero)
    var finding = binding.handle(packet.with(mac: forged), forged.span, from: relay, now: now)
    #expect(finding == .ignored)
    packet.number = 99
    let early = packet.sealed(by: ticket.key)
    finding = binding.handle(packet.with(mac: early), early.span, from: relay, now: now)
    #expect(finding == .ignored && !binding.isBound)
  }

  @Test func `what is no answer of a relay is nobody's`() {
    for bytes in [[], [PairBoundPacket.firstByte], Array(repeating: 0xC9, count: 64)] {
      let isOurs = CallPairs.handleBound(bytes.span, from: relay, among: [], now: now)
      #expect(!isOurs)
    }
  }

  /// Lost answers end nothing: it binds on, more and more seldom, and asks once each time.
  @Test func `without an answer another ticket is asked for, and the one that is there stays`()
    throws
  {
    grant()
    let start = now
    var asked = 0
    var bound: [Int64] = []
    while now < start + .seconds(120) {
      if try poll() != nil { bound.append((now - start).milliseconds) }
      if ask() != nil { asked += 1 }
      binding.handle(PairResult(call: call, program: program, .notKnown), now: now)
      now = max(now, binding.nextDeadline ?? now)
      #expect(binding.address == relay)
    }
    #expect(bound.prefix(9) == [0, 100, 300, 700, 1100, 2100, 4100, 8100, 16_100], "\(bound)")
    #expect((10...14).contains(bound.count), "\(bound)")
    // Seven in a row, as each 500 ms; then one for each PAIR_BIND.
    #expect((8...16).contains(asked), "\(asked)")
    // The line is back, or the path is looked for: at once, with the same ticket.
    binding.hurry(now: now)
    let bind = try #require(try poll())
    #expect(answer(.bound, to: bind) == .noted && binding.isBound)
  }

  @Test func `a ticket of before that comes again does not make it bind more often`() throws {
    grant()
    let start = now
    var count = 0
    while now < start + .seconds(60) {
      if try poll() != nil { count += 1 }
      if ask() != nil {
        binding.handle(PairResult(call: call, program: program, .granted(ticket)), now: now)
      }
      now = max(now, binding.nextDeadline ?? now)
    }
    #expect((10...20).contains(count), "\(count)")
  }

  @Test func `a full relay is asked again, an ended ticket is replaced`() throws {
    grant()
    let first = try #require(try poll())
    #expect(answer(.full, to: first) == .noted)
    now = now + .milliseconds(4_900)
    #expect(try poll() == nil)
    now = now + .milliseconds(100)
    let second = try #require(try poll())
    #expect(answer(.ended, to: second) == .noted && !binding.isBound)
    #expect(ask() != nil)
    #expect(try poll() == nil)
    binding.handle(PairResult(call: call, program: program, .granted(ticket)), now: now)
    #expect(try poll() != nil)
  }

  @Test func `the end of the call ends the binding, after its last packets`() throws {
    grant()
    let first = try #require(try poll())
    #expect(answer(.bound, to: first) == .noted)
    binding.end(now: now)
    #expect(try poll() == nil && binding.address == nil)
    now = now + .milliseconds(600)
    #expect(try #require(try poll()).isEnd)
    #expect(try poll() == nil && binding.nextDeadline == nil)
    binding.handle(PairResult(call: call, program: program, .granted(ticket)), now: now)
    #expect(try poll() == nil && binding.nextDeadline == nil)
  }
}

extension PairBoundPacket {
  /// As read from its bytes.
  fileprivate func with(mac bytes: [UInt8]) -> PairBoundPacket {
    (try? PairBoundPacket(parsing: bytes.span)) ?? self
  }
}
