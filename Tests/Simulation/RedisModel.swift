package import Rendezvous

/// A model of the Redis server that nodes share: what the scripts of `RedisScripts` do, in memory
/// and in simulated time. The conformance suite holds it to the real one.
package final class RedisModel {
  private struct Name {
    var owner: [UInt8]
    var sealed: [UInt8]
    var used: UInt64
  }

  private struct Card {
    var serial: [UInt8]
    var card: [UInt8]
    var seen: UInt64
  }

  private struct Node {
    var connection: [UInt8]
    var beat: UInt64
    var isComplete: Bool
  }

  private var names: [[UInt8]: Name] = [:]
  private var reserved: [[UInt8]: (owner: [UInt8], end: UInt64)] = [:]
  private var cards: [[UInt8]: Card] = [:]
  private var programs: [[UInt8]: [[UInt8]: [UInt8]]] = [:]
  private var nodes: [[UInt8]: Node] = [:]
  private var bans: [[UInt8]: [UInt8]] = [:]
  private var posts: [[UInt8]: [[UInt8]]] = [:]
  private var readCounts: [[UInt8]: Int] = [:]
  /// The server's own clock, in ms.
  package var milliseconds: UInt64 = 0

  package init() {}

  /// What nodes sent to a channel since the last call of the same listener.
  package func takePosts(of channel: [UInt8], by listener: [UInt8]) -> [[UInt8]] {
    let all = posts[channel] ?? []
    defer { readCounts[channel + listener] = all.count }
    return Array(all[(readCounts[channel + listener] ?? 0)...])
  }

  /// Says all that was ever sent once more, as a hostile Redis may.
  package func repeatPosts() { readCounts = [:] }

  /// All keys and values: what whoever reads the memory of Redis sees.
  package var contents: [[UInt8]] {
    names.flatMap { [$0.key, $0.value.owner, $0.value.sealed] }
      + cards.flatMap { [$0.key, $0.value.card] }
      + programs.flatMap { [$0.key] + $0.value.values } + nodes.map(\.key)
      + bans.flatMap { [$0.key, $0.value] } + posts.flatMap { $0.value }
  }

  package func run(_ command: SharedCommand) -> SharedReply {
    let words = command.arguments
    switch command.script {
    case .register: return register(words)
    case .bind: return .number(bind(words) ? 1 : 0)
    case .keep: return .number(keep(words) ? 1 : 0)
    case .find: return find(words)
    case .announce: return announce(words)
    case .withdraw:
      if let old = programs[words[0]]?[words[1]], old.starts(with: words[2] + words[3] + words[4]) {
        programs[words[0]]?[words[1]] = nil
      }
      return .number(1)
    case .beat:
      nodes[words[0]] =
        words[2] == [0x32]
        ? nil : Node(connection: words[1], beat: milliseconds, isComplete: words[2] == [0x31])
      return .number(1)
    case .ban: return ban(words)
    case .bans:
      return .list(
        bans.sorted { $0.key.lexicographicallyPrecedes($1.key) }
          .flatMap { [.bytes($0.key), .bytes($0.value)] })
    case .send:
      posts[words[0], default: []].append(words[1])
      return .number(1)
    }
  }

  // MARK: - Names

  private func hasLapsed(_ name: Name, _ now: UInt64, _ life: UInt64) -> Bool {
    now > name.used && now - name.used >= life
  }

  /// now · life · names of one · names
  private func verdict(_ id: [UInt8], _ name: [UInt8], _ terms: [UInt64]) -> Int64 {
    let (now, life) = (terms[0], terms[1])
    if let known = names[name], !hasLapsed(known, now, life) { return known.owner == id ? 0 : 2 }
    if let held = reserved[name], held.end > milliseconds, held.owner != id { return 2 }
    guard names.values.count(where: { $0.owner == id }) < terms[2] else { return 3 }
    guard names.count >= terms[3] else { return 1 }
    return names.values.contains { hasLapsed($0, now, life) } ? 1 : 3
  }

  private func register(_ words: [[UInt8]]) -> SharedReply {
    let terms = words[3...].map(Self.number)
    let card = cards[words[0]]
    let verdicts = words[1...2].map { $0.isEmpty ? 0 : verdict(words[0], $0, terms) }
    if !words[1].isEmpty, verdicts[0] == 1 {
      reserved[words[1]] = (words[0], milliseconds + terms[4])
    }
    return .list([
      card.map { .bytes($0.serial) } ?? .none, card.map { .bytes($0.card) } ?? .none,
      .number(verdicts[0]), .number(verdicts[1]),
    ])
  }

  private func bind(_ words: [[UInt8]]) -> Bool {
    let terms = words[3...].map(Self.number)
    let verdict = verdict(words[0], words[1], terms)
    guard verdict <= 1 else { return false }
    guard verdict == 1 else {
      names[words[1]]?.used = terms[0]
      return true
    }
    if names.count >= terms[3] {
      let lapsed = names.filter { hasLapsed($0.value, terms[0], terms[1]) }
      if let old = lapsed.min(by: { $0.value.used < $1.value.used }) { names[old.key] = nil }
    }
    names[words[1]] = Name(owner: words[0], sealed: words[2], used: terms[0])
    reserved[words[1]] = nil
    return true
  }

  // MARK: - Cards and programs

  private func keep(_ words: [[UInt8]]) -> Bool {
    let (now, limit) = (Self.number(words[3]), Self.number(words[4]))
    if var known = cards[words[0]] {
      if !words[1].lexicographicallyPrecedes(known.serial) {
        (known.serial, known.card) = (words[1], words[2])
      }
      known.seen = max(known.seen, now)
      cards[words[0]] = known
      return true
    }
    if cards.count >= limit {
      let nameless = cards.filter { card in !names.values.contains { $0.owner == card.key } }
      guard let old = nameless.min(by: { $0.value.seen < $1.value.seen }) else { return false }
      cards[old.key] = nil
    }
    cards[words[0]] = Card(serial: words[1], card: words[2], seen: now)
    return true
  }

  private func find(_ words: [[UInt8]]) -> SharedReply {
    let (now, life, pace) = (
      Self.number(words[2]), Self.number(words[3]), Self.number(words[4])
    )
    var (id, owner) = (words[1], SharedReply.none)
    if !words[0].isEmpty {
      guard let name = names[words[0]], !hasLapsed(name, now, life) else {
        return .list([.none, .none, .list([])])
      }
      (id, owner) = (name.owner, .bytes(name.sealed))
      if now >= name.used + pace { names[words[0]]?.used = now }
    }
    var found: [SharedReply] = []
    let all = (programs[id] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    for (key, value) in all {
      if let state = state(of: value) {
        found.append(.list([.number(state), .bytes(key), .bytes(Array(value.dropFirst(44)))]))
      } else {
        programs[id]?[key] = nil
      }
    }
    return .list([owner, cards[id].map { .bytes($0.card) } ?? .none, .list(found)])
  }

  /// 1 its node is there, 2 nobody knows; `nil` = it is gone.
  private func state(of program: [UInt8]) -> Int64? {
    guard let node = nodes[Array(program.prefix(16))], milliseconds < node.beat + 30_000 else {
      return nil
    }
    let isSame = Array(program[16..<24]) == node.connection
    if node.isComplete, milliseconds < node.beat + 3000 { return isSame ? 1 : nil }
    return isSame || !node.isComplete ? 2 : nil
  }

  private func announce(_ words: [[UInt8]]) -> SharedReply {
    if let old = programs[words[0]]?[words[1]],
      words[4].lexicographicallyPrecedes(Array(old[24..<44]))
    {
      return .number(1)
    }
    programs[words[0], default: [:]][words[1]] = words[2] + words[3] + words[4] + words[5]
    return .number(1)
  }

  private func ban(_ words: [[UInt8]]) -> SharedReply {
    let (now, limit) = (Self.number(words[3]), Self.number(words[4]))
    bans[words[0]] = words[2] + words[5] + words[1]
    bans = bans.filter { Self.number(Array($0.value.prefix(20))) > now }
    guard bans.count > limit else { return .number(1) }
    let counts = Dictionary(grouping: bans.keys) { Array(bans[$0]?[20..<36] ?? []) }
    let most = counts.max { $0.value.count < $1.value.count }?.value ?? []
    let first = most.min { (bans[$0] ?? []).lexicographicallyPrecedes(bans[$1] ?? []) }
    if let first { bans[first] = nil }
    return .number(1)
  }

  private static func number(_ digits: [UInt8]) -> UInt64 {
    UInt64(String(decoding: digits, as: UTF8.self)) ?? 0
  }
}
