package import Primitives

/// What the world runs: a machine on a host, whatever its type.
package protocol SimulatedProcess: AnyObject {
  var host: SimulatedNetwork.HostID { get }
  /// In the world's time; `nil` when only a datagram can wake the process, or it does not run.
  var nextWake: Instant? { get }
  func receive(
    _ packet: inout [UInt8], from source: SocketAddress, marks: DatagramMarks, now: Instant)
  func wake(now: Instant)
}

/// A host that runs one machine, as the epoll loop would: input, drain, sleep until the deadline.
package final class SimulatedHost<Machine: DatagramMachine & ~Copyable>: SimulatedProcess {
  package let host: SimulatedNetwork.HostID
  package let clock: SimulatedClock
  /// Called for every event, at the world's time. It may give commands to the machine.
  package var observe: ((Machine.Event, Instant) -> Void)?
  package private(set) var nextWake: Instant?

  private let network: SimulatedNetwork
  private var outlet: NetworkOutlet
  private var machine: Machine?
  private var events: [Machine.Event] = []
  private var isFlushing = false
  private var isDirty = false

  package init(
    _ host: SimulatedNetwork.HostID, on network: SimulatedNetwork, clock: SimulatedClock
  ) {
    self.host = host
    self.network = network
    self.clock = clock
    outlet = NetworkOutlet(network, host)
  }

  package var isRunning: Bool { machine != nil }

  /// Starts the process with a machine made for the host's own time.
  package func start(_ machine: consuming Machine, now: Instant) {
    self.machine = consume machine
    network.log.note(at: now, "host \(host.index) starts")
    flush(now)
  }

  /// The process is gone, with all its memory, and says goodbye to nobody.
  package func crash(now: Instant) {
    network.log.note(at: now, "host \(host.index) crashes")
    machine = nil
    nextWake = nil
  }

  /// Hands the machine to `body` with the host's own time; `nil` when the process does not run.
  package func command<Result, Failure: Error>(
    now: Instant, _ body: (inout Machine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard machine != nil else { return nil }
    defer { flush(now) }
    return try body(&machine!, clock.local(now))
  }

  package func receive(
    _ packet: inout [UInt8], from source: SocketAddress, marks: DatagramMarks, now: Instant
  ) {
    guard machine != nil else { return }
    var bytes = packet.mutableSpan
    machine!.handle(&bytes, from: source, marks: marks, now: clock.local(now))
    flush(now)
  }

  package func wake(now: Instant) {
    guard machine != nil else { return }
    machine!.handleTimeout(now: clock.local(now))
    flush(now)
  }

  /// Drains; an observer's commands are drained in turn.
  private func flush(_ now: Instant) {
    isDirty = true
    guard !isFlushing else { return }
    isFlushing = true
    while isDirty, machine != nil {
      isDirty = false
      outlet.now = now
      _ = drain(&machine!, into: &outlet, events: &events, now: clock.local(now))
      while !events.isEmpty {
        let batch = events
        events.removeAll(keepingCapacity: true)
        for event in batch { observe?(event, now) }
      }
    }
    isFlushing = false
    nextWake = nil
    guard let deadline = Self.deadline(of: machine) else { return }
    nextWake = max(now, clock.world(deadline))
  }

  private static func deadline(of machine: borrowing Machine?) -> Instant? {
    switch machine {
    case .some(let running): running.nextDeadline
    case .none: nil
    }
  }
}

/// Where the datagrams of a simulated host go.
private struct NetworkOutlet: DatagramOutlet {
  /// The world's time.
  var now = Instant.zero
  private let network: SimulatedNetwork
  private let host: SimulatedNetwork.HostID
  private var packet: [UInt8] = []

  init(_ network: SimulatedNetwork, _ host: SimulatedNetwork.HostID) {
    self.network = network
    self.host = host
    packet.reserveCapacity(Datagram.maximumByteCount)
  }

  mutating func send(
    _ byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> DatagramPath?
  ) -> Bool {
    packet.removeAll(keepingCapacity: true)
    var path: DatagramPath?
    packet.append(addingCapacity: byteCount) { path = write(&$0) }
    guard let path else { return false }
    network.send(packet.span, from: host, to: path, now: now)
    return true
  }

  func flush() {}
}

/// A failing expectation shows what it compared, by reflection, which cannot look at a machine: it
/// is not copyable.
extension SimulatedHost: CustomReflectable where Machine: ~Copyable {
  package var customMirror: Mirror { Mirror(self, children: ["host": host.index]) }
}
