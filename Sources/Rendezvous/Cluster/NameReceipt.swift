package import Primitives
package import Wire

/// Which of two owners of a name goes first where Redis has lost whose it is: the lower one
/// (docs/protocol/cluster.md §10). 33 bits, so that 5 bytes hold it.
package struct NameRank: Comparable, Hashable, Sendable {
  package let rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }

  /// - Parameter seconds: When the name was given, since 1970.
  package init(grantedAt seconds: UInt64) { rawValue = Self.middle + min(seconds, Self.latest) }

  /// Of whoever has got a name that the operator freed: before all who had it until then, also
  /// where Redis does not know any more that it was freed. Who had it until then may be one who has
  /// got it after the same freeing, where Redis has lost that one alone.
  ///
  /// - Parameter seconds: When it was given again, since 1970.
  package init(regrantedAt seconds: UInt64) { rawValue = Self.middle - min(seconds, Self.latest) }

  /// When it was given again; 0 where it was never freed.
  var regrantedAt: UInt64 { Self.middle - min(rawValue, Self.middle) }

  package static func < (left: NameRank, right: NameRank) -> Bool {
    left.rawValue < right.rawValue
  }

  private static let middle: UInt64 = 1 << 32
  private static let latest: UInt64 = (1 << 32) - 1
}

