internal import CLinux
internal import Glibc
package import Primitives

/// Datagrams on their way out: laid end to end, so that equal ones form a run without being copied.
///
/// Station 11 of the house tour; next is the wire.
@safe struct SendQueue: ~Copyable {
  /// Whether equal datagrams to one destination become one message.
  var segments: Bool
  /// Refusals in a row; after `refusalLimit` the socket stops asking.
  var refusals = 0
  var byteCount = 0
  var messageCount = 0
  private(set) var arena: UnsafeMutablePointer<UInt8>
  private(set) var messages: UnsafeMutablePointer<earshot_outgoing>
  /// The last message, which may still grow.
  private var lastPath: DatagramPath?
  private var lastIsOpen = false
  private var lastSegmentCount = 0

  static let refusalLimit = 3
  /// The most that is queued before a flush: 54 runs would not gain over this.
  static let arenaByteCount = 1 << 18
  static let messageLimit = Int(earshot_batch_limit)
  /// `UDP_MAX_SEGMENTS` of kernels before 6.9.
  static let segmentLimit = 64
  /// The longest datagram with what a relay needs around it.
  static let roomByteCount = Datagram.maximumByteCount + Datagram.maximumRelayHeaderByteCount
  /// What a UDP length field holds, less the headers.
  static let runByteLimit = 65_000

  init(segments: Bool) {
    self.segments = segments
    unsafe arena = .allocate(capacity: Self.arenaByteCount)
    unsafe messages = .allocate(capacity: Self.messageLimit)
  }

  deinit {
    unsafe arena.deallocate()
    unsafe messages.deallocate()
  }

  var isFull: Bool {
    messageCount == Self.messageLimit
      || byteCount > Self.arenaByteCount - Self.roomByteCount
  }

  /// Appends the `count` bytes that have just been written at the arena's end.
  mutating func append(_ count: Int, on path: DatagramPath) {
    defer { byteCount &+= count }
    if segments, lastIsOpen, path == lastPath {
      let last = unsafe messages[messageCount - 1]
      let segment = Int(last.segment_byte_count)
      if count <= segment, lastSegmentCount < Self.segmentLimit,
        Int(last.byte_count) &+ count <= Self.runByteLimit
      {
        unsafe messages[messageCount - 1].byte_count = last.byte_count &+ UInt32(count)
        lastSegmentCount &+= 1
        lastIsOpen = count == segment  // only the last of a run may be shorter
        return
      }
    }
    unsafe messages[messageCount] = earshot_outgoing(
      destination: path.remote.forKernel, offset: UInt32(byteCount), byte_count: UInt32(count),
      segment_byte_count: UInt32(count), local: path.local.rawValue, hop_limit: path.hopLimit)
    messageCount &+= 1
    lastPath = path
    lastSegmentCount = 1
    lastIsOpen = true
  }

  mutating func removeAll() {
    byteCount = 0
    messageCount = 0
    lastIsOpen = false
  }
}

extension UDPSocket {
  /// Room for the next datagram to be written into: `Datagram.maximumByteCount` bytes, or as many
  /// as a machine asks for that puts headers around its datagrams.
  package mutating func room(
    _ byteCount: Int = Datagram.maximumByteCount
  ) -> UnsafeMutableBufferPointer<UInt8> {
    if queue.isFull { flush() }
    return unsafe UnsafeMutableBufferPointer(
      start: queue.arena + queue.byteCount, count: min(byteCount, SendQueue.roomByteCount))
  }

  /// Queues the `count` bytes that were written into `room()`.
  package mutating func commit(_ count: Int, to destination: SocketAddress) {
    commit(count, on: DatagramPath(destination))
  }

