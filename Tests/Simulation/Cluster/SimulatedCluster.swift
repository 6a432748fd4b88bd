import Cryptography
import Primitives
import Rendezvous

/// Nodes of one service, and the Redis that they share, which is slow, dead or forgetful at times.
final class SimulatedCluster {
  let world: CallWorld
  let redis = RedisModel()
  private(set) var nodes: [ClusterNode] = []
  private(set) var isRedisRunning = true
  private var isPaused = false
  /// Copies of what Redis had, one each half second, the newest last.
  private var copies: [RedisModel.State] = []

  var isRedisAnswering: Bool { isRedisRunning && !isPaused }

  init(_ world: CallWorld, nodeCount: Int) {
    self.world = world
    for index in 0..<nodeCount {
      let rendezvous = index == 0 ? world.rendezvous : world.addRendezvous()
      Self.share(rendezvous)
      let delay = Duration.microseconds(100 + Int64(world.random.below(1_900)))
      let node = ClusterNode(index, rendezvous, in: self, delay: delay)
      nodes.append(node)
      if index > 0 { node.start() } else { node.attach() }
    }
    keepCopies()
  }

  static func share(_ rendezvous: SimulatedRendezvous) {
    rendezvous.makeShared = { id, random in SharedStore(SecretKey(), node: id, random: random) }
  }

  func run(_ command: SharedCommand) -> SharedReply {
    redis.milliseconds = UInt64(world.wallClock)
    let reply = redis.run(command)
    // Scripts that take a name from somebody say so themselves.
    let says: [SharedScript] = [.send, .bind, .free]
    if says.contains(command.script) { for node in nodes { node.noteNews() } }
    return reply
  }

  private func keepCopies() {
    if isRedisRunning {
      copies.append(redis.state)
      if copies.count > 4 { copies.removeFirst() }
    }
    world.simulator.plan(after: .milliseconds(500)) { [weak self] in self?.keepCopies() }
  }

  // MARK: - Faults

  /// What Redis has when it is there again.
  enum Memory: CaseIterable {
    /// All, as with `appendfsync always`.
    case whole
    /// All but the last second or two, as a copy that takes over may.
    case older
    case empty
  }

  func killRedis() {
    isRedisRunning = false
    isPaused = false
    for node in nodes { node.noteEndOfRedis() }
  }

  /// One that runs already gives way to it, as where a copy takes over: its connections end.
  func startRedis(_ memory: Memory) {
    if isRedisRunning { killRedis() }
    switch memory {
    case .whole: redis.restart(redis.state)
    case .older: redis.restart(copies.first)
    case .empty: redis.restart(nil)
    }
    if memory != .whole { for node in nodes { node.noteLoss() } }
    copies = []
    isRedisRunning = true
  }

  func emptyRedis() {
    redis.loseAll()
    for node in nodes { node.noteLoss() }
  }

  func pauseRedis() { isPaused = true }

  func resumeRedis() {
    isPaused = false
    for node in nodes { node.runBacklog() }
  }
}