/// What the nodes of a service know from a receipt that they have given to the owner of a name.
///
///     version 1 = 1 · rank 5 · issued 5, s since 1970 · MAC 16
///
/// It names neither: the MAC is over both, so it is worth nothing for another name or identity.
package struct NameReceipt: Hashable, Sendable {
  package let rank: NameRank
  package let issued: UInt64
  package let mac: Bytes16

  package init(rank: NameRank, issued: UInt64, mac: Bytes16) {
    self.rank = rank
    self.issued = issued
    self.mac = mac
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("version") == Self.version else { throw .invalid("version", at: 0) }
    rank = NameRank(rawValue: Self.number(try reader.readBytes(5, "rank")))
    issued = Self.number(try reader.readBytes(5, "issued"))
    mac = try Bytes16(parsing: &reader, "MAC")
    try reader.expectEnd("receipt")
  }

  package var bytes: [UInt8] { Self.head(rank, issued) + mac.bytes }

  /// All of it but the MAC.
  static func head(_ rank: NameRank, _ issued: UInt64) -> [UInt8] {
    [version] + fiveBytes(rank.rawValue) + fiveBytes(issued)
  }

  /// Whether it counts at that moment, by the clock of the node that looks at it.
  func isInForce(now: UInt64) -> Bool {
    issued <= now + Self.tolerance && now < issued + Self.life
  }

  /// The highest byte first, as numbers in Redis are.
  static func fiveBytes(_ number: UInt64) -> [UInt8] {
    (0..<5).map { UInt8(truncatingIfNeeded: number >> (32 - 8 * $0)) }
  }

  static func number(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  private static let version: UInt8 = 1
  /// A day less than a name lasts without use (`StoreLimits.nameLife`), in seconds: a name that has
  /// lapsed by one clock is never asked for with a receipt that holds by another.
  package static let life: UInt64 = 364 * 86_400
  /// What was issued later than that has a time that no node had.
  private static let tolerance: UInt64 = 86_400
}

/// What a node must know of a name that was asked for, to give it.
struct AskedName {
  let name: PeerName
  /// What its asker has shown; `nil` = nothing that counts.
  let receipt: NameReceipt?
  /// When the operator freed it, if that was within a receipt's life.
  let freed: UInt64?
  /// What the clock of Redis showed, in seconds since 1970.
  let clock: UInt64

  /// - Parameter now: By the node's own clock. That of Redis orders grants of all nodes; one that
  ///   is far off says nothing.
  func rank(now: UInt64) -> NameRank {
    if let receipt { return receipt.rank }
    let time = Self.time(clock, now: now)
    if let freed { return NameRank(regrantedAt: max(freed, time)) }
    return NameRank(grantedAt: time)
  }

  static func time(_ clock: UInt64, now: UInt64) -> UInt64 {
    max(clock, now) - min(clock, now) <= tolerance ? clock : now
  }

  /// Clocks of nodes differ by some minutes at the most (docs/operating.md).
  private static let tolerance: UInt64 = 600
}

/// A name that Redis has written down as an identity's own.
struct NameBinding {
  let id: PeerID
  let name: PeerName
  /// `nil` = that of a node of a version before.
  let rank: NameRank?
  /// What the clock of Redis showed, in seconds since 1970.
  let clock: UInt64
}

extension NameReceipt {
  /// What counts of a receipt, before Redis is asked for anything: `nil` = nothing.
  static func check(
    _ receipt: OpaqueReceipt?, for name: PeerName?, of id: PeerID, in store: SharedStore,
    now: UInt64
  ) -> NameReceipt? {
    guard let receipt, let name else { return nil }
    guard let read = store.keys.read(receipt, for: name, of: id) else {
      store.counters.receiptsInvalid &+= 1
      return nil
    }
    return read.isInForce(now: now) ? read : nil
  }

  /// What scripts are told of one: rank and moment of issue, both empty where there is none.
  static func words(_ receipt: NameReceipt?) -> [[UInt8]] {
    guard let receipt else { return [[], []] }
    return [SharedStore.digits(receipt.rank.rawValue), SharedStore.digits(receipt.issued)]
  }
}

extension NameBinding {
  /// The name and its owner, sealed · the clock of Redis in s · 1 where it was given back; or 0 not
  /// given now, 2 another one has it.
  static func handle(
    _ reply: SharedReply, of name: PeerName, to id: PeerID, in store: SharedStore
  ) {
    guard let list = reply.list, list.count == 3, let sealed = list[0].bytes,
      let clock = list[1].number, let isRegained = list[2].number,
      store.keys.open(sealed, at: store.keys.hash(.name, name.bytes)) == id.bytes
    else { return reply.number == 2 ? store.noteBereft(id) : store.noteOwed(id) }
    if isRegained == 1 { store.counters.namesRegained &+= 1 }
    var rank: NameRank?
    if case .rank(let known) = NonceMark(of: sealed) { rank = known }
    let binding = NameBinding(id: id, name: name, rank: rank, clock: UInt64(clamping: clock))
    if !store.tidings.bindings.append(binding) { store.counters.repliesInvalid &+= 1 }
  }

  /// What the owner of a name keeps; `nil` where nobody knows since when it is.
  func receipt(in store: SharedStore, now: UInt64) -> OpaqueReceipt? {
    guard let rank else { return nil }
    // Of a moment after the freeing, whose clock may be ahead: else it would count for nothing.
    let issued = max(AskedName.time(clock, now: now), rank.regrantedAt + 1)
    store.counters.receiptsMade &+= 1
    return OpaqueReceipt(store.keys.receipt(for: name, of: id, rank, issued: issued).bytes)
  }

  /// Redis has written it down: the programs that wait for a receipt are given one.
  func deliver(in machine: inout RendezvousMachine, from store: SharedStore, now: Instant) {
    for slot in machine.registry.all(of: id) where machine.registry.name(of: slot) == name {
      guard machine.registry.setRank(rank, of: slot),
        let receipt = receipt(in: store, now: machine.settings.unixSeconds(now))
      else { continue }
      let message = NameReceiptMessage(name: name, receipt: receipt)
      let bytes = RendezvousMessage.nameReceipt(message).bytes
      _ = machine.send(bytes, to: slot, life: AnswerTerms.life, now: now)
    }
  }
}

/// An operator takes a name from whoever has it. Receipts from before count no more.
package struct NameFreeing {
  let name: PeerName
  /// Also takes it from whoever has got it since it was freed.
  let isAgain: Bool
  /// In seconds since 1970.
  let time: UInt64
  /// How often it may still be tried at a later time.
  let attempts: Int

  /// What came of it. The command may be given again where the reply to it was lost.
  package enum Outcome: Equatable, Sendable {
    /// This one had it.
    case freed(PeerID)
    case nobodys
    /// It was freed within 10 min, and nobody has it.
    case freedBefore
    /// It was freed within 10 min. This one has got it since, and keeps it.
    case kept(PeerID)
  }

  /// Whether it is on its way; `outcome` says what came of it.
  ///
  /// - Parameter isAgain: Also takes it from whoever has got it since it was freed.
  package static func begin(
    _ name: PeerName, isAgain: Bool = false, in store: SharedStore, now: UInt64
  ) -> Bool {
    NameFreeing(name: name, isAgain: isAgain, time: now, attempts: Self.attempts).queue(in: store)
  }

  private func queue(in store: SharedStore) -> Bool {
    let hash = store.keys.hash(.name, name.bytes)
    let mark = store.keys.seal(
      [], at: Self.place + hash, mark: .freed(time), random: &store.random)
    let word = store.seal(.nameMoved(NameMoved(name: name, owner: nil)))
    let life = SharedStore.digits(NameReceipt.life * 1000)
    let arguments = [hash, mark, word, life, [isAgain ? 0x31 : 0x30]]
    return store.queue(.free, arguments, .freed(self)) != nil
  }

  /// 0 · whose the name was, sealed, or none; 1 it was freed before; 2 · who has got it since; 3 ·
  /// the moment that it must be later than
  func handle(_ reply: SharedReply, in store: SharedStore) {
    if case .failed(let reason) = reply {
      store.tidings.freed = .failure(StoreFailure(reason))
      return
    }
    if let last = reply.list?.last?.number, reply.list?.first?.number == 3 {
      if !isQueuedAgain(after: UInt64(clamping: last), in: store) {
        store.tidings.freed = .failure(Self.clockSet)
      }
      return
    }
    let place = store.keys.hash(.name, name.bytes)
    let plain = reply.list?.dropFirst().first?.bytes.flatMap { store.keys.open($0, at: place) }
    let outcome: Outcome? =
      switch (reply.list?.first?.number, plain.flatMap { PeerID($0) }) {
      case (0, let id?): .freed(id)
      case (0, nil): .nobodys
      case (1, _): .freedBefore
      case (2, let id?): .kept(id)
      default: nil
      }
    store.tidings.freed = outcome.map { .success($0) } ?? .failure(StoreFailure("odd reply"))
  }

  /// What came of it, once.
  package static func outcome(in store: SharedStore) throws(StoreFailure) -> Outcome {
    guard let freed = store.tidings.freed.take() else {
      throw StoreFailure("Redis has not answered")
    }
    return try freed.get()
  }

  /// The clock of Redis shows no more than it did, or was set back.
  private func isQueuedAgain(after last: UInt64, in store: SharedStore) -> Bool {
    guard attempts > 0, last >= time, last - time < Self.tolerance else { return false }
    let next = NameFreeing(name: name, isAgain: isAgain, time: last + 1, attempts: attempts - 1)
    return next.queue(in: store)
  }

  static let place = Array("freed".utf8)
  /// One is for a clock that was set back, others for operators who free the same name meanwhile.
  private static let attempts = 4
  /// Seconds: as for receipts, a later time is one that no node had.
  private static let tolerance: UInt64 = 86_400
  private static var clockSet: StoreFailure {
    StoreFailure("the name was given more than a day from now: see to the clock of Redis")
  }
}

/// What came of commands, until a machine asks.
struct Tidings {
  /// Programs here that have a newer session at another node.
  var moved = BoundedQueue<ProgramMoved>(limit: SharedStore.clientLimit)
  var bindings = BoundedQueue<NameBinding>(limit: SharedStore.clientLimit)
  var freed: Result<NameFreeing.Outcome, StoreFailure>?
}

extension ClusterKeys {
  /// When an operator freed a name, in seconds since 1970; `nil` for what no operator has said.
  borrowing func timeOfFreeing(_ name: PeerName, _ sealed: [UInt8]) -> UInt64? {
    let place = NameFreeing.place + hash(.name, name.bytes)
    guard open(sealed, at: place) == [], case .freed(let seconds) = NonceMark(of: sealed) else {
      return nil
    }
    return seconds
  }
}
