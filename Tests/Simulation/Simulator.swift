package import Primitives

/// A network, the processes on it, and what is planned: runs them in order of time.
///
/// At one instant: first arrivals in the order of sending, then processes in the order in which
/// they were added, then plans in the order in which they were made.
package final class Simulator {
  package let network: SimulatedNetwork
  package let log: RunLog
  package private(set) var now = Instant.zero
  /// Set when a machine asks again and again to be woken without time passing.
  package private(set) var livelock: String?

  private var processes: [any SimulatedProcess] = []
  private var plans = EventQueue<() -> Void>()
  private var buffer: [UInt8] = []
  private var wakesAtOneInstant = 0

  /// More wakes of all processes at one instant than this are a fault in a machine.
  private static let mostWakesAtOneInstant = 10_000

  package init(seed: UInt64, log: RunLog) {
    var random = RandomSource(seed: seed)
    network = SimulatedNetwork(random: random.split(), log: log)
    self.log = log
  }

  package func add(_ process: any SimulatedProcess) { processes.append(process) }

  package func plan(at time: Instant, _ action: @escaping () -> Void) {
    plans.push(action, at: max(now, time))
  }

  package func plan(after delay: Duration, _ action: @escaping () -> Void) {
    plan(at: now + delay, action)
  }

  /// Runs up to and including `end`.
  package func run(until end: Instant) {
    while livelock == nil, let time = nextTime, time <= end { step(to: time) }
    now = max(now, end)
  }

  package func run(_ duration: Duration) { run(until: now + duration) }

  /// Runs until `condition` holds; whether it did before `end`.
  package func run(until end: Instant, untilTrue condition: () -> Bool) -> Bool {
    while !condition() {
      guard livelock == nil, let time = nextTime, time <= end else {
        now = max(now, end)
        return condition()
      }
      step(to: time)
    }
    return true
  }

  private var nextTime: Instant? {
    var time = earliest(network.nextTime, plans.nextTime)
    for process in processes { time = earliest(time, process.nextWake) }
    return time
  }

  private func step(to time: Instant) {
    if time > now { wakesAtOneInstant = 0 }
    now = max(now, time)
    while let arrival = network.popArrival(at: now, into: &buffer) {
      for process in processes where process.host == arrival.host {
        process.receive(&buffer, from: arrival.source, marks: arrival.marks, now: now)
      }
    }
    for process in processes {
      guard let wake = process.nextWake, wake <= now else { continue }
      wakesAtOneInstant += 1
      if wakesAtOneInstant > Self.mostWakesAtOneInstant {
        livelock = "host \(process.host.index) never sleeps at \(now.nanoseconds) ns"
        return
      }
      process.wake(now: now)
    }
    while let plan = plans.pop(at: now) { plan() }
  }
}
