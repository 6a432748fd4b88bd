import Calling
import Peer
import Primitives
import Simulation
import Wire

/// Calls on one line, a seed each: how long each stage of setting up took.
struct SetUpTrial {
  /// What one message, or one exchange, takes; in the order in which they happen.
  enum Stage: String, CaseIterable {
    /// From `call()` to INVITE: the card of the callee.
    case lookUp = "look-up"
    /// From INVITE until it rings.
    case invite
    /// From there until the caller knows.
    case ringing
    /// From there, at both ends, until a challenge is answered.
    case callerPath = "caller's path"
    case calleePath = "callee's path"
    /// From the answer until the caller knows.
    case accept
    /// From there until the callee hears the caller.
    case confirm
    /// From there until the caller hears the callee.
    case sound = "sound back"
  }

  struct Call {
    let seed: UInt64
    var stages: [Stage: Int64] = [:]
    /// From `call()` to "connected", without the second that the person takes.
    var connected: Int64 = .max
    /// From the answer to the first sound, at the caller and at the callee.
    var firstSound: [Int64] = []
    /// Both knew a path when the callee answered.
    var hadPath = false
    /// How far it came, for one that failed.
    var failure: String?
  }

  let line: SetUpLine
  private(set) var calls: [Call] = []

  init(_ line: SetUpLine, seeds: Range<UInt64>) {
    self.line = line
    for seed in seeds { calls.append(Self.call(line, seed)) }
  }

  // MARK: - What was found

  var failures: [String] { calls.compactMap(\.failure) }

  /// Of those that came to be.
  private var connectedCalls: [Call] { calls.filter { $0.failure == nil } }

  var connected: [Int64] { connectedCalls.map(\.connected).sorted() }

  /// - Parameter end: 0 = at the caller, 1 = at the callee.
  func firstSound(at end: Int) -> [Int64] { connectedCalls.map { $0.firstSound[end] }.sorted() }

  static func share(_ sorted: [Int64], _ percent: Int) -> Int64 {
    sorted.isEmpty ? .max : sorted[min(sorted.count - 1, sorted.count * percent / 100)]
  }

  private static func spread(_ sorted: [Int64]) -> String {
    "\(share(sorted, 50)), \(share(sorted, 95)), \(sorted.last ?? 0)"
  }

  /// Median, 95 % and most of all figures, in ms.
  var figure: String {
    "set-up: \(line.testDescription): \(connected.count) of \(calls.count) connect, within "
      + "\(Self.spread(connected)) ms; sound after \(Self.spread(firstSound(at: 1))) at the callee, "
      + "\(Self.spread(firstSound(at: 0))) at the caller; "
      + "\(connectedCalls.count { !$0.hadPath }) without a path at the answer"
  }

  /// Of each stage the median and 95 % of all calls, how many took half a round trip and 30 ms more
  /// than the median, and the mean of the slowest twentieth of the calls.
  var stages: [String] {
    let slow = connectedCalls.sorted { $0.connected > $1.connected }
      .prefix(max(1, connectedCalls.count / 20))
    return Stage.allCases.map { stage in
      let all = connectedCalls.compactMap { $0.stages[stage] }.sorted()
      let late = all.count { $0 > Self.share(all, 50) + line.roundTrip / 2 + 30 }
      let mean = slow.compactMap { $0.stages[stage] }.reduce(0, +) / Int64(max(1, slow.count))
      return "set-up: \(line.testDescription): \(stage.rawValue): \(Self.spread(all)) ms, late in "
        + "\(late) of \(all.count), \(mean) ms in the slowest twentieth"
    }
  }

  // MARK: - One call

  private static func call(_ line: SetUpLine, _ seed: UInt64) -> Call {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(line.roundTrip))
    line.spoil(pair)
    pair.bob.habits.answer = .accept(after: .seconds(1))
    var found = Call(seed: seed)
    guard let id = pair.alice.call(.id(pair.bob.id)),
      pair.world.run(atMost: .seconds(30), until: { hasEnded(id, pair) }), pair.isConnected(id)
    else {
      found.failure = failure(of: pair, seed)
      return found
    }
    measure(id, pair, &found)
    return found
  }

  private static func hasEnded(_ call: CallID, _ pair: TwoPeers) -> Bool {
    pair.isConnected(call) || pair.outcome(of: call, at: pair.alice) != nil
  }

  private static func failure(of pair: TwoPeers, _ seed: UInt64) -> String {
    let sides = pair.world.testimony.sides.map { side in
      let steps = side.steps.map(\.step.rawValue).joined(separator: ", ")
      return (side.isCaller ? "caller: " : "callee: ") + steps
    }
    return "seed \(seed): " + sides.joined(separator: "; ")
  }

  private static func measure(_ id: CallID, _ pair: TwoPeers, _ found: inout Call) {
    func at(_ step: Testimony.Step, _ peer: SimulatedPeer) -> Instant? {
      pair.time(step, of: id, at: peer)
    }
    let (alice, bob) = (pair.alice, pair.bob)
    func add(_ stage: Stage, _ from: Instant?, _ to: Instant?) {
      guard let from, let to else { return }
      found.stages[stage] = max(0, (to - from).milliseconds)
    }
    add(.lookUp, at(.invited, alice), at(.sent, alice))
    add(.invite, at(.sent, alice), at(.incoming, bob))
    add(.ringing, at(.incoming, bob), at(.delivered, alice))
    add(.callerPath, at(.delivered, alice), at(.pathReady, alice))
    add(.calleePath, at(.delivered, alice), at(.pathReady, bob))
    add(.accept, at(.accepted, bob), at(.accepted, alice))
    add(.confirm, at(.accepted, alice), at(.firstFrameReceived, bob))
    add(.sound, at(.firstFrameReceived, bob), at(.firstFrameReceived, alice))
    let accepted = at(.accepted, bob)
    found.firstSound = [alice, bob].map {
      TwoPeers.milliseconds(accepted, at(.firstFrameReceived, $0))
    }
    let times = [alice, bob].map { TwoPeers.milliseconds(at(.invited, alice), at(.connected, $0)) }
    found.connected = (times.max() ?? .max) - 1000
    found.hadPath = [alice, bob].allSatisfy { peer in
      guard let ready = at(.pathReady, peer), let accepted else { return false }
      return ready <= accepted
    }
  }
}
