package import Cryptography
package import Primitives
import Wire

/// The store of a service of several nodes: what it knows is elsewhere, and whoever reads must have
/// wished for it first (docs/protocol/cluster.md).
///
/// Pure: commands go out by `pollCommand`, replies come in by `handle`. Nothing here waits. A wish
/// is fulfilled when `pollTicket` gives its ticket; until the next one what was found can be read.
/// What a registration must know stays readable until its first DATA packet has come, or for 10 s.
package final class SharedStore: RegistrationStore {
  package let limits: StoreLimits
  let node: SharedNode
  let keys: ClusterKeys
  var random: RandomSource
  package var counters = SharedCounters()

  /// The connection, by its number; `nil` while there is none.
  private(set) var connection: [UInt8]?
  /// Called when there are commands where there were none.
  package var wake: (() -> Void)?
  private var commands: BoundedQueue<SharedCommand>
  private var lastNumber: UInt64 = 0
  /// What is under way, by the number of its command.
  var waiting: [UInt64: Pending] = [:]
  private var arrived: BoundedQueue<(StoreTicket, Pending, SharedReply)>
  /// What registrations must know.
  var registrations = OpenRegistrations()
  /// In this process: keeps the cards of this node's clients, to answer with them without Redis.
  package var home: (any RegistrationStore)?
  /// What the last ticket brought.
  var found = FoundPrograms()
  var keptBans: [StoredBan]?
  /// They were fetched, and nobody has looked at them yet.
  var hasNewBans = false
  /// Identities whose registration could not be written down.
  private var owed = OwedRegistrations()
  /// Those whose name another one has: they need not wait until names are given.
  var bereft = OwedRegistrations()
  /// What Redis said of this node.
  package private(set) var standing = NodeStanding()
  /// What a machine has not been told yet.
  var tidings = Tidings()

  /// What a reply is for.
  enum Pending {
    case registration(PeerID, asked: PeerName?, claimed: PeerName?, NameReceipt?)
    /// A name that an identity is given.
    case bound(PeerID, PeerName)
    /// A name that nobody has any more.
    case freed(NameFreeing)
    case found(LookUp.Target)
    /// A write that the identity's registration depends on.
    case promise(PeerID)
    /// A client that was announced anew.
    case restored(PeerID)
    case announced(PresenceRecord)
    /// Sent at this moment, by this connection.
    case beat(Instant, [UInt8])
    case bans
    case note
  }

  package init(
    _ secret: borrowing SecretKey, node: PeerID, limits: StoreLimits = .shared,
    random: RandomSource
  ) {
    self.limits = limits
    self.random = random
    keys = ClusterKeys(secret)
    self.node = SharedNode(number: node.word0, hash: keys.hash(.node, Self.bytes(of: node.word0)))
    commands = BoundedQueue(limit: Self.commandLimit)
    arrived = BoundedQueue(limit: Self.commandLimit)
  }

  package var shared: SharedStore? { self }

  // MARK: - Wishes

  /// Begins to find out; `nil` where that is not possible now, and reads fail.
  package func fetch(_ wish: StoreWish, now: UInt64) -> StoreTicket? {
    found = FoundPrograms()
    guard connection != nil else {
      counters.wishesRefused &+= 1
      return nil
    }
    let (script, arguments, pending) = command(for: wish, now: now)
    guard let number = queue(script, arguments, pending) else {
      counters.wishesRefused &+= 1
      return nil
    }
    return StoreTicket(number: number)
  }

  /// The next wish that was answered: what it brought is readable until the next call.
  package func pollTicket() -> StoreTicket? {
    guard let (ticket, pending, reply) = arrived.popFirst() else { return nil }
    found = FoundPrograms()
    switch pending {
    case .registration(let id, let asked, let claimed, let receipt):
      let facts = RegistrationFacts(
        reply, of: id, asked: asked, claimed: claimed, receipt: receipt, keys)
      insert(facts, of: id, ticket)
    case .found(let target): found = FoundPrograms(reply, target, notAt: node.number, keys)
    case .promise, .bound, .freed, .restored, .announced, .beat, .bans, .note: break
    }
    return ticket
  }

  /// What the last ticket brought is known no more.
  func forgetFound() { found = FoundPrograms() }

  /// Identities whose names and cards are still to be written down: they must register anew, now
  /// that they can, or at another node where this one is cut off.
  ///
  /// - Parameter most: How many at a time: as many as may come back in that time.
  package func takeOwed(most: Int, now: Instant) -> [PeerID] {
    let isDue = connection != nil && standing.isKnown && !standing.isFrozen
    guard isDue || standing.isCutOff(now: now) else {
      return connection == nil ? [] : bereft.takeFirst(most)
    }
    let first = bereft.takeFirst(most)
    return first + owed.takeFirst(most - first.count)
  }

  /// The next program here that has a newer session at another node.
  func pollMoved() -> ProgramMoved? { tidings.moved.popFirst() }

  private func insert(_ facts: RegistrationFacts?, of id: PeerID, _ ticket: StoreTicket) {
    if facts == nil { counters.repliesInvalid &+= 1 }
    registrations.insert(facts, of: id, ticket.number)
  }

  // MARK: - Commands and replies

  /// The next command for Redis.
  package func pollCommand() -> SharedCommand? { commands.popFirst() }

  /// A reply, or that there will be none.
  package func handle(_ reply: SharedReply, to number: UInt64) {
    guard let pending = waiting.removeValue(forKey: number) else { return }
    if case .failed = reply { counters.commandsFailed &+= 1 }
    switch pending {
    case .registration, .found:
      if !arrived.append((StoreTicket(number: number), pending, reply)) {
        counters.repliesInvalid &+= 1
      }
    case .promise(let id): if (reply.number ?? -1) != 1 { noteOwed(id) }
    case .bound(let id, let name): NameBinding.handle(reply, of: name, to: id, in: self)
    case .freed(let freeing): freeing.handle(reply, in: self)
    // The next connection announces all anew.
    case .restored where connection == nil, .announced where connection == nil: break
    case .restored(let id): handleRestoration(reply, of: id)
    case .announced(let record): handleAnnouncement(reply, of: record)
    case .beat(let sent, let connection):
      guard connection == self.connection else { break }
      guard let finding = standing.handleBeat(reply, sent: sent) else { break }
      if finding == .forgotten { counters.dataLost &+= 1 }
      // All is announced anew.
      handleConnection()
    case .bans: handleBans(reply)
    case .note: break
    }
  }

  /// Redis answers: nothing of an earlier connection of this node is true any more.
  package func handleConnection() {
    connection = random.bytes(8)
    standing.isKnown = false
    counters.connections &+= 1
  }

  /// What other nodes say gets here from now on, or does not. What was missed meanwhile is not said
  /// again, so all programs are announced anew.
  package func handleListening(_ isListening: Bool) {
    guard isListening != standing.isListening else { return }
    standing.isListening = isListening
    if isListening, connection != nil { handleConnection() }
  }

  /// 1 done · 0 the card is gone · 2 another one has the name
  private func handleRestoration(_ reply: SharedReply, of id: PeerID) {
    guard reply.number != 1 else { return }
    guard reply.number == 2 else { return noteOwed(id) }
    noteBereft(id)
  }

  /// Another one has the identity's name.
  func noteBereft(_ id: PeerID) {
    counters.writesLost &+= 1
    bereft.insert(id)
  }

  /// 1 done · 2 a newer session is at another node · or the node that had an older one
  private func handleAnnouncement(_ reply: SharedReply, of record: PresenceRecord) {
    var word = ProgramMoved(
      id: record.identity, presence: record.presence.id, serial: record.serial)
    if let before = reply.bytes, before.count == node.hash.count {
      return tellNode(.moved(word), at: before)
    }
    switch reply.number {
    case 1: break
    case 2:
      word.serial &+= 1
      if !tidings.moved.append(word) { counters.repliesInvalid &+= 1 }
    default: noteOwed(record.identity)
    }
  }

  /// Redis does not answer: what is under way fails, and so does what comes.
  package func handleDisconnection() {
    connection = nil
    while let command = commands.popFirst() { handle(.failed("no connection"), to: command.number) }
    for number in waiting.keys.sorted() { handle(.failed("no connection"), to: number) }
  }

  /// Takes no more commands; those that are queued still go.
  func end() { connection = nil }

  package var isConnected: Bool { connection != nil }

  /// Whether what other nodes say gets here.
  package var isListening: Bool { standing.isListening }

  /// Says that this node sends its clients to others: they may be on their way.
  func beginLeaving(now: Instant) {
    standing.isLeaving = true
    beat(isComplete: true, now: now)
  }

  /// Puts a command into the queue; `nil` when that is full.
  func queue(
    _ script: SharedScript, _ arguments: [[UInt8]], _ pending: Pending = .note
  ) -> UInt64? {
    guard connection != nil, waiting.count < Self.commandLimit else {
      counters.commandsDropped &+= 1
      return nil
    }
    lastNumber += 1
    if commands.isEmpty { wake?() }
    guard commands.append(SharedCommand(script, arguments, number: lastNumber)) else {
      counters.commandsDropped &+= 1
      return nil
    }
    waiting[lastNumber] = pending
    counters.commands &+= 1
    return lastNumber
  }

  func noteOwed(_ id: PeerID) {
    counters.writesLost &+= 1
    owed.insert(id)
  }

  /// Names are not given at the moment: who asked for one asks again.
  func postpone(_ id: PeerID) { owed.insert(id) }

  /// Commands that wait or are under way: at 40,000 a second a fifth of a second's worth.
  private static let commandLimit = 8192
  /// Identities and programs of one node: the most clients that `--limit-clients` allows.
  static let clientLimit = 1 << 20
}

