package import Primitives

/// Runs one protocol machine on a loop and a socket: datagrams in, datagrams out, timer, events.
///
/// Station 11 and 12 of the house tour. For a batch of datagrams it calls the machine once for
/// each, with the moment the kernel took the datagram as `now`, because on a busy core the loop may
/// come round a millisecond later, and a congestion controller would read that as queueing. `now`
/// never goes back: a datagram stamped before the machine's last input gets that input's `now`.
/// Then everything the machine has to say goes out in one flush, and the timer is set.
///
/// Belongs to the loop's thread. Not specialised for the machine (bodies of `package` generics stay
/// in their module): that costs one indirect call a datagram, some nanoseconds beside the kernel's
/// hundreds, and it is the only one, because batches are passed to static functions whole.
package final class MachineDriver<Machine: DatagramMachine & ~Copyable> {
  private var machine: Machine
  private var socket: UDPSocket
  private let loop: EventLoop
  private var publish: ((Machine.Event) -> Void)?
  /// Sends what leaves by a stream instead of the socket (`LocalAddressID.isStream`). Must not call
  /// the driver.
  package var sendByStream: (([UInt8], LocalAddressID) -> Void)?
  /// Sends what leaves from another port than the socket's (`LocalAddressID.isAtOtherPort`), from
  /// the own address, if one is named. Must not call the driver.
  package var sendFromOtherPort: (([UInt8], SocketAddress, SocketAddress?) -> Void)?
  private var source: EventLoop.Token?
  private var timer: EventLoop.Token?
  /// The `now` of the machine's last input.
  private var lastInput = Instant.zero
  private var isSettling = false
  private var mustSettleAgain = false

  package init(
    _ machine: consuming Machine, socket: consuming UDPSocket, on loop: EventLoop
  ) {
    self.machine = machine
    self.socket = socket
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
      source = try loop.watch(socket.fileNumber, for: .readable) { [self] _ in
        Self.receive(&machine, &socket, &lastInput)
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

  /// Stops reading and timing. The machine and the open socket stay until the driver goes.
  package func stop() {
    if let source { loop.unwatch(source) }
    if let timer { loop.removeTimer(timer) }
    source = nil
    timer = nil
    publish = nil
    sendByStream = nil
    sendFromOtherPort = nil
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

  package var localAddress: SocketAddress { socket.localAddress }
  /// The own address under a number of the socket's; `nil` for one that the system chooses.
  package func address(_ local: LocalAddressID) -> SocketAddress? { socket.address(local) }
  /// The number of an own address, by which datagrams are sent from it.
  package func number(of address: InterfaceAddress) -> LocalAddressID { socket.number(of: address) }
  package var statistics: UDPStatistics { socket.statistics }

  package func setECN(_ bits: UInt8) throws(ReactorError) { try socket.setECN(bits) }
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

  /// Sends, publishes, and sets the timer. Events may lead to commands, which lead to more of the
  /// same; that is a loop here, not a recursion.
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
      isDone = Self.transmit(
        &machine, &socket, sendByStream, sendFromOtherPort, now: lastInput)
      while let event = machine.pollEvent() { publish?(event) }
    } while mustSettleAgain
    isSettling = false
    guard let timer else { return }
    loop.setDeadline(timer, isDone ? machine.nextDeadline : lastInput)
  }

  /// Writes the machine's datagrams end to end into the socket's memory and sends them all;
  /// `false` when there are more than one turn should send.
  private static func transmit(
    _ machine: inout Machine, _ socket: inout UDPSocket,
    _ sendByStream: (([UInt8], LocalAddressID) -> Void)?,
    _ sendFromOtherPort: (([UInt8], SocketAddress, SocketAddress?) -> Void)?, now: Instant
  ) -> Bool {
    var budget = 1024
    while budget > 0 {
      let room = unsafe socket.room(Machine.roomByteCount)
      var packet = unsafe OutputSpan(buffer: room, initializedCount: 0)
      let path = machine.pollTransmit(into: &packet, now: now)
      let count = unsafe packet.finalize(for: room)
      guard let path else { break }
      if path.local.isStream {
        sendByStream?(unsafe Array(room.prefix(count)), path.local)
      } else if path.local.isAtOtherPort {
        sendFromOtherPort?(
          unsafe Array(room.prefix(count)), path.remote, socket.address(path.local.atUsualPort))
      } else {
        socket.commit(count, on: path)
      }
      budget -= 1
    }
    socket.flush()
    return budget > 0
  }
}
