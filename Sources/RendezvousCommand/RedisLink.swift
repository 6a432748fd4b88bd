import Primitives
import Reactor
import Redis
import Rendezvous

/// What stands between a server's store and Redis: two threads that wait, so that the loop does
/// not. One has the commands, the other listens to what other nodes hand over.
final class RedisLink {
  /// What came of Redis, in order.
  enum News: Sendable {
    case connected
    case disconnected(String)
    case reply(SharedReply, to: UInt64)
    case message([UInt8])
    /// What other nodes say gets here, or does not.
    case listening(Bool)
  }

  let store: SharedStore
  let service: RedisService
  private let mailbox: RedisMailbox
  private var threads: [PromptWorker] = []
  private var watch: EventLoop.Token?
  /// What the operator should know of how Redis was set up, in sentences.
  private(set) var warnings: [String] = []

  init(_ store: SharedStore, _ service: RedisService) throws(ReactorError) {
    self.store = store
    self.service = service
    mailbox = RedisMailbox(wake: try LoopWake())
  }

  /// Sees that Redis is there, and reads what is read once; waits. After it there is no connection
  /// until the threads have theirs: what is asked in between is answered as without Redis.
  func begin() throws(RedisError) {
    var connection = try service.connect()
    warnings = try connection.warnings()
    // A client that came before would have no name.
    try connection.awaitNames()
    store.handleListening(false)
    store.handleConnection()
    store.fetchBans()
    while let command = store.pollCommand() {
      try connection.append(command)
      store.handle(try connection.nextReply(), to: command.number)
    }
    store.handleDisconnection()
  }

  /// Begins to serve the store. `handle` is called on the loop, once for each piece of news.
  func start(on loop: EventLoop, _ handle: @escaping (News?) -> Void) throws(ReactorError) {
    let (service, mailbox, channels) = (service, mailbox, store.channels)
    watch = try mailbox.wake.attach(to: loop) { [self] in
      let (all, dropped) = mailbox.takeNews()
      store.counters.messagesDropped &+= dropped
      for news in all {
        apply(news)
        handle(news)
      }
      handle(nil)
      flush()
    }
    store.wake = { mailbox.wake.signal() }
    let commands = RedisCommandThread(service: service, mailbox: mailbox)
    let listener = RedisListenerThread(
      service: service, mailbox: mailbox, channels: channels)
    let worker = try PromptWorker(named: "earshot-redis") { commands.run(now: $0) }
    threads = [worker, try PromptWorker(named: "earshot-nodes") { listener.run(now: $0) }]
    if case .service = service.address.place {
      let watch = RedisPrimaryThread(service: service, mailbox: mailbox)
      threads.append(try PromptWorker(named: "earshot-primary") { watch.run(now: $0) })
    }
    mailbox.attach(worker)
  }

  /// Commands that are waiting go on their way.
  func flush() {
    var commands: [SharedCommand] = []
    while let command = store.pollCommand() { commands.append(command) }
    if !commands.isEmpty { mailbox.append(commands) }
  }

  /// Tells the other nodes that this one goes; `false` when it has.
  func leave() -> Bool {
    guard store.isConnected else { return false }
    store.leave()
    flush()
    return true
  }

  func stop() { for thread in threads { thread.stop() } }

  private func apply(_ news: News) {
    switch news {
    case .connected: store.handleConnection()
    case .disconnected: store.handleDisconnection()
    case .reply(let reply, let number): store.handle(reply, to: number)
    case .listening(let isListening): store.handleListening(isListening)
    case .message: break
    }
  }
}

/// Where Redis is, and how to get in.
struct RedisService: Sendable {
  var address: RedisAddress
  var password: [UInt8]?
  /// Of the nodes' secret.
  let mark: [UInt8]

