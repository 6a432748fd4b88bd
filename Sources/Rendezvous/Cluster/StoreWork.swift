import Primitives
import Wire

/// What a store has under way: a batch to commit, requests that wait for a store that is elsewhere,
/// and what other nodes are told of this one (docs/protocol/cluster.md §3).
struct StoreWork {
  /// When the open batch is to be committed.
  var commitDue: Instant?
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
    let waiting = earliest(commitDue, order.first?.due)
    let told = earliest(beatDue, earliest(announcementDue, deliveries.nextDeadline))
    return earliest(waiting, told)
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
    if let bans = shared.pollBans() { ChannelService.merge(bans, in: &machine, now: now) }
  }

  static func handleTimeout(of machine: inout RendezvousMachine, now: Instant) {
    commitDue(in: &machine, now: now)
    guard let shared = machine.store.shared else { return }
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
    guard let due = machine.storeWork.beatDue, due <= now else { return }
    machine.storeWork.beatDue = now + Self.beatPace
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
    } catch {
      machine.noteStoreFailure(error)
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
    let (id, name) = (machine.registry[slot].id, machine.registry.name(of: slot))
    let seconds = machine.settings.unixSeconds(now)
    let rank = machine.registry.rank(of: slot)
    return machine.announce(slot)
      && machine.store.shared?.restore(id, name: name, rank: rank, now: seconds) ?? false
  }

  private mutating func noteConnection(of shared: SharedStore, now: Instant) {
    guard shared.isConnected, shared.counters.connections != connection else { return }
    connection = shared.counters.connections
    // What was said meanwhile was not heard.
    shared.fetchBans()
    nextSlot = 0
    announcementDue = now
    beatDue = now
  }

  /// Requests that wait: 1.2 MB of INITs.
  private static let parkedLimit = 4096
  /// How long a request waits: a client says it again after 0.9 s.
  private static let patience = Duration.milliseconds(800)
  private static let beatPace = Duration.seconds(1)
  /// Identities that are made to register anew, each second: as many as a node lets in.
  private static let owedCount = 1000
  /// 25,600 programs a second.
  private static let announcementCount: UInt32 = 256
  private static let announcementPace = Duration.milliseconds(10)
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
