import Channels
import Primitives
import Tokens
import Wire

/// The relays that other nodes have, as far as they have said so lately
/// (docs/protocol/cluster.md §9).
struct OtherRelays {
  private var nodes: [UInt64: (relays: [PeerID], heard: Instant)] = [:]
  /// Others may have some of which nothing was heard yet, and those that are known stay.
  var isIncomplete = false

  mutating func handle(_ word: RelaysOfNode, now: Instant) {
    guard nodes[word.node] != nil || nodes.count < Self.nodeLimit else { return }
    nodes[word.node] = word.relays.isEmpty ? nil : (word.relays, now)
  }

  mutating func forgetOld(now: Instant) {
    guard !isIncomplete else { return }
    nodes = nodes.filter { now - $0.value.heard < Self.life }
  }

  /// Each with its node, in an order that does not depend on chance.
  var all: [(relay: PeerID, node: UInt64)] {
    nodes.sorted { $0.key < $1.key }.flatMap { node in
      node.value.relays.map { (relay: $0, node: node.key) }
    }
  }

  private static let nodeLimit = 64
  /// They are said each second.
  private static let life = Duration.seconds(5)
}

extension GrantWish {
  /// A relay here is to be used by a member of a channel of another node, or of this one.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard let shared = machine.store.shared,
      !machine.settings.isLate(unixMilliseconds, now: now),
      machine.storeWork.passages.insert(number)
    else { return }
    if let home {
      switch machine.channels.relays.check(relay, now: now) {
      case .heard: break
      case .waiting: return machine.sendRelayNews(now: now)
      case .silent:
        let word = RelaySilent(
          number: machine.random.next(),
          unixMilliseconds: machine.settings.unixMilliseconds(now), relay: relay,
          channel: channel)
        return _ = shared.pass(.silent(word), to: shared.hash(of: home))
      }
    }
    let seat = SeatClaim(channel: channel, uid: uid, role: role)
    let grant = machine.channels.relays.grant(
      seat, by: relay, to: member.id, machine.settings, now: now)
    // Where it has gone meanwhile, the member asks again, and its node knows by then.
    guard let grant else { return }
    let notice = PassedNotice(
      node: shared.node.number, number: machine.random.next(), programs: [member],
      notice: ChannelNotice(channel: channel, .relay(grant)))
    if node == shared.node.number {
      notice.hand(to: &machine, now: now)
    } else {
      notice.leave(for: node, in: &machine)
    }
  }
}

extension RelaySilent {
  /// The relay of a channel of this node is not there any more, as its own node says.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard machine.store.shared != nil, !machine.settings.isLate(unixMilliseconds, now: now),
      machine.storeWork.passages.insert(number)
    else { return }
    machine.channels.leave(relay, for: channel)
  }
}

extension SeatsEnded {
  /// Members of channels of other nodes have lost the right to their seats.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    let time = machine.settings.unixMilliseconds(now)
    for seat in seats { machine.channels.relays.end(seat, unixMilliseconds: time) }
    machine.sendRelayNews(now: now)
  }
}

extension ChannelService {
  /// Tells the others which relays are here, once a second.
  static func announceRelays(of machine: inout RendezvousMachine) {
    guard let shared = machine.store.shared, shared.isConnected else { return }
    let relays = machine.channels.relays.own.prefix(RelaysOfNode.limit)
    guard !relays.isEmpty || machine.channels.relays.isAnnounced else { return }
    machine.channels.relays.isAnnounced = !relays.isEmpty
    _ = shared.tellAll(.relays(RelaysOfNode(node: shared.node.number, relays: Array(relays))))
  }

  /// What there is for other nodes: wishes for grants, and seats that are over.
  static func passRelayNews(of machine: inout RendezvousMachine, now: Instant) {
    let (wishes, seats) = machine.channels.relays.pollPassages()
    guard let shared = machine.store.shared else { return }
    for (wish, node) in wishes {
      var wish = wish
      wish.number = machine.random.next()
      wish.unixMilliseconds = machine.settings.unixMilliseconds(now)
      _ = shared.pass(.wished(wish), to: shared.hash(of: node))
    }
    for start in stride(from: 0, to: seats.count, by: SeatsEnded.limit) {
      _ = shared.tellAll(.ended(SeatsEnded(Array(seats[start...].prefix(SeatsEnded.limit)))))
    }
  }
}
