package import Primitives

/// What goes wrong in a run, and when; everything is whole again at the end of its time.
package struct Fault: Sendable {
  package enum Kind: Sendable {
    /// A peer's line passes nothing, in one direction or both.
    case blackout(peer: Int, up: Bool, down: Bool)
    case rendezvousBlackout
    /// Nothing passes from one peer's site to the other's; the rendezvous still hears both.
    case partition(from: Int, to: Int)
    case crash(peer: Int)
    case rendezvousCrash
    /// The peer's translator forgets its mappings; where there is none, the address changes.
    case rebind(peer: Int)
    /// The peer walks to another network, and its program is told.
    case move(peer: Int)
    case worseLine(peer: Int, AccessConditions)
    /// The TURN server is started anew, without anything that it had given.
    case relayCrash
  }

  package var kind: Kind
  package var from: Instant
  package var to: Instant

  package init(_ kind: Kind, from: Instant, to: Instant) {
    self.kind = kind
    self.from = from
    self.to = to
  }
}

package enum FaultPlan {
  /// Up to four faults within the given time; half of all plans are empty.
  package static func random(
    peers: Int, from: Instant, to: Instant, _ random: inout RandomSource
  ) -> [Fault] {
    guard random.happens(0.5) else { return [] }
    return (0...random.below(4)).map { _ in
      let start = from + random.duration(.zero...(to - from))
      let isShort = random.happens(0.6)
      let length = random.duration(
        isShort ? .milliseconds(100) ... .seconds(3) : .seconds(3) ... .seconds(30))
      return Fault(kind(peers: peers, &random), from: start, to: start + length)
    }
  }

  private static func kind(peers: Int, _ random: inout RandomSource) -> Fault.Kind {
    let peer = Int(random.below(UInt64(peers)))
    let other = (peer + 1 + Int(random.below(UInt64(peers - 1)))) % peers
    switch random.below(10) {
    case 0...1: return .blackout(peer: peer, up: true, down: true)
    case 2:
      let up = random.happens(0.5)
      return .blackout(peer: peer, up: up, down: !up)
    case 3: return .rendezvousBlackout
    case 4: return .partition(from: peer, to: other)
    case 5: return .crash(peer: peer)
    case 6: return .rendezvousCrash
    case 7: return .rebind(peer: peer)
    case 8: return .move(peer: peer)
    default: return .worseLine(peer: peer, .awful)
    }
  }
}
