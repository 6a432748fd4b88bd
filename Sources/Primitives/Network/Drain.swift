/// Takes a machine's datagrams: the memory of a socket, or a simulated network.
package protocol DatagramOutlet: ~Copyable {
  /// Gives `write` room for one datagram, and sends what it writes on the path that it names.
  ///
  /// - Parameter byteCount: How much room, in bytes.
  /// - Returns: `false` if `write` had nothing to send.
  mutating func send(
    _ byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> DatagramPath?
  ) -> Bool

  /// The machine has no more datagrams for now.
  mutating func flush()
}

/// The only loop over a machine's outputs: the epoll driver and the simulator both call it.
///
/// Not specialised for machine and outlet (bodies of `package` generics stay in their module): two
/// indirect calls a datagram, some nanoseconds beside the kernel's hundreds. Nothing is allocated.
///
/// - Parameters:
///   - events: What happened is appended. The caller publishes it after the drain, because whoever
///     hears of it may give commands to the machine.
///   - budget: Datagrams at most.
/// - Returns: `false` when the budget is used up: the machine may have more to send.
///
/// Station 11 of the house tour; next is `MachineDriver`.
package func drain<Machine: DatagramMachine & ~Copyable, Outlet: DatagramOutlet & ~Copyable>(
  _ machine: inout Machine, into outlet: inout Outlet, events: inout [Machine.Event],
  budget: Int = .max, now: Instant
) -> Bool {
  var left = budget
  while left > 0,
    outlet.send(Machine.roomByteCount, { machine.pollTransmit(into: &$0, now: now) })
  {
    left -= 1
  }
  outlet.flush()
  while let event = machine.pollEvent() { events.append(event) }
  return left > 0
}

/// An outlet that keeps what a machine sends, for whoever carries it by hand.
package struct DatagramList: DatagramOutlet {
  package private(set) var datagrams: [(bytes: [UInt8], path: DatagramPath)] = []

  package init() {}

  package mutating func send(
    _ byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> DatagramPath?
  ) -> Bool {
    var path: DatagramPath?
    let bytes = [UInt8](capacity: byteCount) { path = write(&$0) }
    guard let path else { return false }
    datagrams.append((bytes, path))
    return true
  }

  package func flush() {}
}