/// Identities that must register anew, in the order in which that was found.
struct OwedRegistrations {
  private var order = BoundedQueue<PeerID>(limit: SharedStore.clientLimit)
  private var all: Set<PeerID> = []

  mutating func insert(_ id: PeerID) {
    if !all.contains(id), order.append(id) { all.insert(id) }
  }

  mutating func takeFirst(_ most: Int) -> [PeerID] {
    var taken: [PeerID] = []
    while taken.count < most, let id = order.popFirst() {
      all.remove(id)
      taken.append(id)
    }
    return taken
  }
}

/// Which node of a service this is.
struct SharedNode {
  /// In records: the first 8 bytes of its ID.
  let number: UInt64
  /// In Redis.
  let hash: [UInt8]
}

/// Counts of what went to the shared memory, for `--metrics`.
package struct SharedCounters: Equatable, Sendable {
  package var commands: UInt64 = 0
  package var commandsFailed: UInt64 = 0
  package var commandsDropped: UInt64 = 0
  package var wishesRefused: UInt64 = 0
  package var repliesInvalid: UInt64 = 0
  package var writesLost: UInt64 = 0
  package var connections: UInt64 = 0
  package var dataLost: UInt64 = 0
  package var messagesSent: UInt64 = 0
  package var messagesReceived: UInt64 = 0
  package var messagesInvalid: UInt64 = 0
  package var messagesDropped: UInt64 = 0
  package var cardsLost: UInt64 = 0
  package var receiptsMade: UInt64 = 0
  package var receiptsInvalid: UInt64 = 0
  package var namesRegained: UInt64 = 0
  package var channelRequestsUnanswered: UInt64 = 0

  /// Every counter with its name in Prometheus and what it counts.
  package var all: [(name: String, help: String, value: UInt64)] {
    [
      ("commands", "Commands for Redis.", commands),
      ("commands_failed", "Commands for Redis that failed.", commandsFailed),
      ("commands_dropped", "Commands for Redis that had no room.", commandsDropped),
      ("wishes_refused", "Requests that Redis could not be asked about.", wishesRefused),
      ("replies_invalid", "Replies of Redis that did not parse.", repliesInvalid),
      ("writes_lost", "Registrations that Redis has not written down.", writesLost),
      ("connections", "Connections to Redis.", connections),
      ("data_lost", "Times that Redis had forgotten this node.", dataLost),
      ("messages_sent", "Bodies handed to other nodes.", messagesSent),
      ("messages_received", "Bodies of other nodes.", messagesReceived),
      ("messages_dropped", "Messages of other nodes that had no room.", messagesDropped),
      ("messages_invalid", "Messages of other nodes that did not open or parse.", messagesInvalid),
      ("cards_lost", "Cards of clients that this node could not keep on its disk.", cardsLost),
      ("receipts", "Receipts made for names.", receiptsMade),
      ("receipts_invalid", "Receipts shown that no node of now has made.", receiptsInvalid),
      ("names_regained", "Names given back to whoever had a receipt.", namesRegained),
      (
        "channel_requests_unanswered",
        "Requests about channels whose node was not reached, or too many.",
        channelRequestsUnanswered
      ),
    ]
  }
}
