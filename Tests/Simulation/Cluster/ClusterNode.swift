import Primitives
import Rendezvous
import SecureSession

/// One of several nodes, and what stands between it and Redis: what `RedisLink` does with two
/// connections and threads, in simulated time.
final class ClusterNode {
  let index: Int
  let rendezvous: SimulatedRendezvous
  /// Nothing passes between it and Redis; the connections stand until somebody notices.
  private(set) var isCut = false
  /// The connection with the commands stands; the one that hears does.
  private(set) var isLinked = false
  private(set) var isListening = false
  /// Redis lost data while this node was not there, or before it could tell anew what it has, and
  /// it has not been there since. Others may have names of its clients by then.
  private(set) var hasMissedLoss = false
  /// Redis lost data a moment ago, and this node has not told it anew what it has.
  private var hasToTellAnew = false

  private unowned let cluster: SimulatedCluster
  private let delay: Duration
  /// What was sent by an earlier connection is answered to nobody.
  private var connection = 0
  private var backlog: [() -> Void] = []
  /// When it began to hear, the last time.
  private var listening = Instant.zero
  /// Redis has ended while nothing passed: the next word is answered by nobody.
  private var isBroken = false

  init(
    _ index: Int, _ rendezvous: SimulatedRendezvous, in cluster: SimulatedCluster, delay: Duration
  ) {
    self.index = index
    self.rendezvous = rendezvous
    self.cluster = cluster
    self.delay = delay
  }

  private var simulator: Simulator { cluster.world.simulator }
  private var store: SharedStore? { rendezvous.shared }
  var isRunning: Bool { rendezvous.host.isRunning }
  private var isBlocked: Bool { isCut || !cluster.isRedisAnswering }

  var counters: ServerCounters? {
    rendezvous.host.command(now: cluster.world.now) { machine, _ in machine.counters }
  }

  /// A session of an identity stands here.
  func hasSession(of id: PeerID) -> Bool {
    let found = rendezvous.host.command(now: cluster.world.now) { machine, now in
      !machine.presences(of: id, now: now).isEmpty
    }
    return found ?? false
  }

  // MARK: - The process

  func start() {
    guard !isRunning else { return }
    rendezvous.start()
    attach()
  }

  /// A process has begun.
  func attach() {
    store?.wake = { [weak self] in self?.planPump() }
    connect()
  }

  func crash() {
    rendezvous.crash()
    (isLinked, isListening, hasToTellAnew) = (false, false, false)
    connection += 1
  }

  // MARK: - Connections

  /// Tries until Redis is there.
  private func connect() {
    guard isRunning, !isLinked else { return }
    guard !isBlocked else { return retry() }
    connection += 1
    isLinked = true
    isBroken = false
    settle(connection)
    store?.handleConnection()
    listen()
    serve()
  }

  /// What another one was given meanwhile is settled when all is announced, and a beat later.
  private func settle(_ settled: Int) {
    simulator.plan(after: .seconds(3)) { [weak self] in
      guard let self, isLinked, connection == settled else { return }
      hasMissedLoss = false
    }
  }

  /// What Redis and the other nodes have said was heard here, or told anew when it could be.
  var hasHeardAll: Bool {
    !hasMissedLoss && !hasToTellAnew && !isBlocked && isLinked && isListening
      && cluster.world.now > listening + .seconds(2)
  }

  /// Redis has lost data.
  func noteLoss() {
    guard isLinked, !isCut else { return hasMissedLoss = true }
    hasToTellAnew = true
    settleLoss()
  }

  /// The loss is seen at the next beat, and all is told anew then.
  private func settleLoss() {
    simulator.plan(after: .milliseconds(1500)) { [weak self] in
      guard let self, hasToTellAnew else { return }
      if isBlocked || !isLinked { settleLoss() } else { hasToTellAnew = false }
    }
  }

  private func retry() {
    simulator.plan(after: .milliseconds(250)) { [weak self] in self?.connect() }
  }

  private func listen() {
    guard isRunning, !isListening else { return }
    skipPosts()
    isListening = true
    listening = cluster.world.now
    store?.handleListening(true)
    serve()
  }

  /// The connections have ended, and that is known.
  func disconnect() {
    guard isLinked else { return }
    isLinked = false
    connection += 1
    store?.handleDisconnection()
    endListening()
    retry()
  }

  /// The one that hears has ended, and that is known.
  func endListening() {
    isListening = false
    store?.handleListening(false)
    serve()
  }

  /// It is tried until it stands again.
  func listenAgain() {
    guard isRunning, !isListening else { return }
    if isLinked, !isBlocked { return listen() }
    simulator.plan(after: .milliseconds(250)) { [weak self] in self?.listenAgain() }
  }

  // MARK: - Faults of the line

  func cut() {
    isCut = true
    if hasToTellAnew { hasMissedLoss = true }
    hasToTellAnew = false
  }

  /// Whether Redis knows that this node is there, or was a moment ago.
  var isKnown: Bool { store?.channels.first.map { cluster.redis.hasNode(at: $0) } ?? false }

  func heal() {
    isCut = false
    listening = cluster.world.now
    if isBroken { disconnect() }
    runBacklog()
  }

  /// Redis ends, and with it what waited for it.
  func noteEndOfRedis() {
    backlog = []
    if isCut { isBroken = true } else { disconnect() }
  }

  /// What waited in buffers is done now, also what nobody waits for any more.
  func runBacklog() {
    guard !isBlocked else { return }
    let waiting = backlog
    backlog = []
    for step in waiting { step() }
    hear()
  }

  // MARK: - Traffic

  private func planPump() {
    simulator.plan(after: .zero) { [weak self] in self?.pump() }
  }

  private func pump() {
    let sender = connection
    while let command = store?.pollCommand() {
      simulator.plan(after: delay) { [weak self] in self?.execute(command, of: sender) }
    }
  }

  private func execute(_ command: SharedCommand, of sender: Int) {
    guard cluster.isRedisRunning else { return }
    guard !isBlocked else {
      return backlog.append { [weak self] in self?.execute(command, of: sender) }
    }
    let reply = cluster.run(command)
    simulator.plan(after: delay) { [weak self] in
      guard let self, sender == connection else { return }
      guard !isBlocked else {
        return backlog.append { [weak self] in self?.receive(reply, command.number, of: sender) }
      }
      receive(reply, command.number, of: sender)
    }
  }

  private func receive(_ reply: SharedReply, _ number: UInt64, of sender: Int) {
    guard sender == connection, isRunning else { return }
    store?.handle(reply, to: number)
    serve()
  }

  /// The machine takes what the store has.
  private func serve() {
    rendezvous.host.command(now: cluster.world.now) { machine, now in
      machine.handleStore(now: now)
    }
    planPump()
  }

  /// Something was said at a channel.
  func noteNews() {
    simulator.plan(after: delay) { [weak self] in self?.hear() }
  }

  private func hear() {
    guard isListening, isRunning, !isBlocked else { return }
    for post in takePosts() {
      guard let word = store?.open(post) else { continue }
      rendezvous.host.command(now: cluster.world.now) { machine, now in
        machine.handle(word, now: now)
      }
    }
    serve()
  }

  private func takePosts() -> [[UInt8]] {
    guard let store else { return [] }
    return store.channels.flatMap { cluster.redis.takePosts(of: $0, by: rendezvous.id.bytes) }
  }

  private func skipPosts() { _ = takePosts() }
}