  /// A connection that knows the scripts, to a server whose nodes have the same secret.
  ///
  /// - Parameter isNode: Else it is a command, which leaves nothing there for nodes to heed.
  func connect(isNode: Bool = true) throws(RedisError) -> RedisConnection {
    var connection = try RedisConnection.connect(address, password: password)
    try connection.loadScripts()
    try connection.expectService(mark, isNode: isNode)
    return connection
  }
}

/// What the loop and the threads leave for each other.
final class RedisMailbox: Sendable {
  private struct Content {
    var commands: [SharedCommand] = []
    var news: [RedisLink.News] = []
    var messageCount = 0
    var droppedCount: UInt64 = 0
    var worker: PromptWorker?
    /// The server that is the primary of the service, as its Sentinels say.
    var primary: RedisAddress?
  }

  let wake: LoopWake
  private let content = Guarded(Content())

  /// Messages of other nodes that wait; one that is full loses what comes.
  private static let messageLimit = 8192

  init(wake: LoopWake) { self.wake = wake }

  func attach(_ worker: PromptWorker) { content.withLock { $0.worker = worker } }

  /// Whether another server is the primary than that of a connection.
  func hasMoved(from primary: RedisAddress?) -> Bool {
    guard let primary, let newest = content.withLock(\.primary) else { return false }
    return newest != primary
  }

  /// Tells the thread with the commands, which may have none to notice it by.
  func setPrimary(_ primary: RedisAddress) {
    let worker = content.withLock { content -> PromptWorker? in
      guard content.primary != primary else { return nil }
      content.primary = primary
      return content.worker
    }
    worker?.signal()
  }

  func append(_ commands: [SharedCommand]) {
    let worker = content.withLock { content in
      content.commands += commands
      return content.worker
    }
    worker?.signal()
  }

  func takeCommands() -> [SharedCommand] {
    content.withLock { content in
      let commands = content.commands
      content.commands = []
      return commands
    }
  }

  /// What was to be done by a connection that is gone is not done by the next one.
  func noteConnection() {
    content.withLock { content in
      content.commands = []
      content.news.append(.connected)
    }
    wake.signal()
  }

  func append(_ news: [RedisLink.News]) {
    content.withLock { $0.news += news }
    wake.signal()
  }

  /// Messages that there is room for.
  func append(messages: [[UInt8]]) {
    content.withLock { content in
      let room = Self.messageLimit - content.messageCount
      content.news += messages.prefix(room).map { RedisLink.News.message($0) }
      content.messageCount += min(room, messages.count)
      content.droppedCount += UInt64(messages.count - min(room, messages.count))
    }
    wake.signal()
  }

  /// What came, and of how many messages there was no room.
  func takeNews() -> (news: [RedisLink.News], dropped: UInt64) {
    content.withLock { content in
      let (news, dropped) = (content.news, content.droppedCount)
      content.news = []
      (content.messageCount, content.droppedCount) = (0, 0)
      return (news, dropped)
    }
  }
}

/// Has the connection with the commands: sends what waits in one go, then reads all replies.
struct RedisCommandThread: Sendable {
  let service: RedisService
  let mailbox: RedisMailbox
  private let connection = RedisHolder()

  init(service: RedisService, mailbox: RedisMailbox) {
    self.service = service
    self.mailbox = mailbox
  }

  /// When it wants to run again; `nil` = when there are commands.
  func run(now: Instant) -> Instant? {
    do throws(RedisError) {
      if try connection.open(service) {
        if let primary = connection.primary { mailbox.setPrimary(primary) }
        mailbox.noteConnection()
      }
      while true {
        try connection.expectPrimary(in: mailbox)
        let commands = mailbox.takeCommands()
        guard !commands.isEmpty else { return nil }
        try run(commands)
      }
    } catch {
      connection.close()
      mailbox.append([.disconnected(error.description)])
      return SystemClock.now + Self.pause
    }
  }

  private func run(_ commands: [SharedCommand]) throws(RedisError) {
    try connection.use { connection throws(RedisError) in
      try connection.run(commands) { replies in
        mailbox.append(replies.map { .reply($0.reply, to: $0.number) })
      }
    }
  }

