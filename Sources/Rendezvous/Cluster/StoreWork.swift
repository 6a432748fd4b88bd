import Primitives
import Wire

/// What a store has under way: a batch to commit, requests that wait for a store that is elsewhere,
/// and what other nodes are told of this one (docs/protocol/cluster.md §3).
struct StoreWork {
  /// When the open batch is to be committed.
  var commitDue: Instant?
  /// Whose registrations the open batch has, and whose the store has lost.
  var batch = OpenBatch()
  private var parked: [StoreTicket: Request] = [:]
  /// In the order of their ends.
  private var order = BoundedQueue<(ticket: StoreTicket, due: Instant)>(limit: parkedLimit)
  /// The connection of the store that was last seen.
  private var connection: UInt64 = 0
  private var beatDue: Instant?
  /// The next program to be announced after a new connection; `nil` when all are.
  private var nextSlot: UInt32?
  private var announcementDue: Instant?
  /// Bodies that other nodes were given.
  var deliveries = AwaitedDeliveries()
  /// What other nodes said of channels.
  var passages = RecentNumbers()
  /// Which nodes channels were shared out among when that was last looked at.
  var homesVersion = 0
  /// What other nodes are still to be told of programs here.
  var late = LateWords()

  /// A client by its session.
  struct Client {
    let slot: UInt32
    let connection: ConnectionID

    func isThere(in registry: ClientRegistry) -> Bool {
      registry.isUsed(slot) && registry[slot].local == connection
    }
  }

  enum Request {
    case registration(ParkedHandshake)
    case lookUp(LookUp, Client)
    case forward(ForwardRoute)
  }

  mutating func hurry(now: Instant) { commitDue = commitDue.map { min($0, now) } }

  var nextDeadline: Instant? {
    let waiting = earliest(earliest(commitDue, batch.due), order.first?.due)
    let told = earliest(beatDue, earliest(announcementDue, deliveries.nextDeadline))
    return earliest(earliest(waiting, told), late.due)
  }

  /// Keeps a request until a store elsewhere has told what it needs; `false` where nothing is to be
  /// waited for, or waiting is no use.
  mutating func park(
    _ request: @autoclosure () -> Request, _ wish: StoreWish, _ store: any RegistrationStore,
    _ settings: borrowing ServerSettings, _ now: Instant
  ) -> Bool {
    guard let shared = store.shared else { return false }
    shared.forgetFound()
    guard order.count < Self.parkedLimit,
      let ticket = shared.fetch(wish, now: settings.unixSeconds(now))
    else { return false }
    parked[ticket] = request()
    return order.append((ticket, now + Self.patience))
  }

  // MARK: - For a machine

  /// Goes on with requests whose answers came.
  static func resume(_ machine: inout RendezvousMachine, now: Instant) {
    guard let shared = machine.store.shared else { return }
    machine.storeWork.noteConnection(of: shared, now: now)
    while let ticket = shared.pollTicket() {
      let request = machine.storeWork.parked.removeValue(forKey: ticket)
      request?.resume(isTold: true, in: &machine, now: now)
    }
    shared.forgetFound()
    ChannelService.settleHomes(in: &machine, now: now)
    while let binding = shared.tidings.bindings.popFirst() {
      binding.deliver(in: &machine, from: shared, now: now)
    }
    while let program = shared.pollMoved() { program.deliver(in: &machine, now: now) }
    // Two take the name for theirs until then; the others of many go with the beat.
    for id in shared.bereft.takeFirst(Self.bereftCount) {
      for slot in machine.registry.all(of: id) {
        machine.close(slot, .limits, .promiseBroken, now: now)
      }
    }
    if let bans = shared.pollBans() { ChannelService.merge(bans, in: &machine, now: now) }
  }

  static func handleTimeout(of machine: inout RendezvousMachine, now: Instant) {
    commitDue(in: &machine, now: now)
    guard let shared = machine.store.shared else { return retryBatch(of: &machine, now: now) }
    while let first = machine.storeWork.order.first {
      let request = machine.storeWork.parked[first.ticket]
      guard first.due <= now || request == nil else { break }
      _ = machine.storeWork.order.popFirst()
      machine.storeWork.parked[first.ticket] = nil
      shared.forgetFound()
      request?.resume(isTold: false, in: &machine, now: now)
    }
    while let late = machine.storeWork.deliveries.popDue(now: now) {
      late.conclude(in: &machine, now: now)
    }
    announceSome(of: &machine, now: now)
    LateWords.repeatSome(in: &machine, now: now)
    guard let due = machine.storeWork.beatDue, due <= now else { return }
    machine.storeWork.beatDue = now + Self.beatPace
    shared.registrations.endPeriod()
    shared.beat(isComplete: machine.storeWork.nextSlot == nil, now: now)
    ChannelService.settleHomes(in: &machine, now: now)
    ChannelService.announceRelays(of: &machine)
    if shared.isConnected {
      ChannelService.keepNewBans(in: &machine, now: now)
      machine.registry.forgetOwners()
    }
    for id in shared.takeOwed(most: Self.owedCount, now: now) {
      for slot in machine.registry.all(of: id) {
        machine.close(slot, .limits, .promiseBroken, now: now)
      }
    }
  }

