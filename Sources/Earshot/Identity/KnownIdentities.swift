internal import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// First-seen pinning for names and rendezvous: in memory for whoever asks, and in the file beside
/// the identity, which a thread of its own reads and writes. The event loop never waits for a disk.
///
/// A file that cannot be read or written makes nobody unreachable: it is as if nothing were known,
/// and `fault` says so.
final class KnownIdentities: Sendable {
  /// How a person changes the pins, for advice.
  let commands: ContactCommands
  private let keeper: PinKeeper
  private let worker: PromptWorker?

  /// Reads the file: not on the event loop.
  ///
  /// - Parameter path: Where the identity is; `nil` keeps what is seen in memory alone.
  init(besideIdentity path: String?) {
    commands = ContactCommands(identityFile: path)
    let keeper = PinKeeper(besideIdentity: path)
    keeper.load()
    keeper.service.load()
    self.keeper = keeper
    do throws(ReactorError) {
      worker = try PromptWorker(named: "earshot-pins") { _ in
        keeper.work()
        return nil
      }
    } catch {
      worker = nil  // No thread to be had: the file is written at the end.
    }
  }

  var fault: StorageError? { keeper.state.withLock { $0.fault } ?? keeper.service.fault }

  /// The identity that `name` had the last time.
  func id(behind name: PeerName) -> PeerID? { keeper.state.withLock { $0.peers[.name(name)]?.id } }

  /// The identity that a name means which is this host's own (docs/decisions/0094): it is pinned
  /// by it, and its card has another name, or none.
  func id(behindOwn name: PeerName) -> PeerID? {
    let entry = keeper.state.withLock { $0.peers[.name(name)] }
    guard let entry, !entry.card.isEmpty, PeerCard.name(ofKept: entry.card) != name else {
      return nil
    }
    return entry.id
  }

  /// The name that an identity is pinned by.
  func name(of id: PeerID) -> PeerName? { keeper.state.withLock { $0.peers.name(of: id) } }

  /// Who has been pinned, with a card that has the newest device key, and who no more, since this
  /// was asked for the last time. Those without a name come last, the ones of long ago at the end.
  ///
  /// - Parameter limit: Those beyond it count as not pinned: the last ones.
  func takeFamiliarChanges(
    limit: Int = .max
  ) -> (come: [(id: PeerID, card: [UInt8])], gone: [PeerID]) {
    keeper.state.withLock { state in
      let present = state.peers.familiars.prefix(limit)
      let former = state.familiars
      state.familiars = Set(present.map(\.id))
      return (
        present.filter { !former.contains($0.id) }, Array(former.subtracting(state.familiars))
      )
    }
  }

  /// Whether the machine was told of it.
  func isFamiliar(_ id: PeerID) -> Bool { keeper.state.withLock { $0.familiars.contains(id) } }

  /// How many of those who are pinned have a name, or were verified.
  var namedCount: Int {
    keeper.state.withLock { $0.peers.familiars.count - $0.peers.namelessCount }
  }

  /// Keeps the card of a pinned peer where its device key is new. The card has been verified.
  func renew(_ bytes: [UInt8]) {
    let card: ContactCard
    do throws(WireError) { card = try ContactCard(parsing: bytes) } catch { return }
    let isNew = keeper.state.withLock { state in
      guard state.peers.renew(card) else { return false }
      state.recordChange(.renewed(card))
      return true
    }
    if isNew { worker?.signal() }
  }

  func rendezvous(_ text: String) -> KnownPeers.Entry? {
    keeper.state.withLock { $0.peers[.rendezvous(text)] }
  }

  /// The newest list that is known of the nodes of a root; empty for none.
  func nodes(of root: PeerID) -> [UInt8] {
    keeper.service.nodes(of: root)
  }

  /// Remembers a list of nodes, which has been verified.
  func keep(_ list: NodeList) {
    keeper.service.keep(list)
    worker?.signal()
  }

  /// What a service has given for a name; empty for none.
  func receipt(for name: PeerName, at service: PeerID) -> [UInt8] {
    keeper.service.receipt(for: name, at: service)
  }