  /// Before the next attempt.
  private static let pause = Duration.milliseconds(250)
}

/// Has the connection that hears what other nodes hand over.
struct RedisListenerThread: Sendable {
  let service: RedisService
  let mailbox: RedisMailbox
  let channels: [[UInt8]]
  private let connection = RedisHolder()
  private let times = Guarded(Times())

  private struct Times {
    var heard = Instant.zero
    var asked = Instant.zero
  }

  init(service: RedisService, mailbox: RedisMailbox, channels: [[UInt8]]) {
    self.service = service
    self.mailbox = mailbox
    self.channels = channels
  }

  func run(now: Instant) -> Instant? {
    do throws(RedisError) {
      if try connection.open(service) {
        if let primary = connection.primary { mailbox.setPrimary(primary) }
        try connection.use { connection throws(RedisError) in
          try connection.subscribe(to: channels)
        }
        times.withLock { $0 = Times(heard: now, asked: now) }
        mailbox.append([.listening(true)])
      }
      try listen(now: now)
      return now
    } catch {
      connection.close()
      mailbox.append([.listening(false)])
      return SystemClock.now + Self.pause
    }
  }

  private func listen(now: Instant) throws(RedisError) {
    try connection.expectPrimary(in: mailbox)
    let messages = try connection.use { connection throws(RedisError) in
      try connection.messages(within: Self.patience)
    }
    let (heard, asked) = times.withLock { ($0.heard, $0.asked) }
    if let messages {
      times.withLock { $0.heard = now }
      if !messages.isEmpty { mailbox.append(messages: messages) }
    } else if now - heard > Self.silence {
      throw RedisError("silent for \(Self.silence)")
    }
    guard now - asked > Self.pace else { return }
    times.withLock { $0.asked = now }
    try connection.use { connection throws(RedisError) in try connection.sendPing() }
  }

  /// How long it waits for the kernel, in milliseconds: its end waits as long.
  private static let patience: Int32 = 200
  /// A connection that is silent for so long is dead: PINGs were answered.
  private static let silence = Duration.seconds(5)
  private static let pace = Duration.seconds(1)
  private static let pause = Duration.milliseconds(250)
}

/// Asks the Sentinels each second who is the primary. A server that is none any more may go on
/// answering where it is cut off from them.
struct RedisPrimaryThread: Sendable {
  let service: RedisService
  let mailbox: RedisMailbox

  func run(now: Instant) -> Instant? {
    do throws(RedisError) {
      mailbox.setPrimary(try RedisConnection.primary(of: service.address))
    } catch {
      // Without Sentinels the server that there is stays.
    }
    return SystemClock.now + Self.pace
  }

  private static let pace = Duration.seconds(1)
}

/// A thread's connection, while there is one.
final class RedisHolder: Sendable {
  private let connection = Guarded<RedisConnection?>(nil)

  /// Whether a new one was opened.
  func open(_ service: RedisService) throws(RedisError) -> Bool {
    let result: Result<Bool, RedisError> = connection.withLock { connection in
      guard connection == nil else { return .success(false) }
      do throws(RedisError) {
        connection = try service.connect()
        return .success(true)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  func use<Value: Sendable>(
    _ body: (inout RedisConnection) throws(RedisError) -> Value
  ) throws(RedisError) -> Value {
    let result: Result<Value, RedisError> = connection.withLock { connection in
      guard var open = connection.take() else { return .failure(RedisError("no connection")) }
      do throws(RedisError) {
        let value = try body(&open)
        connection = consume open
        return .success(value)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  func close() { connection.withLock { $0 = nil } }

  /// The server of a service that it leads to.
  var primary: RedisAddress? { connection.withLock { $0?.primary } }

  /// - Throws: When the service has another primary than the one that this leads to.
  func expectPrimary(in mailbox: RedisMailbox) throws(RedisError) {
    if mailbox.hasMoved(from: primary) {
      throw RedisError("another server is the primary now")
    }
  }
}
