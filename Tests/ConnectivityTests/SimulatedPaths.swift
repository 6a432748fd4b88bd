import Primitives
import Wire

@testable import Connectivity

let start = Instant(nanoseconds: 5_000_000_000)

func address(_ host: UInt8, _ port: UInt16 = 4000) -> SocketAddress {
  SocketAddress(v4: 10, 0, 0, host, port: port)
}

/// Two agents, and a network between them that delays, loses, and knows where each one is.
///
/// Each side has any number of addresses; a packet to one of them reaches it, from the address that
/// the sender's side has for this destination.
struct SimulatedPaths {
  struct Packet {
    enum Content { case challenge(UInt64), response(UInt64), media }
    var content: Content
    var from: SocketAddress
    var to: SocketAddress
    var number: UInt64
    var arrivesAt: Instant
    var order: Int
  }

  var now = start
  var random: RandomSource
  /// 0 = caller, 1 = callee.
  var agents: [Agent]
  /// Where packets to an address go, and how long they take one way; absent = nowhere.
  var reachable: [SocketAddress: (side: Int, delay: Duration)] = [:]
  /// The address that each side sends from.
  var source: [SocketAddress]
  var lossPercent: UInt64 = 0
  var inFlight: [Packet] = []
  var changes: [[PathChange]] = [[], []]
  var sentCount: [Int] = [0, 0]
  var mediaHeard: [[Instant]] = [[], []]
  var sendsMedia = [false, false]
  private var nextMedia = start
  private var numbers: [UInt64] = [0, 0]
  private var highest: [UInt64] = [0, 0]
  private var seen: [Set<UInt64>] = [[], []]
  private var order = 0
  /// A thief: sends a copy of each packet of side 0 from here, sooner than the packet itself.
  var thief: SocketAddress?

  init(seed: UInt64, policy: PathPolicy = .standard) {
    random = RandomSource(seed: seed)
    agents = [
      Agent(policy: policy, random: RandomSource(seed: seed &+ 1000)),
      Agent(policy: policy, random: RandomSource(seed: seed &+ 2000)),
    ]
    source = [address(1), address(2)]
    reachable[address(1)] = (0, .milliseconds(20))
    reachable[address(2)] = (1, .milliseconds(20))
  }

  mutating func run(_ duration: Duration) {
    let end = now + duration
    while true {
      pump()
      var next = inFlight.map(\.arrivesAt).min()
      for agent in agents { next = earliest(next, agent.nextDeadline) }
      if sendsMedia.contains(true) { next = earliest(next, nextMedia) }
      guard let next, next <= end else { break }
      precondition(next >= now || next + .seconds(1) > now, "a deadline in the past for ever")
      now = max(now, next)
    }
    now = end
  }

  private mutating func pump() {
    deliver()
    for side in 0...1 {
      if let change = agents[side].handleTimeout(now: now) { changes[side].append(change) }
      while let probe = agents[side].pollCheck(now: now) {
        send(.challenge(probe.token), side, to: probe.address)
      }
      while let probe = agents[side].pollResponse() {
        send(.response(probe.token), side, to: probe.address)
      }
    }
    if now >= nextMedia {
      nextMedia = now + .milliseconds(20)
      for side in 0...1 where sendsMedia[side] {
        if let selected = agents[side].selected { send(.media, side, to: selected) }
      }
    }
  }

  private mutating func send(_ content: Packet.Content, _ side: Int, to: SocketAddress) {
    sentCount[side] += 1
    numbers[side] += 1
    order += 1
    guard let place = reachable[to], place.side != side, random.next() % 100 >= lossPercent else {
      return
    }
    var packet = Packet(
      content: content, from: source[side], to: to, number: numbers[side],
      arrivesAt: now + place.delay, order: order)
    inFlight.append(packet)
    guard side == 0, let thief else { return }
    packet.from = thief
    packet.arrivesAt = packet.arrivesAt - .milliseconds(1)
    inFlight.append(packet)
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.arrivesAt <= now }
      .sorted { ($0.arrivesAt, $0.order) < ($1.arrivesAt, $1.order) }
    inFlight.removeAll { $0.arrivesAt <= now }
    for packet in due {
      guard let place = reachable[packet.to] else { continue }
      let side = place.side
      // The session's replay window: a copy of what was seen does not open.
      guard seen[side].insert(packet.number).inserted else { continue }
      let isHighest = packet.number > highest[side]
      highest[side] = max(highest[side], packet.number)
      agents[side].handleAuthenticatedPacket(
        from: packet.from, byteCount: 34, isHighestYet: isHighest, now: now)
      switch packet.content {
      case .challenge(let token):
        agents[side].handleChallenge(token: token, from: packet.from, byteCount: 34, now: now)
      case .response(let token):
        let change = agents[side].handleResponse(
          token: token, from: packet.from, seenAs: packet.to, now: now)
        if let change { changes[side].append(change) }
      case .media: mediaHeard[side].append(now)
      }
    }
  }

  /// Media both ways, and silence is doubted.
  mutating func talk() {
    sendsMedia = [true, true]
    for side in 0...1 { agents[side].setExpectsMedia(true, now: now) }
  }

  /// The longest time without media at `side` since `since`, in ms.
  func longestGap(_ side: Int, since: Instant) -> Int64 {
    var last = since
    var longest: Int64 = 0
    for time in mediaHeard[side] + [now] where time >= since {
      longest = max(longest, (time - last).milliseconds)
      last = time
    }
    return longest
  }
}
