internal import CLinux
internal import Glibc
package import Primitives

/// What the listener says at one path.
package struct HTTPAnswer: Equatable, Sendable {
  /// 200, or else 503.
  package var isGood: Bool
  package var text: String

  package init(_ text: String, isGood: Bool = true) {
    self.text = text
    self.isGood = isGood
  }
}

/// Answers GET and HEAD of a few paths with text, `/metrics` with that for Prometheus; anything
/// else with 404.
/// Nothing more: one request a connection, bounded in number, rate, size, pieces and time.
package final class HTTPMetricsListener {
  package static let connectionLimit = 16
  /// New connections a second; the next ones wait in the kernel's queue.
  package static let acceptRate = 64
  package static let timeout = Duration.seconds(5)

  package let localAddress: SocketAddress
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let text: (_ path: String) -> HTTPAnswer?
  private var token: EventLoop.Token?
  private var connections: [Connection] = []
  private var accepted = 0
  private var pause: EventLoop.Token?

  /// Listens at once; `text` is called on the loop for each request, and gives `nil` for paths that
  /// there are not.
  package init(
    binding address: SocketAddress, on loop: EventLoop,
    text: @escaping (_ path: String) -> HTTPAnswer?
  ) throws(ReactorError) {
    var local = address.forKernel
    let number = try unsafe earshot_tcp_listen(&local, Int32(Self.connectionLimit))
      .orThrow("listen on TCP", address.description)
    descriptor = FileDescriptor(owning: number)
    _ = try unsafe earshot_local_address(number, &local)
      .orThrow("read the address of", address.description)
    localAddress = SocketAddress(local) ?? address
    self.loop = loop
    self.text = text
    token = try loop.watch(number, for: .readable) { [self] _ in accept() }
    pause = try loop.addTimer { [self] _ in
      accepted = 0
      if let token { loop.change(token, to: .readable) }
    }
  }

  /// Closes the listener and every connection.
  package func stop() {
    if let token { loop.unwatch(token) }
    if let pause { loop.removeTimer(pause) }
    token = nil
    pause = nil
    for connection in connections { connection.close() }
    connections.removeAll()
  }

  private func accept() {
    // One more than may stay: a client that is too many is told so by being closed, at once.
    let number = earshot_tcp_accept(descriptor.number)
    guard number >= 0 else { return }
    accepted += 1
    if accepted == 1, let pause { loop.setDeadline(pause, SystemClock.now + .seconds(1)) }
    if accepted >= Self.acceptRate, let token { loop.change(token, to: []) }
    let connection = Connection(owning: number, loop: loop)
    guard connections.count < Self.connectionLimit else { return }
    do throws(ReactorError) {
      try connection.open(
        until: SystemClock.now + Self.timeout,
        answer: { [weak self] request in self?.answer(request) ?? [] },
        closed: { [weak self, weak connection] in
          self?.connections.removeAll { $0 === connection }
        })
      connections.append(connection)
    } catch {
      connection.close()
    }
  }

  private func answer(_ request: HTTPRequestHead) -> [UInt8] {
    let (method, path) = request.methodAndPath
    let found = ["GET", "HEAD"].contains(method) ? text(path) : nil
    let status = found.map { $0.isGood ? "200 OK" : "503 Service Unavailable" } ?? "404 Not Found"
    let body = found?.text ?? "Only GET and HEAD of /metrics, /health and /ready are served here.\n"
    let head = """
      HTTP/1.1 \(status)\r
      Content-Type: text/plain; version=0.0.4; charset=utf-8\r
      Content-Length: \(body.utf8.count)\r
      Connection: close\r
      \r

      """
    return Array(head.utf8) + (method == "HEAD" ? [] : Array(body.utf8))
  }
}

/// One client of the listener: a request in, an answer out, closed.
private final class Connection {
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var source: EventLoop.Token?
  private var timer: EventLoop.Token?
  private var request = HTTPRequestHead()
  private var room = [UInt8](repeating: 0, count: 1024)
  private var response: [UInt8] = []
  private var written = 0
  private var isAnswered = false
  private var answer: ((HTTPRequestHead) -> [UInt8])?
  private var closed: (() -> Void)?

  init(owning number: Int32, loop: EventLoop) {
    descriptor = FileDescriptor(owning: number)
    self.loop = loop
  }

  func open(
    until deadline: Instant, answer: @escaping (HTTPRequestHead) -> [UInt8],
    closed: @escaping () -> Void
  ) throws(ReactorError) {
    self.answer = answer
    self.closed = closed
    let timer = try loop.addTimer { [self] _ in close() }
    self.timer = timer
    loop.setDeadline(timer, deadline)
    source = try loop.watch(descriptor.number, for: .readable) { [self] readiness in
      if readiness.contains(.hungUp) { return close() }
      if !isAnswered {
        read()
      } else if written < response.count {
        write()
      } else {
        drain()
      }
    }
  }

  func close() {
    if let source { loop.unwatch(source) }
    if let timer { loop.removeTimer(timer) }
    source = nil
    timer = nil
    answer = nil
    closed?()
    closed = nil
  }

  private func read() {
    let count = unsafe earshot_tcp_read(descriptor.number, &room, room.count)
    guard count > 0 else {
      if count != -Int(EAGAIN) { close() }
      return
    }
    switch request.append(room[..<count]) {
    case .incomplete: return
    case .tooLong: return close()
    case .complete:
      response = answer?(request) ?? []
      isAnswered = true
      write()
    }
  }

  private func write() {
    let count = unsafe response.withUnsafeBufferPointer { buffer in
      unsafe buffer.baseAddress.map {
        unsafe earshot_tcp_write(descriptor.number, $0 + written, buffer.count - written)
      } ?? 0
    }
    guard count >= 0 || count == -Int(EAGAIN) else { return close() }
    written += max(0, count)
    guard let source else { return }
    if written == response.count {
      // Everything is said; the client closes, or the timer does. Closing first with its bytes
      // unread would make the kernel reset the connection and lose the answer.
      shutdown(descriptor.number, Int32(SHUT_WR))
      loop.change(source, to: .readable)
    } else {
      loop.change(source, to: .writable)
    }
  }

  private func drain() {
    let count = unsafe earshot_tcp_read(descriptor.number, &room, room.count)
    if count <= 0, count != -Int(EAGAIN) { close() }
  }
}
