import Primitives

/// What is broken in a world of several nodes, and when it is mended.
struct ClusterFaults {
  private let cluster: SimulatedCluster
  private let world: CallWorld

  init(_ cluster: SimulatedCluster) {
    self.cluster = cluster
    world = cluster.world
  }

  /// The end of the last one.
  func planAll(from start: Instant, to end: Instant) -> Instant {
    var last = start
    for _ in 0..<(1 + world.random.below(5)) {
      let from = start + world.random.duration(.zero...end - start)
      last = max(last, plan(at: from))
    }
    return last
  }

  private func plan(at from: Instant) -> Instant {
    switch world.random.below(6) {
    case 0: planCut(from)
    case 1: planDeafness(from)
    case 2: planNodeCrash(from)
    case 3: planPause(from)
    case 4: planRedisCrash(from)
    default: planLoss(from)
    }
  }

  private var someNode: ClusterNode {
    cluster.nodes[Int(world.random.below(UInt64(cluster.nodes.count)))]
  }

  private func plan(
    _ what: String, _ from: Instant, _ to: Instant, begin: @escaping () -> Void,
    end: @escaping () -> Void
  ) -> Instant {
    // Clients of a node that dies learn of it from their next PING.
    world.noteDisturbance(from: from, to: to + .seconds(5))
    let world = world
    world.simulator.plan(at: from) {
      world.log.note(at: world.now, "fault: \(what)")
      world.noteAct()
      begin()
    }
    world.simulator.plan(at: to) {
      world.log.note(at: world.now, "healed: \(what)")
      world.noteAct()
      end()
    }
    return to
  }

  /// Nothing passes; the node notices within 2 s.
  private func planCut(_ from: Instant) -> Instant {
    let (node, isLong) = (someNode, world.random.happens(0.5))
    let most = Duration.seconds(isLong ? 60 : 3)
    let to = from + world.random.duration(.milliseconds(100)...most)
    world.simulator.plan(at: from + .seconds(2)) { if node.isCut { node.disconnect() } }
    return plan("node \(node.index) is cut off", from, to) {
      node.cut()
    } end: {
      node.heal()
    }
  }

  /// The connection that hears is gone alone; that is known at once, or when it is silent for 5 s.
  private func planDeafness(_ from: Instant) -> Instant {
    let node = someNode
    let to = from + world.random.duration(.milliseconds(100) ... .seconds(20))
    return plan("node \(node.index) is deaf", from, to) {
      node.endListening()
    } end: {
      node.listenAgain()
    }
  }

  private func planNodeCrash(_ from: Instant) -> Instant {
    let node = someNode
    let to = from + world.random.duration(.milliseconds(500) ... .seconds(20))
    return plan("node \(node.index) crashes", from, to) {
      node.crash()
    } end: {
      node.start()
    }
  }

  /// Nodes give up after 2 s; what they had sent is done when Redis goes on.
  private func planPause(_ from: Instant) -> Instant {
    let cluster = cluster
    let to = from + world.random.duration(.milliseconds(100) ... .seconds(10))
    world.simulator.plan(at: from + .seconds(2)) {
      guard !cluster.isRedisAnswering else { return }
      for node in cluster.nodes { node.disconnect() }
    }
    return plan("Redis pauses", from, to) {
      cluster.pauseRedis()
    } end: {
      cluster.resumeRedis()
    }
  }

  private func planRedisCrash(_ from: Instant) -> Instant {
    let (cluster, to) = (cluster, from + world.random.duration(.milliseconds(100) ... .seconds(8)))
    let all = SimulatedCluster.Memory.allCases
    let memory = all[Int(world.random.below(UInt64(all.count)))]
    return plan("Redis crashes, then has \(memory)", from, to) {
      cluster.killRedis()
    } end: {
      cluster.startRedis(memory)
    }
  }

  private func planLoss(_ from: Instant) -> Instant {
    let cluster = cluster
    return plan("Redis is emptied", from, from + .seconds(7)) {
      cluster.emptyRedis()
    } end: {
    }
  }
}