  /// Remembers what a service has given for a name.
  func keep(_ receipt: KeptReceipt) {
    keeper.service.keep(receipt)
    worker?.signal()
  }

  /// What `id` at `place` is worth; nothing is remembered.
  func trust(in id: PeerID, at place: KnownPeers.Place) -> Trust {
    Trust(keeper.state.withLock { $0.peers.trust(in: id, at: place) })
  }

  /// Takes over what another program has changed in the file since it was read; whether there was
  /// something. Waits for the thread that reads it.
  func refresh() async -> Bool {
    guard let worker else { return false }
    return await withCheckedContinuation { waiter in
      guard keeper.enlist(waiter) else { return waiter.resume(returning: false) }
      worker.signal()
    }
  }

  /// Remembers what was seen, and says what it is worth.
  @discardableResult
  func see(_ id: PeerID, at place: KnownPeers.Place, card: [UInt8] = []) -> Trust {
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let trust = keeper.state.withLock { state in
      state.recordChange(.seen(id, place, card: card, at: now))
      return state.peers.see(id, at: place, card: card, now: now)
    }
    worker?.signal()
    return Trust(trust)
  }

  /// A person vouches for it: an ID that was given by hand.
  func verify(_ id: PeerID, at place: KnownPeers.Place) {
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    keeper.state.withLock { state in
      state.recordChange(.vouched(id, place, at: now))
      state.peers.verify(id, at: place, now: now)
    }
    worker?.signal()
  }

  /// Ends the thread; what is not yet in the file is written now.
  func close() {
    worker?.stop()
    worker?.join()
    keeper.close()
  }
}

/// The pins of one endpoint, and what of them the file does not have yet.
private final class PinKeeper: Sendable {
  enum Change: Sendable {
    case seen(PeerID, KnownPeers.Place, card: [UInt8], at: UInt64)
    case vouched(PeerID, KnownPeers.Place, at: UInt64)
    case renewed(ContactCard)
  }

  struct State: Sendable {
    var peers = KnownPeers()
    var changes: [Change] = []
    var fault: StorageError?
    /// Of the file as it was read last. A write of our own is read again once.
    var stamp: PinFile.Stamp?
    /// Who was pinned by a name when the machine was last told of it.
    var familiars: Set<PeerID> = []
    /// Whoever waits for the file to be looked at.
    var waiters: [CheckedContinuation<Bool, Never>] = []
    var isClosed = false

    mutating func recordChange(_ change: Change) {
      // Of an application that pins by the thousand the file keeps the last ones.
      if changes.count >= 1024 { changes.removeFirst() }
      changes.append(change)
    }
  }

  let state = Guarded(State())
  /// `nil` where nothing is kept beyond memory.
  private let file: PinFile?
  let service: ServiceKeeper

  init(besideIdentity path: String?) {
    file = path.map(PinFile.init(besideIdentity:))
    service = ServiceKeeper(besideIdentity: path)
  }

