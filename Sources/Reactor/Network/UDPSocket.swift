internal import CLinux
package import Primitives

/// A non-blocking UDP socket that moves datagrams in batches, with the memory it needs for that.
///
/// Bytes come in through `receive` and `message(_:)`, and go out through `room`, `commit` and
/// `flush`. Nothing here throws after the socket is open: UDP may lose datagrams anywhere, so what
/// the kernel refuses is counted in `statistics` and dropped.
///
/// Station 12 of the house tour; next is `Demultiplexer`.
@safe package struct UDPSocket: ~Copyable {
  package struct Options: Sendable {
    /// Send runs of equal datagrams in one call (`UDP_SEGMENT`).
    package var segments = true
    /// Let the kernel merge bursts of equal datagrams (`UDP_GRO`).
    package var merges = true
    /// How many messages one `receive` may fetch; at most 64.
    package var slotCount = 16
    /// The kernel's buffers, each way: about a second of the fastest call.
    package var kernelBufferByteCount = 1 << 20
    /// Where the socket is bound to every address: which datagrams say where they came to.
    package var localAddresses = LocalAddressReporting.always

    package init() {}
  }

  /// Where the socket is bound; the port the system chose when 0 was asked for.
  package let localAddress: SocketAddress
  package internal(set) var statistics = UDPStatistics()

  private(set) var descriptor: FileDescriptor
  let isV6: Bool
  var queue: SendQueue
  var locals: LocalAddresses
  private let slots: ReceiveSlots
  /// How many messages to ask for: a quarter more than there were, four times as many when the
  /// batch was full. Asking for one more than there is costs a look into an empty queue, a tenth of
  /// an echo's round trip; at call rates there is one.
  private var askFor: UInt32 = 1
  private var clock = ArrivalClock(now: .zero, wall: 0)

  /// Opens and binds. `[::]` takes IPv4 as well; IPv4 peers then appear with IPv4 addresses. On a
  /// host without IPv6 it is `0.0.0.0`.
  package init(binding address: SocketAddress, _ options: Options = Options()) throws(ReactorError)
  {
    let (number, address) = try Self.open(
      address, bufferByteCount: Int32(clamping: options.kernelBufferByteCount))
    var local = address.forKernel
    let descriptor = FileDescriptor(owning: number)
    _ = try unsafe earshot_local_address(number, &local)
      .orThrow("read the address of", address.description)
    let merges = options.merges && earshot_udp_set_gro(number, 1) == 0
    let slots = try ReceiveSlots(count: options.slotCount, holdMergedDatagrams: merges)
    let isV6 = address.family == .v6
    let locals = LocalAddresses(
      reporting: Self.reporting(
        address.isUnspecified ? options.localAddresses : .never, number, isV6: isV6))
    // Nothing below may name `self` in a closure, the right side of && included: Swift 6.3 would
    // then, with optimisation, let go of what is not yet there.
    self.slots = slots
    self.descriptor = descriptor
    localAddress = SocketAddress(local) ?? address
    self.isV6 = isV6
    self.locals = locals
    queue = SendQueue(segments: options.segments)
  }

  /// Asks the kernel to report destinations; `.never` if it does not. A socket that is bound to one
  /// address answers from there.
  private static func reporting(
    _ wanted: LocalAddressReporting, _ number: Int32, isV6: Bool
  ) -> LocalAddressReporting {
    guard wanted != .never, earshot_udp_report_destinations(number, isV6 ? 1 : 0) == 0 else {
      return .never
    }
    return wanted
  }

  /// The socket's number, and what it is bound to.
  private static func open(
    _ address: SocketAddress, bufferByteCount: Int32
  ) throws(ReactorError) -> (number: Int32, address: SocketAddress) {
    var local = address.forKernel
    let number = unsafe earshot_udp_open(&local, bufferByteCount)
    if address.family == .v6, address.isUnspecified, ReactorError.isLackOfFamily(-number) {
      return try open(
        SocketAddress(v4: 0, 0, 0, 0, port: address.port), bufferByteCount: bufferByteCount)
    }
    return (try number.orThrow("bind UDP", address.description), address)
  }

  /// The own address under the number that a datagram's marks held, with the socket's port.
  package borrowing func address(_ local: LocalAddressID) -> SocketAddress? {
    var address = locals.address(local)
    address?.port = localAddress.port
    return address
  }

  /// The number of an own address, by which datagrams are sent from it, through its interface.
  package mutating func number(of address: InterfaceAddress) -> LocalAddressID {
    locals.number(of: address.address, interface: address.interface)
  }

  /// Lets the address go. What is sent from now on is refused, and counted as that.
  package mutating func close() { descriptor = FileDescriptor(owning: -1) }

  /// How many messages a full batch has.
  package var slotCount: Int { slots.count }

  /// For `EventLoop.watch`; the socket still owns it.
  package var fileNumber: Int32 { descriptor.number }

  /// Everything sent from now on is ECT(0), so that a queue may mark it instead of dropping it
  /// (RFC 3168 §5); a kernel that does not let us leaves it not ECN-capable.
  ///
  /// - Parameter dscp: Of the same octet, 0...63 (RFC 2474).
  package borrowing func sendECNCapable(dscp: UInt8 = 0) {
    do throws(ReactorError) {
      try setECN(2, dscp: dscp)
    } catch {
      // Then queues drop, as ever.
    }
  }

  /// The ECN bits of everything sent from now on (RFC 3168 §5), and its DSCP; 0, not-ECT, at first.
  package borrowing func setECN(_ bits: UInt8, dscp: UInt8 = 0) throws(ReactorError) {
    let octet = Int32(dscp & 63) << 2 | Int32(bits & 3)
    _ = try earshot_udp_set_traffic_class(descriptor.number, isV6 ? 1 : 0, octet)
      .orThrow("set ECN of", localAddress.description)
  }

  /// Packets that came and found the kernel's buffer full, since the socket is open.
  package borrowing func overflowCount() -> Int {
    Int(earshot_udp_overflow_count(descriptor.number))
  }
}

