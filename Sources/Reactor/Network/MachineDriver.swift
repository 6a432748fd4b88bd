package import Primitives

/// Runs one protocol machine on a loop and a socket: datagrams in, datagrams out, timer, events.
///
/// Station 11 and 12 of the house tour. For a batch of datagrams it calls the machine once for
/// each, with the moment the kernel took the datagram as `now`, because on a busy core the loop may
/// come round a millisecond later, and a congestion controller would read that as queueing. `now`
/// never goes back: a datagram stamped before the machine's last input gets that input's `now`.
/// Then `drain` takes everything that the machine has to say, one flush sends it, and the timer is
/// set.
///
/// Belongs to the loop's thread. Not specialised for the machine (bodies of `package` generics stay
/// in their module): that costs one indirect call for a datagram that comes, some nanoseconds
/// beside the kernel's hundreds, because batches are passed to static functions whole.
package final class MachineDriver<Machine: DatagramMachine & ~Copyable> {
  private var machine: Machine
  private var outlet: SocketOutlet
  private let loop: EventLoop
  private var publish: ((Machine.Event) -> Void)?
  /// Sends what leaves by a stream instead of the socket (`LocalAddressID.isStream`). Must not call
  /// the driver.
  package var sendByStream: (([UInt8], LocalAddressID) -> Void)? {
    get { outlet.sendByStream }
    set { outlet.sendByStream = newValue }
  }
  /// Sends what leaves from another port than the socket's (`LocalAddressID.isAtOtherPort`), from
  /// the own address, if one is named. Must not call the driver.
  package var sendFromOtherPort: (([UInt8], SocketAddress, SocketAddress?) -> Void)? {
    get { outlet.sendFromOtherPort }
    set { outlet.sendFromOtherPort = newValue }
  }
  private var source: EventLoop.Token?
  private var timer: EventLoop.Token?
  /// The `now` of the machine's last input.
  private var lastInput = Instant.zero
  private var isSettling = false
  private var mustSettleAgain = false
  /// What happened and is not published yet.
  private var events: [Machine.Event] = []

  package init(
    _ machine: consuming Machine, socket: consuming UDPSocket, on loop: EventLoop
  ) {
    self.machine = machine
    outlet = SocketOutlet(socket)
    self.loop = loop
  }

  /// Begins: reads the socket, serves the timer, and hands every event to `publish`, on the loop.
  /// `publish` may call `withMachine`; what that brings about follows after the events at hand.
  package func start(
    publish: @escaping (Machine.Event) -> Void
  ) throws(ReactorError) {
    precondition(source == nil, "a driver starts once")
    let timer = try loop.addTimer { [self] now in
      advance(to: now)
      machine.handleTimeout(now: lastInput)
      settle()
    }
    do throws(ReactorError) {
      source = try loop.watch(outlet.socket.fileNumber, for: .readable) { [self] _ in
        Self.receive(&machine, &outlet.socket, &lastInput)
        settle()
      }
    } catch {
      loop.removeTimer(timer)
      throw error
    }
    self.timer = timer
    self.publish = publish
    settle()
  }

  /// Stops reading and timing, and closes the socket. The machine stays until the driver goes.
  package func stop() {
    if let source { loop.unwatch(source) }
    if let timer { loop.removeTimer(timer) }
    source = nil
    timer = nil
    publish = nil
    sendByStream = nil
    sendFromOtherPort = nil
    outlet.socket.close()
  }

  /// Gives the machine a command, then sends and publishes what comes of it. Do not call the
  /// driver from within `body`.
  package func withMachine<Result: ~Copyable, Failure: Error>(
    _ body: (inout Machine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    advance(to: SystemClock.now)
    defer { settle() }
    return try body(&machine, lastInput)
  }

  /// Reads the machine without any effect.
  package func readMachine<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Machine) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(machine)
  }

  package var localAddress: SocketAddress { outlet.socket.localAddress }
  /// The own address under a number of the socket's; `nil` for one that the system chooses.
  package func address(_ local: LocalAddressID) -> SocketAddress? { outlet.socket.address(local) }
  /// The number of an own address, by which datagrams are sent from it.
  package func number(of address: InterfaceAddress) -> LocalAddressID {
    outlet.socket.number(of: address)
  }
  package var statistics: UDPStatistics { outlet.socket.statistics }
  /// Packets that came and found the kernel's buffer full.
  package var overflowCount: Int { outlet.socket.overflowCount() }

  package func setECN(_ bits: UInt8) throws(ReactorError) { try outlet.socket.setECN(bits) }
}

extension MachineDriver where Machine: ~Copyable {
  private func advance(to now: Instant) { if now > lastInput { lastInput = now } }

  /// Takes at most two batches a turn, so that a flood cannot keep timers and jobs waiting. One
  /// access to the machine and to the socket for all of it: each would cost 20 ns a datagram.
  private static func receive(
    _ machine: inout Machine, _ socket: inout UDPSocket, _ lastInput: inout Instant
  ) {
    for _ in 0..<2 {
      let count = socket.receive()
      for index in 0..<count {
        guard let message = unsafe socket.message(index) else { continue }
        let arrival = unsafe message.arrival
        if arrival > lastInput { lastInput = arrival }
        unsafe deliver(message, to: &machine, now: lastInput)
      }
      if count < socket.slotCount { return }
    }
  }

  private static func deliver(
    _ message: ReceivedMessage, to machine: inout Machine, now: Instant
  ) {
    var start = 0
    while unsafe start < message.byteCount {
      let count = unsafe min(message.segmentByteCount, message.byteCount - start)
      var bytes = unsafe MutableSpan(_unsafeStart: message.bytes + start, count: count)
      unsafe machine.handle(&bytes, from: message.source, marks: message.marks, now: now)
      start += count
    }
  }

  /// Drains the machine, publishes what happened, and sets the timer. Events may lead to commands,
  /// which lead to more of the same; that is a loop here, not a recursion.
  private func settle() {
    if isSettling {
      mustSettleAgain = true
      return
    }
    isSettling = true
    var isDone = true
    repeat {
      mustSettleAgain = false
      advance(to: SystemClock.now)
      isDone = drain(
        &machine, into: &outlet, events: &events, budget: Self.mostDatagrams, now: lastInput)
      publishEvents()
    } while mustSettleAgain
    isSettling = false
    guard let timer else { return }
    loop.setDeadline(timer, isDone ? machine.nextDeadline : lastInput)
  }

  /// No drain adds to them meanwhile: what a command brings about waits for the next one.
  private func publishEvents() {
    // A turn without events costs nothing more: this code is not specialised for their type.
    if events.isEmpty { return }
    var index = 0
    while index < events.count {
      publish?(events[index])
      index += 1
    }
    events.removeAll(keepingCapacity: true)
  }

  /// Datagrams of one turn of the loop.
  private static var mostDatagrams: Int { 1024 }
}
