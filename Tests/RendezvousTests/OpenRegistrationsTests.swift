import Cryptography
import Primitives
import Testing
import Wire

@testable import Rendezvous

/// What a node keeps of registrations until their first packet, and not for longer.
@Suite struct OpenRegistrationsTests {
  private func id(_ number: UInt64) -> PeerID {
    PeerID(word0: number, word1: 0, word2: 0, word3: 0)
  }

  /// Serial 7, and no card.
  private let facts = RegistrationFacts(
    .list([
      .bytes([0, 0, 0, 0, 0, 0, 0, 7]), .none, .number(0), .number(0), .none, .number(9),
    ]), of: .zero, asked: nil, claimed: nil, receipt: nil, ClusterKeys(SecretKey()))

  @Test func `nothing stays of a registration that has had its first packet`() {
    var open = OpenRegistrations()
    for number in UInt64(0)..<200_000 {
      open.insert(facts, of: id(number), number)
      #expect(open[id(number)]?.serial == 7)
      open.close(id(number))
    }
    #expect(open.count == 0 && open.order.isEmpty)
  }

  @Test func `one that never has its first packet is in nobody's way, and goes after 10 s`() {
    var open = OpenRegistrations()
    open.insert(facts, of: id(1), 1)
    for number in UInt64(2)..<5 {
      open.insert(facts, of: id(number), number)
      open.close(id(number))
    }
    for _ in 0..<10 { open.endPeriod() }
    #expect(open.count == 1 && open[id(1)] != nil)
    open.endPeriod()
    #expect(open.count == 0 && open.order.isEmpty)
  }

  @Test func `of two programs that register at once the second finds what it needs`() {
    var open = OpenRegistrations()
    for number in UInt64(1)...2 { open.insert(facts, of: id(1), number) }
    open.close(id(1))
    #expect(open[id(1)] != nil)
    open.close(id(1))
    #expect(open[id(1)] == nil)
    open.insert(facts, of: id(1), 3)
    open.insert(nil, of: id(1), 4)
    #expect(open[id(1)] == nil)
    open.close(id(1))
    #expect(open.order.isEmpty)
  }

  @Test func `as many clients as a node may have are made to register anew`() {
    var owed = OwedRegistrations()
    for number in UInt64(0)..<100_000 { owed.insert(id(number)) }
    #expect(owed.takeFirst(200_000).count == 100_000)
  }
}