  /// Comes before anything is sent: nobody hears of a name before it is written down.
  static func commitDue(in machine: inout RendezvousMachine, now: Instant) {
    guard let due = machine.storeWork.commitDue, due <= now else { return }
    machine.storeWork.commitDue = nil
    do throws(StoreFailure) {
      try machine.store.commit()
      machine.storeWork.batch.close()
    } catch {
      machine.noteStoreFailure(error)
    }
  }

  /// After a failure: where the open batch was undone, its names are nobody's session's any more.
  static func reviewBatch(of machine: inout RendezvousMachine, _ failure: StoreFailure) {
    let store = machine.store
    for slot in machine.storeWork.batch.review(store, failure, machine.registry) {
      machine.registry.removeName(of: slot)
    }
  }

  /// Each second after a batch was lost: whether the store writes again. Then those whose
  /// registrations were lost must register anew.
  private static func retryBatch(of machine: inout RendezvousMachine, now: Instant) {
    guard let due = machine.storeWork.batch.due, due <= now else { return }
    machine.storeWork.batch.due = now + Self.beatPace
    do throws(StoreFailure) {
      let seconds = machine.settings.unixSeconds(now)
      try machine.storeWork.batch.writeAgain(in: machine.store, now: seconds)
    } catch {
      return machine.noteStoreFailure(error)
    }
    for client in machine.storeWork.batch.popLost(most: Self.owedCount)
    where client.isThere(in: machine.registry) {
      machine.close(client.slot, .limits, .promiseBroken, now: now)
    }
  }

  /// After a new connection all programs and names are announced anew, some at a time.
  private static func announceSome(of machine: inout RendezvousMachine, now: Instant) {
    guard let start = machine.storeWork.nextSlot, let due = machine.storeWork.announcementDue,
      due <= now
    else { return }
    machine.storeWork.announcementDue = now + Self.announcementPace
    var slot = start
    let end = min(UInt32(machine.registry.slotLimit), start + Self.announcementCount)
    while slot < end {
      let isHere = machine.registry.isUsed(slot) && machine.registry[slot].isConfirmed
      if isHere, !restore(slot, of: machine, now: now) { break }
      slot += 1
    }
    machine.storeWork.nextSlot = slot
    guard slot >= machine.registry.slotLimit else { return }
    machine.storeWork.nextSlot = nil
    machine.storeWork.announcementDue = nil
    // The others wait for nothing but this.
    machine.storeWork.beatDue = now
  }

  /// `false` where Redis takes no more now.
  private static func restore(
    _ slot: UInt32, of machine: borrowing RendezvousMachine, now: Instant
  ) -> Bool {
    guard let shared = machine.store.shared, shared.waiting.count < announcementRoom else {
      return false
    }
    let (id, name) = (machine.registry[slot].id, machine.registry.name(of: slot))
    let seconds = machine.settings.unixSeconds(now)
    let rank = machine.registry.rank(of: slot)
    return machine.announce(slot) && shared.restore(id, name: name, rank: rank, now: seconds)
  }

  private mutating func noteConnection(of shared: SharedStore, now: Instant) {
    guard shared.isConnected, shared.counters.connections != connection else { return }
    connection = shared.counters.connections
    // Before any program: one of a connection that Redis does not know is taken for gone.
    shared.beat(isComplete: false, now: now)
    // What was said meanwhile was not heard.
    shared.fetchBans()
    late = LateWords()
    nextSlot = 0
    announcementDue = now
    beatDue = now
  }

  /// Requests that wait: 1.2 MB of INITs.
  private static let parkedLimit = 4096
  /// How long a request waits: a client says it again after 0.9 s.
  private static let patience = Duration.milliseconds(800)
  private static let beatPace = Duration.seconds(1)
  /// Who is told at once that another one has the name, of those that are known by one batch of
  /// replies.
  private static let bereftCount = 16
  /// Identities that are made to register anew, each second: as many as a node lets in.
  private static let owedCount = 1000
  /// 25,600 programs a second.
  private static let announcementCount: UInt32 = 256
  private static let announcementPace = Duration.milliseconds(10)
  /// Commands that may wait where one more program is announced: names, calls and channels, which
  /// have room for 4096 and more, do not wait behind all of them.
  private static let announcementRoom = 3072
}

