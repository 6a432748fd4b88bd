internal import CLinux
internal import Glibc
package import Primitives

/// Why a stream ended.
package enum StreamFailure: Error, Hashable, Sendable {
  /// Nobody listens there, or nothing answers.
  case unreachable(String)
  /// The server's certificate is not to be trusted.
  case untrusted(String)
  /// TLS failed for another reason.
  case insecure(String)
  /// The other side closed it, or the way there is broken.
  case lost(String)
}

/// A TCP connection to a server, with TLS inside where `TLSOptions` are given. Never blocks.
///
/// Belongs to the loop's thread. What it has to tell comes from the loop, never from within a call.
package final class StreamConnection {
  package enum Event: Sendable {
    /// Bytes can be sent from now on.
    case connected
    case received([UInt8])
    /// Nothing more comes.
    case ended(StreamFailure)
  }

  private enum State { case connecting, shaking, open, ended }

  package let remote: SocketAddress
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let tls: TLSSession?
  private var publish: ((Event) -> Void)?
  private var source: EventLoop.Token?
  private var timer: EventLoop.Token?
  private var state = State.connecting
  /// What the kernel has not taken yet.
  private var output: [UInt8] = []
  private var outputStart = 0
  private var isWatchingOutput = true
  /// What is to be told in the loop's next turn.
  private var failure: StreamFailure?
  private var room = [UInt8](repeating: 0, count: 16_384)

  /// How long the connection and TLS may take together.
  package static let patience = Duration.seconds(8)
  /// More than this never waits: 300 packets.
  private static let outputLimit = 400_000

  package init(
    to remote: SocketAddress, tls options: TLSOptions?, on loop: EventLoop,
    patience: Duration = StreamConnection.patience,
    publish: @escaping (Event) -> Void
  ) throws(ReactorError) {
    self.remote = remote
    self.loop = loop
    var session: TLSSession?
    if let options { session = try TLSSession(options) }
    tls = session
    var address = remote.forKernel
    descriptor = FileDescriptor(
      owning: try unsafe earshot_tcp_connect(&address).orThrow("connect to", remote.description))
    self.publish = publish
    source = try loop.watch(descriptor.number, for: [.readable, .writable]) { [self] readiness in
      serve(readiness)
    }
    do throws(ReactorError) {
      let timer = try loop.addTimer { [self] _ in wake() }
      self.timer = timer
      loop.setDeadline(timer, SystemClock.now + patience)
    } catch {
      if let source { loop.unwatch(source) }
      throw error
    }
  }

  /// Closes it; nothing more is told.
  package func close() {
    state = .ended
    if let source { loop.unwatch(source) }
    if let timer { loop.removeTimer(timer) }
    source = nil
    timer = nil
    publish = nil
    output = []
    outputStart = 0
  }

  /// Bytes that have not left this host, sealed.
  package var unsentByteCount: Int {
    output.count - outputStart + max(0, Int(earshot_tcp_unsent(descriptor.number)))
  }

  package var isOpen: Bool { state == .open }

  /// Sends bytes, or keeps them until the kernel takes them; how many it became with TLS. 0 = they
  /// cannot go.
  package func send(_ bytes: [UInt8]) -> Int {
    guard state == .open, failure == nil else { return 0 }
    let before = output.count
    if let tls {
      guard tls.write(bytes) else {
        failSoon(.lost(tls.reason))
        return 0
      }
      output += tls.takeOutput()
    } else {
      output += bytes
    }
    let count = output.count - before
    flush()
    return failure == nil ? count : 0
  }

  // MARK: - On the loop

  private func serve(_ readiness: Readiness) {
    if state == .connecting {
      let result = earshot_tcp_connect_result(descriptor.number)
      guard result != -EINPROGRESS else { return }
      guard result == 0 else {
        return end(.unreachable(Self.reason(Int(result))))
      }
      guard readiness.contains(.writable) else { return }
      state = .shaking
      shake()
    }
    if readiness.contains(.readable) || readiness.contains(.hungUp) { read() }
    if readiness.contains(.writable) { flush() }
    if let failure { end(failure) }
  }

  private func read() {
    guard state != .ended else { return }
    // Once a turn: datagrams and timers share the loop, and the kernel says what is left.
    let count = unsafe earshot_tcp_read(descriptor.number, &room, room.count)
    if count == -Int(EAGAIN) || count == -Int(EINTR) { return }
    guard count > 0 else {
      return end(.lost(count == 0 ? "closed by the server" : Self.reason(count)))
    }
    receive(count)
  }

  private func receive(_ count: Int) {
    guard let tls else {
      if state == .open { publish?(.received(Array(room[..<count]))) }
      return
    }
    guard tls.feed(room, count) else { return end(.lost("no memory")) }
    if state == .shaking { shake() }
    guard state == .open else { return }
    var plain = [UInt8](repeating: 0, count: 16_384)
    while state == .open {
      guard let count = tls.read(into: &plain) else { return end(.lost("closed by the server")) }
      guard count > 0 else { break }
      publish?(.received(Array(plain[..<count])))
    }
    guard state == .open else { return }
    // An answer to a change of keys.
    output += tls.takeOutput()
    flush()
  }

  private func shake() {
    guard let tls else { return becomeOpen() }
    let step = tls.handshake()
    output += tls.takeOutput()
    flush()
    switch step {
    case .waiting: break
    case .done: becomeOpen()
    case .failed: end(tls.isUntrusted ? .untrusted(tls.reason) : .insecure(tls.reason))
    }
  }

  private func becomeOpen() {
    state = .open
    if let timer { loop.setDeadline(timer, nil) }
    publish?(.connected)
  }

  private func flush() {
    guard state != .ended else { return }
    while outputStart < output.count {
      let count = unsafe output.withUnsafeBufferPointer { buffer in
        unsafe buffer.baseAddress.map {
          unsafe earshot_tcp_write(
            descriptor.number, $0 + outputStart, buffer.count - outputStart)
        } ?? 0
      }
      if count == -Int(EAGAIN) { break }
      if count == -Int(EINTR) { continue }
      guard count > 0 else {
        return failSoon(.lost(Self.reason(count)))
      }
      outputStart += count
    }
    guard output.count - outputStart <= Self.outputLimit else {
      return failSoon(.lost("the other side takes nothing"))
    }
    if outputStart == output.count {
      output.removeAll(keepingCapacity: true)
      outputStart = 0
    } else if outputStart > 65_536 {
      output.removeFirst(outputStart)
      outputStart = 0
    }
    let mustWatch = !output.isEmpty || state == .connecting
    guard mustWatch != isWatchingOutput, let source else { return }
    isWatchingOutput = mustWatch
    loop.change(source, to: mustWatch ? [.readable, .writable] : .readable)
  }

  /// A negated errno in words.
  private static func reason(_ result: Int) -> String {
    ReactorError("use", "a stream", errno: Int32(clamping: -result)).reason
  }

  /// From within a call of the owner's: told in the next turn.
  private func failSoon(_ failure: StreamFailure) {
    self.failure = self.failure ?? failure
    if let timer { loop.setDeadline(timer, SystemClock.now) }
  }

  private func wake() {
    if let failure { return end(failure) }
    guard state == .connecting || state == .shaking else { return }
    end(.unreachable("no answer"))
  }

  private func end(_ failure: StreamFailure) {
    guard state != .ended else { return }
    let publish = publish
    close()
    publish?(.ended(failure))
  }
}
