import Calling
import Connectivity
import Forwarding
import Primitives
import SecureSession
import Wire

/// Relays that forward for pairs (docs/protocol/relay.md §6): which call asks for one, and whose
/// answers are whose.
enum CallPairs {
  /// Asks the rendezvous for each call that looks for a path.
  static func ask(
    for links: [CallLink], by rendezvous: inout RendezvousLink, now: Instant
  ) {
    let hasPairs = rendezvous.standing.terms?.payload.hasPairs ?? false
    for link in links {
      let request = link.pair.pollRequest(
        to: link.peer, of: link.callID, hasPairs: hasPairs, now: now)
      if let request { rendezvous.send(.pair(request), life: .seconds(2), now: now) }
    }
  }

  /// What the rendezvous says of one call.
  ///
  /// - Returns: A call whose peer is to be written to.
  static func handle(
    _ result: PairResult, among links: [CallLink], _ configuration: PeerConfiguration, now: Instant
  ) -> CallLink? {
    var silent: CallLink?
    for link in links where link.callID == result.call {
      if case .granted(let ticket) = result.answer,
        configuration.usable([Candidate(.relayed, ticket.address)]).isEmpty
      {
        continue
      }
      if link.pair.handle(result, now: now) { silent = link }
      link.addPairRelay(now: now)
    }
    return silent
  }

  /// Takes what a relay answers.
  ///
  /// - Returns: Whether it was an answer of a relay to one of the calls.
  static func handleBound(
    _ bytes: Span<UInt8>, from source: SocketAddress, among links: [CallLink], now: Instant
  ) -> Bool {
    guard PairBoundPacket.isOne(bytes) else { return false }
    let bound: PairBoundPacket
    do throws(WireError) {
      bound = try PairBoundPacket(parsing: bytes)
    } catch {
      return false
    }
    for link in links {
      let finding = link.pair.handle(bound, bytes, from: source, now: now)
      if finding == .open { link.path.agent.hastenPairRelay(source, now: now) }
      if finding != .ignored { return true }
    }
    return false
  }
}

extension CallLink {
  /// The path is looked for: by a relay as well, where one forwards for the two.
  func seekPair(now: Instant) {
    let caller = path.programs.first ?? path.programs.remote
    let program = role == .callee ? path.programs.own : caller
    guard path.isFinding, program != .every, program != .anyOne else { return }
    pair.seek(program, now: now)
    addPairRelay(now: now)
  }

  func addPairRelay(now: Instant) {
    if path.isFinding, let address = pair.address { path.agent.addPairRelay(address, now: now) }
  }

  /// The peer's connection IDs that packets may carry now.
  var pairIDs: PairIDs {
    var ids = PairIDs()
    ids.one = path.ringIDs.remote
    guard let association else { return ids }
    ids.two = association.session.remoteConnectionID
    ids.three = association.session.nextRemoteConnectionID
    return ids
  }
}
