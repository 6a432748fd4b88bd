package import Rendezvous

/// A model of the Redis server that nodes share: what the scripts of `RedisScripts` do, in memory
/// and in simulated time. The conformance suite holds it to the real one.
package final class RedisModel {
  struct Name {
    var owner: [UInt8]
    var sealed: [UInt8]
    var used: UInt64
  }

  struct Card {
    var serial: [UInt8]
    var card: [UInt8]
    var seen: UInt64
  }

  struct Node {
    var connection: [UInt8]
    var beat: UInt64
    /// 0 announces its programs, 1 has, 2 leaves, 3 has and is deaf, 4 has left.
    var state: UInt8
  }

  /// What a copy of the server has, or a file of it.
  package struct State {
    var names: [[UInt8]: Name] = [:]
    var reserved: [[UInt8]: (owner: [UInt8], end: UInt64)] = [:]
    var freed: [[UInt8]: (mark: [UInt8], end: UInt64)] = [:]
    /// Whose the freed name was, the last one first.
    var former: [[UInt8]: (owners: [[UInt8]], end: UInt64)] = [:]
    var cards: [[UInt8]: Card] = [:]
    var programs: [[UInt8]: [[UInt8]: [UInt8]]] = [:]
    var nodes: [[UInt8]: Node] = [:]
    /// Until when programs of former connections may be on their way.
    var left: [[UInt8]: UInt64] = [:]
    /// The last beat of each node in another state than 0, in ms.
    var seen: [[UInt8]: UInt64] = [:]
    var bans: [[UInt8]: [UInt8]] = [:]
    /// The last of all, in ms.
    var beat: UInt64?
    /// It is known that nothing was lost, or for how long that is to be settled.
    var hasEpoch = false
    var frozenUntil: UInt64 = 0
    var settlingUntil: UInt64 = 0
  }

  package internal(set) var state = State()
  private var posts: [[UInt8]: [[UInt8]]] = [:]
  private var readCounts: [[UInt8]: Int] = [:]
  /// What nodes say is kept back, as a hostile Redis may.
  package var holdsPosts = false
  private var held: [(channel: [UInt8], body: [UInt8])] = []
  /// The server's own clock, in ms.
  package var milliseconds: UInt64 = 0
  /// By how much it is ahead of those of the nodes, in ms, or behind.
  package var step: Int64 = 0
  var time: UInt64 = 0

  package init() { state.hasEpoch = true }

  /// What nodes sent to a channel since the last call of the same listener.
  package func takePosts(of channel: [UInt8], by listener: [UInt8]) -> [[UInt8]] {
    let all = posts[channel] ?? []
    defer { readCounts[channel + listener] = all.count }
    return Array(all[(readCounts[channel + listener] ?? 0)...])
  }

  /// Whether it knows of the node that listens at a channel.
  package func hasNode(at channel: [UInt8]) -> Bool {
    state.seen.keys.contains { channel.suffix($0.count) == $0[...] }
  }

  /// All that it has is forgotten, as by FLUSHALL; connections stay.
  package func loseAll() { state = State() }

  /// Who has which name is forgotten, as by a server that lacks its last writes.
  package func loseNames() { state.names = [:] }

  /// Another process with what `copy` has; all connections have ended.
  package func restart(_ copy: State?) {
    state = copy ?? State()
    state.hasEpoch = false
    _ = isUnsettled()
  }

  /// Says all that was ever sent once more, as a hostile Redis may.
  package func repeatPosts() { readCounts = [:] }

  /// What was kept back is said now.
  package func releasePosts() {
    for post in held { posts[post.channel, default: []].append(post.body) }
    (held, holdsPosts) = ([], false)
  }

  /// All keys and values: what whoever reads the memory of Redis sees.
  package var contents: [[UInt8]] {
    state.names.flatMap { [$0.key, $0.value.owner, $0.value.sealed] }
      + state.cards.flatMap { [$0.key, $0.value.card] }
      + state.programs.flatMap { [$0.key] + $0.value.values } + state.nodes.map(\.key)
      + state.bans.flatMap { [$0.key, $0.value] } + posts.flatMap { $0.value }
  }

  package func run(_ command: SharedCommand) -> SharedReply {
    let words = command.arguments
    switch command.script {
    case .register: return register(words)
    case .bind: return bind(words)
    case .free: return free(words)
    case .keep: return .number(keep(words) ? 1 : 0)
    case .find: return find(words)
    case .announce: return announce(words)
    case .restore: return .number(restore(words))
    case .withdraw:
      let old = state.programs[words[0]]?[words[1]]
      if old?.starts(with: words[2] + words[3] + words[4]) ?? false {
        withdraw(words)
      }
      return .number(1)
    case .beat: return beat(words)
    case .ban: return ban(words)
    case .bans:
      return .list(
        state.bans.sorted { $0.key.lexicographicallyPrecedes($1.key) }
          .flatMap { [.bytes($0.key), .bytes($0.value)] })
    case .send:
      post(words[1], at: words[0])
      return .number(1)
    }
  }

  private func post(_ body: [UInt8], at channel: [UInt8]) {
    if holdsPosts {
      held.append((channel, body))
    } else {
      posts[channel, default: []].append(body)
    }
  }

  /// Whether names that nobody has are not given, because something may be lost.
  func isUnsettled() -> Bool {
    if !state.hasEpoch {
      state.hasEpoch = true
      state.frozenUntil = milliseconds + 5000
      state.settlingUntil = milliseconds + 30_000
    }
    return state.frozenUntil > milliseconds
  }

  /// Whether clients whose cards may be lost are still coming back.
  func isSettling() -> Bool {
    _ = isUnsettled()
    return state.settlingUntil > milliseconds
  }

  // MARK: - Names

  private func hasLapsed(_ name: Name, _ now: UInt64, _ life: UInt64) -> Bool {
    now > name.used && now - name.used >= life
  }

  private func verdict(
    _ id: [UInt8], _ name: [UInt8], _ terms: RedisTerms, shown: UInt64? = nil
  ) -> Int64 {
    let known = state.names[name].flatMap { hasLapsed($0, terms.now, terms.life) ? nil : $0 }
    if let known {
      if known.owner == id { return 0 }
      guard let shown, let present = Self.rank(known.sealed), shown < present else { return 2 }
    }
    if held(name)?.contains(id) ?? false { return 2 }
    if shown == nil, let held = state.reserved[name], held.end > milliseconds, held.owner != id {
      return 2
    }
    guard state.names.values.count(where: { $0.owner == id }) < terms.namesOfOne else { return 3 }
    let hasRoom =
      known != nil || state.names.count < terms.names
      || state.names.values.contains { hasLapsed($0, terms.now, terms.life) }
    guard hasRoom else { return 3 }
    return shown != nil ? 5 : isUnsettled() ? 4 : 1
  }

  private func register(_ words: [[UInt8]]) -> SharedReply {
    let terms = RedisTerms(words[3...])
    let card = state.cards[words[0]]
    let shown = receipt(for: words[1], words[8], words[9])
    let verdict = words[1].isEmpty ? 0 : verdict(words[0], words[1], terms, shown: shown)
    let claimed = words[2].isEmpty ? 0 : self.verdict(words[0], words[2], terms)
    if verdict == 1 || verdict == 5, terms.reservation > 0 {
      state.reserved[words[1]] = (words[0], milliseconds + terms.reservation)
    }
    let freed = freed(words[1]).map { SharedReply.bytes($0) } ?? .none
    return .list([
      card.map { .bytes($0.serial) } ?? .none, card.map { .bytes($0.card) } ?? .none,
      .number(verdict), .number(claimed), freed, .number(Int64(milliseconds / 1000)),
    ])
  }

  private func bind(_ words: [[UInt8]]) -> SharedReply {
    let (id, name, terms) = (words[0], words[1], RedisTerms(words[3...]))
    let shown = receipt(for: name, words[8], words[9])
    let verdict = verdict(id, name, terms, shown: shown)
    guard verdict != 2 else { return .number(2) }
    guard verdict != 3, verdict != 4, verdict != 1 || !isBefore(freed(name), words[2]) else {
      return .number(0)
    }
    if verdict == 0 {
      state.names[name]?.used = terms.now
      renew(name, by: words[2])
    } else {
      let isTaken = state.names[name].map { !hasLapsed($0, terms.now, terms.life) } ?? false
      state.names[name] = nil
      if !isTaken, state.names.count >= terms.names {
        let lapsed = state.names.filter { hasLapsed($0.value, terms.now, terms.life) }
        let old = lapsed.min { $0.value.used < $1.value.used }
        if let old { state.names[old.key] = nil }
      }
      state.names[name] = Name(owner: id, sealed: words[2], used: terms.now)
      state.reserved[name] = nil
      if isTaken { post(words[10], at: Array("earshot:to:all".utf8)) }
    }
    return .list([
      .bytes(state.names[name]?.sealed ?? []), .number(Int64(milliseconds / 1000)),
      .number(verdict == 5 ? 1 : 0),
    ])
  }

  private func free(_ words: [[UInt8]]) -> SharedReply {
    let held = held(words[0])
    if let present = state.names[words[0]], held != nil, words[4] == [0x30] {
      return .list([.number(2), .bytes(present.sealed)])
    }
    let own = state.names[words[0]].flatMap { Self.rank($0.sealed) } ?? 1 << 32
    let last = max(freed(words[0]).map { Self.mark($0) } ?? 0, own < 1 << 32 ? 1 << 32 - own : 0)
    guard Self.mark(words[1]) > last else { return .list([.number(3), .number(Int64(last))]) }
    let known = state.names.removeValue(forKey: words[0])
    state.freed[words[0]] = (words[1], milliseconds + Self.number(words[3]))
    let owners = (known.map { [$0.owner] } ?? []) + (held ?? [])
    state.former[words[0]] = (Array(owners.prefix(64)), milliseconds + 600_000)
    state.reserved[words[0]] = nil
    post(words[2], at: Array("earshot:to:all".utf8))
    if let known { return .list([.number(0), .bytes(known.sealed)]) }
    return .list([.number(held == nil ? 0 : 1)])
  }

  /// From whom the name was freed a moment ago; `nil` where it was not.
  private func held(_ name: [UInt8]) -> [[UInt8]]? {
    state.former[name].flatMap { $0.end > milliseconds ? $0.owners : nil }
  }

  /// The mark of the freeing, where it counts still.
  private func freed(_ name: [UInt8]) -> [UInt8]? {
    state.freed[name].flatMap { $0.end > milliseconds ? $0.mark : nil }
  }

  /// Whether the rank of an owner is not of after the freeing.
  private func isBefore(_ freed: [UInt8]?, _ sealed: [UInt8]) -> Bool {
    freed.map { Self.rank(sealed) ?? .max > 1 << 32 - Self.mark($0) } ?? false
  }

  /// The rank that a receipt proves.
  private func receipt(for name: [UInt8], _ rank: [UInt8], _ issued: [UInt8]) -> UInt64? {
    guard !rank.isEmpty else { return nil }
    if let mark = freed(name), Self.number(issued) <= Self.mark(mark) { return nil }
    return Self.number(rank)
  }

  /// The lower rank stays.
  private func renew(_ name: [UInt8], by sealed: [UInt8]) {
    guard let known = state.names[name], let rank = Self.rank(sealed),
      rank < Self.rank(known.sealed) ?? .max
    else { return }
    state.names[name]?.sealed = sealed
  }

  /// 1 done · 0 the card is gone · 2 another one has the name
  private func restore(_ words: [[UInt8]]) -> Int64 {
    let (now, life) = (Self.number(words[3]), Self.number(words[4]))
    if !words[1].isEmpty {
      if let known = state.names[words[1]], known.owner != words[0], !hasLapsed(known, now, life) {
        return 2
      }
      if state.names[words[1]]?.owner == words[0] {
        state.names[words[1]]?.used = now
        renew(words[1], by: words[2])
      } else {
        let isVoid = isBefore(freed(words[1]), words[2])
        if state.names[words[1]] == nil, isVoid { return 2 }
        state.names[words[1]] = Name(owner: words[0], sealed: words[2], used: now)
        state.reserved[words[1]] = nil
      }
    }
    return state.cards[words[0]] == nil ? 0 : 1
  }

  // MARK: - Cards and programs

  private func keep(_ words: [[UInt8]]) -> Bool {
    let (now, limit) = (Self.number(words[3]), Self.number(words[4]))
    if var known = state.cards[words[0]] {
      if !words[1].lexicographicallyPrecedes(known.serial) {
        (known.serial, known.card) = (words[1], words[2])
      }
      known.seen = max(known.seen, now)
      state.cards[words[0]] = known
      return true
    }
    if state.cards.count >= limit {
      let owners = Set(state.names.values.map(\.owner))
      let nameless = state.cards.filter { !owners.contains($0.key) }
      guard let old = nameless.min(by: { $0.value.seen < $1.value.seen }) else { return false }
      state.cards[old.key] = nil
    }
    state.cards[words[0]] = Card(serial: words[1], card: words[2], seen: now)
    return true
  }

  private func find(_ words: [[UInt8]]) -> SharedReply {
    let (now, life, pace) = (
      Self.number(words[2]), Self.number(words[3]), Self.number(words[4])
    )
    var (id, owner) = (words[1], SharedReply.none)
    if !words[0].isEmpty {
      guard let name = state.names[words[0]], !hasLapsed(name, now, life) else {
        return .list([.none, .none, .list([]), .number(isSettling() ? 1 : 0)])
      }
      (id, owner) = (name.owner, .bytes(name.sealed))
      if now >= name.used + pace { state.names[words[0]]?.used = now }
    }
    var found: [SharedReply] = []
    let all = (state.programs[id] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    for (key, value) in all {
      if let certainty = certainty(of: value) {
        found.append(
          .list([.number(certainty), .bytes(key), .bytes(Array(value.dropFirst(52)))]))
      } else {
        state.programs[id]?[key] = nil
      }
    }
    let card = state.cards[id].map { SharedReply.bytes($0.card) } ?? .none
    let isLost = isSettling() || wasClockSet(by: 3000)
    let open = (isLost ? 1 : 0) + Int64(state.seen.values.count(where: isSilent))
    return .list([owner, card, .list(found), .number(open)])
  }

  private func ban(_ words: [[UInt8]]) -> SharedReply {
    let (now, limit) = (Self.number(words[3]), Self.number(words[4]))
    state.bans[words[0]] = words[2] + words[5] + words[1]
    state.bans = state.bans.filter { Self.number(Array($0.value.prefix(20))) > now }
    guard state.bans.count > limit else { return .number(1) }
    let counts = Dictionary(grouping: state.bans.keys) { Array(state.bans[$0]?[20..<36] ?? []) }
    let most = counts.max { $0.value.count < $1.value.count }?.value ?? []
    let first = most.min { (state.bans[$0] ?? []).lexicographicallyPrecedes(state.bans[$1] ?? []) }
    if let first { state.bans[first] = nil }
    return .number(1)
  }
}
