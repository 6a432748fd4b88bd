import Rendezvous

/// Which nodes are there, and the programs at them.
extension RedisModel {
  /// Programs may be at it that nobody knows of.
  func isSilent(_ seen: UInt64) -> Bool {
    milliseconds < seen + 300_000 && milliseconds >= seen + 3000
  }

  /// 1 its node is there, 2 nobody knows, 3 its client is to register anew; `nil` = it is gone.
  func certainty(of program: [UInt8]) -> Int64? {
    guard Self.number(Array(program[32..<52])) > milliseconds else { return nil }
    let connection = Array(program[16..<24])
    if connection == Self.nobody { return 3 }
    let node = state.nodes[Array(program.prefix(16))].flatMap { hasExpired($0) ? nil : $0 }
    guard node?.state != 0x30 else { return 2 }
    guard let node, node.connection == connection else {
      return (state.left[connection] ?? 0) > milliseconds ? 2 : nil
    }
    let age = Int64(milliseconds) - Int64(node.beat)
    return node.state == 0x31 && abs(age) < 3000 ? 1 : 2
  }

  func hasExpired(_ node: Node) -> Bool {
    node.state == 0x34 && milliseconds >= node.beat + 15_000
  }

  /// Nobody was heard for so long, or later than now.
  func wasClockSet(by most: Int64) -> Bool {
    state.beat.map { abs(Int64(milliseconds) - Int64($0)) > most } ?? false
  }

  func noteClock() {
    defer { state.beat = milliseconds }
    guard wasClockSet(by: 10_000) else { return }
    for node in state.seen.keys {
      state.seen[node] = milliseconds - 3000
      state.nodes[node]?.beat = milliseconds - 3000
    }
    let most = state.settlingUntil > milliseconds ? 30_000 : 10_000 as UInt64
    state.settlingUntil = min(max(state.settlingUntil, milliseconds + 10_000), milliseconds + most)
    state.frozenUntil = min(state.frozenUntil, milliseconds + 5000)
  }

  func beat(_ words: [[UInt8]]) -> SharedReply {
    noteClock()
    let former = state.nodes[words[0]].flatMap { hasExpired($0) ? nil : $0 }
    let isKnown = former?.connection == words[1]
    if let former, !isKnown { state.left[former.connection] = milliseconds + 15_000 }
    let bits: Int64 = 1 + (isKnown ? 0 : 2) + (isUnsettled() ? 4 : 0)
    if words[2] == [0x30], isUnsettled(), isSettling() {
      state.frozenUntil = max(state.frozenUntil, milliseconds + 3000)
    }
    let silent = milliseconds > 3000 ? milliseconds - 3000 : 0
    if !isKnown, isSettling() {
      for other in words[3...] where state.seen[other] == nil { state.seen[other] = silent }
    }
    state.nodes[words[0]] = Node(
      connection: words[1], beat: milliseconds, state: words[2][0])
    let seen = min(state.seen[words[0]] ?? silent, silent)
    state.seen[words[0]] = words[2] == [0x30] ? seen : milliseconds
    if words[2] == [0x32] || words[2] == [0x34] { state.seen[words[0]] = nil }
    state.seen = state.seen.filter { $0.value + 300_000 > milliseconds }
    let all = state.seen.keys.sorted { $0.lexicographicallyPrecedes($1) }
    let alive = all.filter { hash in
      state.nodes[hash].map { $0.state != 0x33 && $0.beat + 3000 > milliseconds } ?? false
    }
    let first = [SharedReply.number(bits), .number(Int64(milliseconds))]
    return .list(first + all.map { .bytes($0) } + [.list(alive.map { .bytes($0) })])
  }

  func announce(_ words: [[UInt8]]) -> SharedReply {
    let old = state.programs[words[0]]?[words[1]]
    if let old, words[4].lexicographicallyPrecedes(Array(old[24..<32])) { return .number(2) }
    let digits = Self.digits(milliseconds + Self.number(words[6]))
    state.programs[words[0], default: [:]][words[1]] =
      words[2] + words[3] + words[4] + digits + words[5]
    guard let old, !old.starts(with: words[2]) else { return .number(1) }
    return .bytes(Array(old.prefix(16)))
  }

  /// Whose client is to register anew may be back within 15 s.
  func withdraw(_ words: [[UInt8]]) {
    guard let old = state.programs[words[0]]?[words[1]], words[5] == [0x31] else {
      state.programs[words[0]]?[words[1]] = nil
      return
    }
    let end = min(Self.number(Array(old[32..<52])), milliseconds + 15_000)
    state.programs[words[0]]?[words[1]] =
      old[..<16] + Self.nobody + old[24..<32] + Self.digits(end) + old[52...]
  }
}
