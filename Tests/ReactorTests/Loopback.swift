import Glibc
import Primitives
import Synchronization

@testable import Reactor

enum Loopback {
  static let v4 = SocketAddress(v4: 127, 0, 0, 1, port: 0)
  static let v6 = SocketAddress(family: .v6, high: 0, low: 1, port: 0)
}

/// Lets a test wait for something that happens on another thread, for a bounded time.
final class Latch: Sendable {
  private let isOpen = Mutex(false)
  private let descriptors: (read: Int32, write: Int32)

  init() {
    var pair: [Int32] = [0, 0]
    _ = unsafe pipe(&pair)
    descriptors = (pair[0], pair[1])
  }

  deinit {
    close(descriptors.read)
    close(descriptors.write)
  }

  func open() {
    let isFirst = isOpen.withLock { isOpen in
      defer { isOpen = true }
      return !isOpen
    }
    if isFirst { _ = unsafe write(descriptors.write, [1], 1) }
  }

  /// `false` when nobody opened it in `seconds`.
  func wait(seconds: Int32 = 10) -> Bool {
    var query = pollfd(fd: descriptors.read, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&query, 1, seconds * 1000) == 1
  }
}

extension UDPSocket {
  /// Sends one datagram at once.
  mutating func send(_ bytes: [UInt8], to destination: SocketAddress) {
    put(bytes, to: destination)
    flush()
  }

  mutating func put(_ bytes: [UInt8], to destination: SocketAddress) {
    let room = unsafe room()
    for (index, byte) in bytes.enumerated() { unsafe room[index] = byte }
    commit(bytes.count, to: destination)
  }

  /// Waits until something can be read; `false` after `milliseconds`.
  func waitUntilReadable(milliseconds: Int32 = 5000) -> Bool {
    var query = pollfd(fd: fileNumber, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&query, 1, milliseconds) == 1
  }

  /// Every datagram that arrives until there are `count`, or none comes for five seconds.
  mutating func collect(_ count: Int) -> [(bytes: [UInt8], source: SocketAddress, ecn: UInt8)] {
    var found: [(bytes: [UInt8], source: SocketAddress, ecn: UInt8)] = []
    while found.count < count, waitUntilReadable() {
      for index in 0..<receive() {
        guard let message = unsafe message(index) else { continue }
        var start = 0
        while unsafe start < message.byteCount {
          let size = unsafe min(message.segmentByteCount, message.byteCount - start)
          let bytes = unsafe Array(UnsafeBufferPointer(start: message.bytes + start, count: size))
          unsafe found.append((bytes, message.source, message.marks.ecn))
          start += size
        }
      }
    }
    return found
  }
}

/// Sends every datagram back, counts what it got, and has a timer.
struct EchoMachine: DatagramMachine, ~Copyable {
  enum Event: Sendable, Equatable {
    case reached(Int)
    case timedOut(Instant)
    case echoed(UInt8)
  }

  /// Publish `.reached` when that many datagrams have come.
  var target = Int.max
  var echoes = true
  var received = 0
  var receivedBytes = 0
  var lastNow = Instant.zero
  var wentBack = false
  var nextDeadline: Instant?
  private var waiting: [(bytes: [UInt8], path: DatagramPath)] = []
  private var next = 0
  private var events: [Event] = []

  init(target: Int = .max, echoes: Bool = true) {
    self.target = target
    self.echoes = echoes
  }

  mutating func queue(_ bytes: [UInt8], to destination: SocketAddress) {
    waiting.append((bytes, DatagramPath(destination)))
  }

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    if now < lastNow { wentBack = true }
    lastNow = now
    received += 1
    receivedBytes += bytes.count
    if echoes {
      var copy: [UInt8] = []
      for index in 0..<bytes.count { copy.append(bytes[index]) }
      waiting.append((copy, DatagramPath(source, local: marks.local)))
    } else {
      if received == 1 { events.append(.echoed(bytes[0])) }
    }
    if received == target { events.append(.reached(received)) }
  }

  mutating func handleTimeout(now: Instant) {
    guard let deadline = nextDeadline, deadline <= now else { return }
    nextDeadline = nil
    events.append(.timedOut(now))
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard next < waiting.count else {
      waiting.removeAll(keepingCapacity: true)
      next = 0
      return nil
    }
    packet.append(bytes: waiting[next].bytes)
    next += 1
    return waiting[next - 1].path
  }

  mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }
}