extension StoreWork.Request {
  fileprivate func resume(
    isTold: Bool, in machine: inout RendezvousMachine, now: Instant
  ) {
    switch self {
    case .registration(let parked):
      let isKnown = isTold && machine.store.shared?.registrations[parked.id] != nil
      parked.finish(isTold: isKnown, in: &machine, now: now)
    case .lookUp(let lookUp, let client):
      guard client.isThere(in: machine.registry) else { return }
      machine.finish(lookUp, of: client.slot, now: now)
    case .forward(let route):
      guard route.sender.isThere(in: machine.registry) else { return }
      machine.finish(route, now: now)
    }
  }
}

/// Registrations that the open batch of a store in this process has, and those of batches that were
/// undone because the store failed. Whoever is elsewhere says of each write what became of it.
struct OpenBatch {
  private struct Registration {
    var client: StoreWork.Client
    let id: PeerID
    /// Promised; of a batch that was undone, only where the store has lost it.
    var name: PeerName?
  }

  private var open: [Registration] = []
  /// By slot: at most one a session.
  private var lost: [UInt32: Registration] = [:]
  /// Whose the names are that were lost. Of one batch: nothing is promised until it is written.
  private var names: [PeerName: PeerID] = [:]
  /// The card that was written last: written once more it shows whether the store writes again.
  private var card: (entry: PendingRegistrations.Entry, id: PeerID, isQuiet: Bool)?
  /// What the store counted when it was last looked at.
  private var lostBatchCount: UInt64 = 0
  /// Why the last batch was undone; `nil` while the store writes.
  private var failure: StoreFailure?
  /// When the next attempt is; `nil` where nobody waits for one.
  var due: Instant?

  /// Comes before anything of the registration is written.
  mutating func append(
    _ entry: PendingRegistrations.Entry, of slot: UInt32, in registry: ClientRegistry,
    for store: any RegistrationStore
  ) {
    guard store.shared == nil else { return }
    let client = StoreWork.Client(slot: slot, connection: registry[slot].local)
    open.append(Registration(client: client, id: registry[slot].id, name: entry.name))
  }

  /// Keeps the card of a registration.
  ///
  /// - Parameter isQuiet: Nobody shall see by the card that its owner is there.
  mutating func keep(
    _ entry: PendingRegistrations.Entry, of id: PeerID, seen: UInt64, isQuiet: Bool,
    in store: any RegistrationStore
  ) throws(StoreFailure) {
    if store.shared == nil { card = (entry, id, isQuiet) }
    try store.keep(entry, of: id, seen: seen, isQuiet: isQuiet)
  }

  /// The batch is written.
  mutating func close() { open.removeAll(keepingCapacity: true) }

  /// A name that is promised now would be lost again.
  ///
  /// - Throws: While the store has undone the last batch.
  func expectWritable() throws(StoreFailure) { if let failure { throw failure } }

  /// Looks whether the store has undone the open batch.
  ///
  /// - Returns: The sessions whose names it has not kept.
  mutating func review(
    _ store: any RegistrationStore, _ failure: StoreFailure, _ registry: ClientRegistry
  ) -> [UInt32] {
    guard store.lostBatchCount != lostBatchCount else { return [] }
    lostBatchCount = store.lostBatchCount
    guard !open.isEmpty else { return [] }
    (self.failure, due) = (failure, due ?? .zero)
    var nameless: [UInt32] = []
    for var registration in open {
      let client = registration.client
      if let name = registration.name, store.isOwned(name, by: registration.id) {
        registration.name = nil
      }
      if let name = registration.name {
        names[name] = names[name] ?? registration.id
        if client.isThere(in: registry) { nameless.append(client.slot) }
      }
      lost[client.slot] = registration
    }
    open.removeAll()
    return nameless
  }

  /// Gives the names that were lost to whoever was promised them, and commits that.
  ///
  /// - Parameter now: Seconds since 1970.
  mutating func writeAgain(in store: any RegistrationStore, now: UInt64) throws(StoreFailure) {
    for (name, id) in names.sorted(by: { $0.key.description < $1.key.description }) {
      _ = try store.bind(name, to: id, now: now)
    }
    if let card { try store.keep(card.entry, of: card.id, seen: now, isQuiet: card.isQuiet) }
    try store.commit()
    close()
    names.removeAll()
    failure = nil
  }

  /// Clients whose registrations were lost, in the order of their slots.
  mutating func popLost(most: Int) -> [StoreWork.Client] {
    if lost.count <= most { due = nil }
    let slots = lost.keys.sorted().prefix(most)
    return slots.compactMap { lost.removeValue(forKey: $0)?.client }
  }
}

extension RegistrationStore {
  /// Whether it can say that a name is an identity's own.
  fileprivate func isOwned(_ name: PeerName, by id: PeerID) -> Bool {
    do throws(StoreFailure) {
      return try verdict(on: name, for: id, now: 0) == .owned
    } catch {
      return false
    }
  }
}