  /// `false` when nobody will look any more.
  func enlist(_ waiter: CheckedContinuation<Bool, Never>) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.waiters.append(waiter)
      return true
    }
  }

  /// What the thread does when it is signalled.
  func work() {
    let waiters = takeWaiters()
    store()
    guard !waiters.isEmpty else { return }
    let hasChanged = reload()
    for waiter in waiters { waiter.resume(returning: hasChanged) }
  }

  /// The last word to the file, without the thread.
  func close() {
    store()
    state.withLock { $0.isClosed = true }
    for waiter in takeWaiters() { waiter.resume(returning: false) }
  }

  private func takeWaiters() -> [CheckedContinuation<Bool, Never>] {
    state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
  }

  func load() {
    guard let file else { return }
    // Before the contents: what comes between the two is read again.
    let stamp = file.stamp
    do throws(StorageError) {
      let peers = try file.read()
      state.withLock { state in
        state.stamp = stamp
        state.fault = nil
        state.peers = peers
        for change in state.changes { Self.apply(change, to: &state.peers) }
      }
    } catch {
      // What is in memory stays: a file that somebody damaged must not make friends strangers.
      state.withLock { state in
        state.stamp = stamp
        state.fault = error
      }
    }
  }

  /// Reads the file if it is another than the one read last; whether it was.
  private func reload() -> Bool {
    guard let file, file.stamp != state.withLock({ $0.stamp }) else { return false }
    load()
    return true
  }

  /// Brings the changes into the file, beside those of other programs, and takes those over.
  private func store() {
    service.store()
    let changes = state.withLock { state in
      defer { state.changes = [] }
      return state.changes
    }
    guard let file, !changes.isEmpty else { return }
    do throws(StorageError) {
      let merged = try file.update { peers in
        for change in changes { Self.apply(change, to: &peers) }
        return peers
      }
      state.withLock { state in
        state.peers = merged
        for change in state.changes { Self.apply(change, to: &state.peers) }
      }
    } catch {
      state.withLock { $0.fault = error }
    }
  }

  private static func apply(_ change: Change, to peers: inout KnownPeers) {
    switch change {
    case .seen(let id, let place, let card, let now):
      _ = peers.see(id, at: place, card: card, now: now)
    case .vouched(let id, let place, let now): peers.verify(id, at: place, now: now)
    case .renewed(let card): _ = peers.renew(card)
    }
  }
}

extension Trust {
  init(_ trust: Storage.Trust) {
    switch trust {
    case .verified: self = .verified
    case .pinned: self = .pinned
    case .new: self = .new
    case .changed: self = .changed
    }
  }
}

/// What an endpoint keeps of services of several nodes: the lists of their nodes, and receipts for
/// its names; and what of it the files do not have yet.
private final class ServiceKeeper: Sendable {
  private struct State: Sendable {
    /// The newest list of each root.
    var lists: [NodeList] = []
    /// What the file of lists does not have yet: an endpoint has one root.
    var newList: NodeList?
    var receipts: [KeptReceipt] = []
    /// The same of receipts: an endpoint has one name.
    var newReceipt: KeptReceipt?
    var fault: StorageError?
  }

  private let state = Guarded(State())
  /// `nil` where nothing is kept beyond memory.
  private let lists: NodesFile?
  private let receipts: ReceiptsFile?

  init(besideIdentity path: String?) {
    lists = path.map(NodesFile.init(besideIdentity:))
    receipts = path.map(ReceiptsFile.init(besideIdentity:))
  }

  /// Of a file that could not be read or written: it is as if nothing were known.
  var fault: StorageError? { state.withLock { $0.fault } }

  func nodes(of root: PeerID) -> [UInt8] {
    state.withLock { $0.lists.first { $0.root == root }?.bytes ?? [] }
  }

  func keep(_ list: NodeList) {
    state.withLock { state in
      state.lists.removeAll { $0.root == list.root }
      state.lists.append(list)
      state.newList = list
    }
  }

  func receipt(for name: PeerName, at service: PeerID) -> [UInt8] {
    state.withLock { state in
      state.receipts.first { $0.name == name && $0.service == service }?.receipt.bytes ?? []
    }
  }

  func keep(_ receipt: KeptReceipt) {
    state.withLock { state in
      state.receipts.removeAll { $0.service == receipt.service && $0.name == receipt.name }
      state.receipts.append(receipt)
      state.newReceipt = receipt
    }
  }

  // MARK: - Files

  func load() {
    do throws(StorageError) {
      let known = try lists?.read() ?? []
      state.withLock { $0.lists = known }
    } catch {
      state.withLock { $0.fault = error }
    }
    do throws(StorageError) {
      let known = try receipts?.read() ?? []
      state.withLock { $0.receipts = known }
    } catch {
      state.withLock { $0.fault = error }
    }
  }

  /// Brings what is new into the files.
  func store() {
    let (list, receipt) = state.withLock { ($0.newList.take(), $0.newReceipt.take()) }
    do throws(StorageError) {
      if let list { _ = try lists?.keep(list) }
    } catch {
      state.withLock { $0.fault = error }
    }
    do throws(StorageError) {
      if let receipt { try receipts?.keep(receipt) }
    } catch {
      state.withLock { $0.fault = error }
    }
  }
}