  /// The same, to leave from the own address that the path names.
  package mutating func commit(_ count: Int, on path: DatagramPath) {
    guard count > 0, count <= SendQueue.roomByteCount else { return }
    guard !path.remote.isUnsendable, isV6 || path.remote.family == .v4 else {
      statistics.droppedForRefusal &+= 1
      statistics.lastSendError = EAFNOSUPPORT
      return
    }
    if queue.isFull { flush() }
    queue.append(count, on: accepted(path))
  }

  /// The path with a number that is in the table, and an address of the remote's family.
  private func accepted(_ path: DatagramPath) -> DatagramPath {
    guard !path.local.isUnspecified else { return path }
    var path = path
    if locals.address(path.local)?.family != path.remote.family { path.local = .unspecified }
    return path
  }

  /// Sends what is queued: mostly one call, whatever the number of datagrams.
  package mutating func flush() {
    var first = 0
    while first < queue.messageCount {
      let result = unsafe earshot_send(
        descriptor.number, isV6 ? 1 : 0, locals.table, queue.arena, queue.messages + first,
        UInt32(queue.messageCount - first))
      statistics.sendCalls &+= 1
      if result > 0 {
        for index in first..<(first + Int(result)) { countSent(unsafe queue.messages[index]) }
        first += Int(result)
        continue
      }
      let message = unsafe queue.messages[first]
      if -result == EINTR {
        continue
      } else if ReactorError.isLackOfRoom(-result) {
        for index in first..<queue.messageCount {
          statistics.droppedForRoom &+= unsafe queue.messages[index].datagramCount
        }
        break
      } else if message.datagramCount > 1, ReactorError.isSegmentationRefusal(-result) {
        sendSplit(message)
      } else if message.local != 0, ReactorError.isLocalAddressRefusal(-result) {
        unsafe queue.messages[first].local = 0
        statistics.movedMessages &+= 1
        continue
      } else {
        statistics.droppedForRefusal &+= message.datagramCount
        statistics.lastSendError = -result
      }
      first += 1
    }
    queue.removeAll()
  }

  /// Sends a run that the kernel would not cut, datagram by datagram.
  private mutating func sendSplit(_ message: earshot_outgoing) {
    var message = message
    var isAddressAtFault = false
    defer { if !isAddressAtFault { countRefusedRun() } }
    let count = UInt32(message.datagramCount)
    var next: UInt32 = 0
    while next < count {
      let result = unsafe earshot_send_split(
        descriptor.number, isV6 ? 1 : 0, locals.table, queue.arena, &message, next)
      statistics.sendCalls &+= 1
      if result > 0 {
        let sent = UInt32(result)
        statistics.sentDatagrams &+= UInt64(sent)
        let end = min((next + sent) * message.segment_byte_count, message.byte_count)
        statistics.sentBytes &+= UInt64(end - next * message.segment_byte_count)
        next += sent
      } else if ReactorError.isLackOfRoom(-result) {
        statistics.droppedForRoom &+= UInt64(count - next)
        return
      } else if message.local != 0, ReactorError.isLocalAddressRefusal(-result) {
        message.local = 0
        isAddressAtFault = true
        statistics.movedMessages &+= 1
      } else if -result != EINTR {
        statistics.droppedForRefusal &+= 1
        statistics.lastSendError = -result
        next += 1
      }
    }
  }

  private mutating func countRefusedRun() {
    statistics.refusedRuns &+= 1
    queue.refusals += 1
    if queue.refusals >= SendQueue.refusalLimit { queue.segments = false }
  }

  private mutating func countSent(_ message: earshot_outgoing) {
    let count = message.datagramCount
    statistics.sentDatagrams &+= count
    statistics.sentBytes &+= UInt64(message.byte_count)
    if count > 1 {
      statistics.sentRuns &+= 1
      queue.refusals = 0
    }
  }
}

extension earshot_outgoing {
  fileprivate var datagramCount: UInt64 {
    byte_count == segment_byte_count
      ? 1 : UInt64((byte_count &+ segment_byte_count &- 1) / segment_byte_count)
  }
}
