package import Primitives
package import Wire

/// Receipts of names (docs/protocol/cluster.md §9): who shows one has had the name before Redis lost
/// that.
extension SharedStore {
  /// What counts of a receipt, before Redis is asked for anything: `nil` = nothing.
  func check(
    _ receipt: OpaqueReceipt?, for name: PeerName?, of id: PeerID, now: UInt64
  ) -> NameReceipt? {
    guard let receipt, let name else { return nil }
    guard let read = keys.read(receipt, for: name, of: id) else {
      counters.receiptsInvalid &+= 1
      return nil
    }
    return read.isInForce(now: now) ? read : nil
  }

  /// What scripts are told of it: rank and moment of issue, both empty where there is none.
  func shown(_ receipt: NameReceipt?) -> [[UInt8]] {
    guard let receipt else { return [[], []] }
    return [Self.digits(receipt.rank.rawValue), Self.digits(receipt.issued)]
  }

  /// The name and its owner, sealed, and the clock of Redis in s · or 0 not given now, 2 another
  /// one has it.
  func handleBinding(_ reply: SharedReply, of name: PeerName, to id: PeerID) {
    guard let list = reply.list, list.count == 3, let sealed = list[0].bytes,
      let clock = list[1].number, let isRegained = list[2].number,
      keys.open(sealed, at: keys.hash(.name, name.bytes)) == id.bytes
    else { return reply.number == 2 ? noteBereft(id) : noteOwed(id) }
    if isRegained == 1 { counters.namesRegained &+= 1 }
    var rank: NameRank?
    if case .rank(let known) = NonceMark(of: sealed) { rank = known }
    let binding = NameBinding(id: id, name: name, rank: rank, clock: UInt64(clamping: clock))
    if !tidings.bindings.append(binding) { counters.repliesInvalid &+= 1 }
  }

  /// The next name that Redis has written down as somebody's.
  func pollBinding() -> NameBinding? { tidings.bindings.popFirst() }

  /// What the owner of a name keeps; `nil` where nobody knows since when it is.
  func receipt(for binding: NameBinding, now: UInt64) -> OpaqueReceipt? {
    guard let rank = binding.rank else { return nil }
    let issued = AskedName.time(binding.clock, now: now)
    counters.receiptsMade &+= 1
    return OpaqueReceipt(
      keys.receipt(for: binding.name, of: binding.id, rank, issued: issued).bytes)
  }

  // MARK: - Freeing

  /// Takes a name from whoever has it: an operator's command. Receipts from before count no more.
  ///
  /// - Returns: Whether it is on its way; `pollFreed` says what came of it.
  package func free(_ name: PeerName, now: UInt64) -> Bool {
    let hash = keys.hash(.name, name.bytes)
    let mark = keys.seal([], at: Self.freedPlace + hash, mark: .freed(now), random: &random)
    let word = seal(.nameMoved(NameMoved(name: name, owner: nil)))
    let life = Self.digits(NameReceipt.life * 1000)
    return queue(.free, [hash, mark, word, life], .freed(name)) != nil
  }

  /// Whose the name was: sealed, or none.
  func handleFreeing(_ reply: SharedReply, of name: PeerName) {
    if case .failed(let reason) = reply {
      tidings.freed = .failure(StoreFailure(reason))
      return
    }
    let plain = reply.bytes.flatMap { keys.open($0, at: keys.hash(.name, name.bytes)) }
    tidings.freed = .success(plain.flatMap { PeerID($0) })
  }

  /// Whose the name was that was freed, once; `nil` = nobody's.
  package func pollFreed() throws(StoreFailure) -> PeerID? {
    guard let freed = tidings.freed.take() else { throw StoreFailure("Redis has not answered") }
    return try freed.get()
  }

  static let freedPlace = Array("freed".utf8)
}

/// What came of commands, until a machine asks.
struct Tidings {
  /// Programs here that have a newer session at another node.
  var moved = BoundedQueue<ProgramMoved>(limit: SharedStore.clientLimit)
  var bindings = BoundedQueue<NameBinding>(limit: SharedStore.clientLimit)
  var freed: Result<PeerID?, StoreFailure>?
}

extension ClusterKeys {
  /// When an operator freed a name, in seconds since 1970; `nil` for what no operator has said.
  borrowing func timeOfFreeing(_ name: PeerName, _ sealed: [UInt8]) -> UInt64? {
    let place = SharedStore.freedPlace + hash(.name, name.bytes)
    guard open(sealed, at: place) == [], case .freed(let seconds) = NonceMark(of: sealed) else {
      return nil
    }
    return seconds
  }
}