// MARK: - Receiving

/// The memory that the kernel receives into.
@safe struct ReceiveSlots: ~Copyable {
  let count: Int
  let byteCount: Int
  let receiver: OpaquePointer
  let bytes: UnsafeMutablePointer<UInt8>
  let results: UnsafePointer<earshot_received>

  init(count: Int, holdMergedDatagrams isMerging: Bool) throws(ReactorError) {
    let count = min(max(count, 1), Int(earshot_batch_limit))
    // Without merging every message is one datagram; one of more than 4 KiB is not ours, and is
    // counted and dropped as truncated.
    let byteCount = isMerging ? 1 << 16 : 1 << 12
    guard let receiver = unsafe earshot_receiver_create(UInt32(count), UInt32(byteCount)),
      let bytes = unsafe earshot_receiver_slots(receiver),
      let results = unsafe earshot_receiver_results(receiver)
    else { throw ReactorError("allocate", "receive buffers", errno: ReactorError.noMemory) }
    self.count = count
    self.byteCount = byteCount
    unsafe self.receiver = receiver
    unsafe self.bytes = bytes
    unsafe self.results = results
  }

  deinit { unsafe earshot_receiver_destroy(receiver) }
}

/// One message in a receive slot: a datagram, or several that the kernel merged, end to end.
@unsafe package struct ReceivedMessage {
  package let bytes: UnsafeMutablePointer<UInt8>
  package let byteCount: Int
  /// The size of each datagram but perhaps the last.
  package let segmentByteCount: Int
  package let source: SocketAddress
  package let marks: DatagramMarks
  /// When the kernel took it, not when this program came round to it.
  package let arrival: Instant
}

extension UDPSocket {
  /// Fetches some of what is waiting, overwriting what was fetched before; gives the number of
  /// messages. `slotCount` of them mean that there are probably more.
  package mutating func receive() -> Int {
    let count = unsafe earshot_receive(slots.receiver, descriptor.number, askFor)
    guard count > 0 else {
      askFor = 1
      if count != -ReactorError.wouldBlock, count != 0 { statistics.countReceiveError(-count) }
      return 0
    }
    let isFull = count == askFor
    askFor = UInt32(
      clamping: min(slots.count, max(1, Int(count) &* (isFull ? 4 : 5) / (isFull ? 1 : 4))))
    clock = ArrivalClock()
    return Int(count)
  }

  /// The message in slot `index` of the last batch; `nil` for what cannot be a datagram of ours.
  package mutating func message(_ index: Int) -> ReceivedMessage? {
    let result = unsafe slots.results[index]
    guard result.is_truncated == 0, result.byte_count > 0, let source = SocketAddress(result.source)
    else {
      statistics.ignoredDatagrams &+= 1
      return nil
    }
    let byteCount = Int(result.byte_count)
    let segment = Int(result.segment_byte_count)
    statistics.receivedMessages &+= 1
    statistics.receivedDatagrams &+= UInt64(
      byteCount <= segment ? 1 : (byteCount &+ segment &- 1) / segment)
    statistics.receivedBytes &+= UInt64(byteCount)
    if result.arrival_ns != 0 { statistics.stampedMessages &+= 1 }
    return unsafe ReceivedMessage(
      bytes: slots.bytes + index * slots.byteCount, byteCount: byteCount, segmentByteCount: segment,
      source: source,
      marks: DatagramMarks(
        ecn: result.ecn,
        local: locals.number(
          of: result.local, interface: result.interface, from: source, now: clock.now)),
      arrival: clock.instant(ofStamp: result.arrival_ns))
  }
}
