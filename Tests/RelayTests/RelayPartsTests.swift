import Primitives
import Testing
import Wire

@testable import Relay

@Suite struct RelayPartsTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let peer = SocketAddress(v4: 198, 51, 100, 4, port: 4000)

  @Test func `a request is repeated after 250 ms, doubling to 4 s`() {
    let limits = RelayLimits()
    var transaction = RelayTransaction(
      .permit(peer), STUNTransactionID(high: 1, low: 2), at: start)
    var waits: [Duration] = []
    for _ in 0..<limits.attempts {
      let now = transaction.nextAt
      transaction.countSent(isAuthenticated: true, limits, now: now)
      waits.append(transaction.nextAt - now)
    }
    #expect(waits.map(\.milliseconds) == [250, 500, 1000, 2000, 4000, 4000, 4000])
    transaction.renew(STUNTransactionID(high: 3, low: 4), at: start)
    #expect(transaction.attempts == 0 && transaction.renewals == 1 && transaction.nextAt == start)
  }

  /// RFC 8656 §9, §12: the server forgets them after 5 and 10 minutes.
  @Test func `permissions and channels are renewed well before the server forgets them`() {
    let limits = RelayLimits()
    #expect(limits.permissionPeriod <= .seconds(240) && limits.channelPeriod < .seconds(600))
    #expect(limits.peers + limits.channels < limits.transactions)
    let permission = RelayPermission(host: peer, dueAt: start)
    let channel = RelayChannel(number: 0x4000, peer: peer, lastUsed: start)
    #expect(permission.dueAt == start && channel.dueAt == nil && !channel.isBound)
  }

  @Test func `a channel is used by its number once it is bound, and bound anew after its period`() {
    let limits = RelayLimits()
    var channels = RelayChannels(limits)
    guard case .unknown = channels.use(for: peer, now: start),
      let number = channels.open(to: peer, now: start)
    else {
      Issue.record("a new peer has no channel, and gets one")
      return
    }
    guard case .unbound = channels.use(for: peer, now: start) else {
      Issue.record("not bound yet")
      return
    }
    channels.set(number, isBound: true, dueAt: start + limits.channelPeriod)
    guard case .bound(number) = channels.use(for: peer, now: start) else {
      Issue.record("bound")
      return
    }
    let early = channels.popDue(now: start)?.number
    #expect(early == nil && channels.peer(of: number) == peer)
    let later = start + limits.channelPeriod
    _ = channels.use(for: peer, now: later - .seconds(1))
    let due = channels.popDue(now: later)?.number
    #expect(due == number && channels.nextDeadline == nil)
  }

  @Test func `a relay that was lost is given back once, and asked for with a pause`() {
    var losses = RelayLosses()
    #expect(!losses.isMissed(now: start))
    losses.handleLoss(nil, now: start)
    let none = losses.takeOld()
    #expect(none == nil && losses.isMissed(now: start + .seconds(60)))
    #expect(!losses.isMissed(now: start + .seconds(1200)))
    let first = losses.pauseBeforeAnother(now: start)
    let soon = losses.pauseBeforeAnother(now: start + .seconds(1))
    let later = losses.pauseBeforeAnother(now: start + .seconds(60))
    #expect(first == .zero && soon == RelayLosses.pause && later == .zero)
    losses.handleGivenBack(now: start)
    #expect(losses.mayRoomCome(now: start + .milliseconds(2999)))
    #expect(!losses.mayRoomCome(now: start + .seconds(3)))
  }

  @Test func `what is written of a message is read of it`() throws {
    let v6 = SocketAddress(family: .v6, high: 0x2001_0DB8_0000_0000, low: 7, port: 9)
    for address in [peer, v6] {
      var writer = STUNWriter(.success, .allocate, STUNTransactionID(high: 5, low: 6))
      writer.append(.xorRelayedAddress, address)
      writer.append(.lifetime, 77)
      writer.append(.nonce, [1, 2, 3])
      let bytes = writer.bytes
      let message = try STUNMessage(parsing: bytes.span)
      #expect(message.relayedAddress == address && message.lifetime == 77)
      #expect(message.nonce.map { bytes[$0] } == [1, 2, 3])
      #expect(message.messageClass == .success && message.method == .allocate)
      #expect(message.transactionID == STUNTransactionID(high: 5, low: 6))
      for count in 0..<bytes.count {
        let cut = Array(bytes[..<count])
        #expect(throws: WireError.self) { try STUNMessage(parsing: cut.span) }
      }
    }
  }

  @Test func `an attribute that must be understood and is not makes the message unread`() {
    for type in [UInt8(0x7F), 0xFF] {
      let bytes: [UInt8] =
        [1, 3, 0, 4, 0x21, 0x12, 0xA4, 0x42] + Array(repeating: 0, count: 12) + [type, 0xF0, 0, 0]
      let isRead = (try? STUNMessage(parsing: bytes.span)) != nil
      #expect(isRead == (type == 0xFF))
    }
  }

  @Test func `what follows the code of the password is not read`() throws {
    var writer = STUNWriter(.success, .refresh, STUNTransactionID(high: 5, low: 6))
    writer.append(.messageIntegrity, byteCount: 20) { _ in Array(repeating: 1, count: 20) }
    writer.append(.lifetime, 77)
    let bytes = writer.bytes
    let message = try STUNMessage(parsing: bytes.span)
    #expect(message.lifetime == nil && message.integrity?.offset == 20)
  }
}
