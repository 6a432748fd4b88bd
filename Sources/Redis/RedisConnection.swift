internal import CRedis
internal import Glibc
package import Rendezvous

/// One connection to a Redis server, which waits: for a thread of its own, never for an event loop.
///
/// After an error it is of no more use. Not copyable: closing it twice would be a double free.
@safe
package struct RedisConnection: ~Copyable {
  private let context: UnsafeMutablePointer<redisContext>
  /// The names under which the server has the scripts.
  private var digests: [SharedScript: [UInt8]] = [:]
  /// The server of a service that it leads to.
  package private(set) var primary: RedisAddress?

  /// Connects, says who we are, and chooses the database; of a service to its primary.
  ///
  /// - Parameter patience: The longest that anything waits, in milliseconds.
  package static func connect(
    _ address: RedisAddress, password: [UInt8]?, patience: Int32 = 2000
  ) throws(RedisError) -> RedisConnection {
    guard case .service = address.place else {
      return try connectDirectly(address, password: password, patience)
    }
    let primary = try self.primary(of: address)
    var connection = try connectDirectly(primary, password: password, patience)
    try connection.expectPrimary(primary)
    connection.primary = primary
    return connection
  }

  private static func connectDirectly(
    _ address: RedisAddress, password: [UInt8]?, _ patience: Int32
  ) throws(RedisError) -> RedisConnection {
    var connection = unsafe RedisConnection(try open(address, patience))
    let user = address.user.map { [Array($0.utf8)] } ?? []
    // A user without a password is asked for all the same: else `default` would be let in.
    if !user.isEmpty || password != nil {
      try connection.expectSuccess([Array("AUTH".utf8)] + user + [password ?? []])
    }
    if address.database > 0 {
      try connection.expectSuccess([
        Array("SELECT".utf8), Array(String(address.database).utf8),
      ])
    }
    return connection
  }

  private init(_ context: UnsafeMutablePointer<redisContext>) { unsafe self.context = context }

  private static func open(
    _ address: RedisAddress, _ patience: Int32
  ) throws(RedisError) -> UnsafeMutablePointer<redisContext> {
    let opened =
      switch address.place {
      case .host(let host, let port):
        unsafe earshot_redis_connect(host, Int32(port), patience)
      case .socket(let path): unsafe earshot_redis_connect_unix(path, patience)
      case .service: throw RedisError("no server, but a service")
      }
    guard let opened = unsafe opened else { throw RedisError("no memory") }
    guard unsafe opened.pointee.err == 0 else {
      defer { unsafe redisFree(opened) }
      throw unsafe failure(of: opened)
    }
    _ = unsafe earshot_redis_set_timeout(opened, patience)
    if case .host = address.place { _ = unsafe redisEnableKeepAlive(opened) }
    return unsafe opened
  }

  deinit { unsafe redisFree(context) }

  /// Gives the server the scripts that `append` runs. One that has started, or become the primary,
  /// since a node was there last gives no names for a while (docs/protocol/cluster.md §6).
  ///
  /// - Throws: Also where it takes no writes.
  package mutating func loadScripts() throws(RedisError) {
    let known = try run(["SCRIPT", "EXISTS", RedisScripts.freezeDigest])
    if known.list?.first?.number != 1 {
      // This runs it and makes it known at once, before another node can ask.
      try expectSuccess(["EVAL", RedisScripts.freezeBeyondMemory, "0"].map { Array($0.utf8) })
      try expectSuccess(["SCRIPT", "LOAD", RedisScripts.freeze].map { Array($0.utf8) })
    }
    let reign = try run(["EVAL", RedisScripts.reign, "0"])
    guard let outcome = reign.number else { throw RedisError(reign) }
    if outcome < 0, primary != nil {
      throw RedisError("the user may not see which primary it is: it needs +info")
    }
    try adoptFormerLayout()
    for script in SharedScript.allCases {
      guard let text = RedisScripts.text(of: script) else { continue }
      digests[script] = try load(text)
    }
    try expectSuccess([Array("EVALSHA".utf8), try load(RedisScripts.trial), Array("0".utf8)])
  }

  /// Sees that all nodes of the server have one secret: the first of them leaves its mark.
  ///
  /// - Parameter isNode: Else no mark is left.
  package mutating func expectService(
    _ mark: [UInt8], isNode: Bool = true
  ) throws(RedisError) {
    let key = Array("earshot:2:service".utf8)
    for _ in 0..<2 {
      let known = try run([Array("GET".utf8), key])
      if case .failed = known { throw RedisError(known) }
      if let bytes = known.bytes, bytes != mark {
        throw RedisError(
          "its nodes have another --cluster-secret, and all need the same; where the first had a "
            + "wrong one: redis-cli DEL earshot:2:service")
      }
      if known.bytes != nil || !isNode { return }
      // A server that is full has no room for it, and goes on without.
      _ = try run([Array("SET".utf8), key, mark, Array("NX".utf8)])
    }
  }

  /// What the operator should know of how the server was set up, in sentences.
  package mutating func warnings() throws(RedisError) -> [String] {
    var lines: [Substring] = []
    for part in ["persistence", "memory"] {
      let told = try run(["INFO", part]).bytes ?? []
      lines += String(decoding: told, as: UTF8.self).split(separator: "\r\n")
    }
    var warnings: [String] = []
    if lines.contains("aof_enabled:0") {
      warnings.append(
        "Redis does not write each name down (appendonly no): what came since its last snapshot is "
          + "lost when it ends. Set appendonly yes.")
    }
    for line in lines where line.hasPrefix("maxmemory_policy:") && !line.hasSuffix(":noeviction") {
      warnings.append(
        "Redis forgets names when its memory is full (\(line)): others get them. Set "
          + "maxmemory-policy noeviction.")
    }
    return warnings
  }

  /// The name under which the server has a script from now on.
  private mutating func load(_ script: String) throws(RedisError) -> [UInt8] {
    let reply = try run(["SCRIPT", "LOAD", script])
    guard let digest = reply.bytes else { throw RedisError(reply) }
    return digest
  }

  /// Waits until names are given again.
  package mutating func awaitNames() throws(RedisError) {
    while let left = try run(["PTTL", "earshot:2:frozen"]).number, left > 0 {
      var none = pollfd()
      none.fd = -1
      _ = unsafe poll(&none, 1, Int32(clamping: left))
    }
  }

  /// Queues a command; it is sent when a reply is asked for.
  package mutating func append(_ command: SharedCommand) throws(RedisError) {
    guard let digest = digests[command.script] else {
      return try append([Array("PUBLISH".utf8)] + command.arguments)
    }
    try append(
      [Array("EVALSHA".utf8), digest, [UInt8(ascii: "0")]] + command.arguments)
  }

  /// Runs commands that are sent in one go. Hands over the reply to each with its number, as many
  /// as come at a time.
  ///
  /// - Throws: Also where Redis refuses a command in a way that a new connection may heal. That
  ///   reply, and those behind it, are not handed over.
  package mutating func run(
    _ commands: [SharedCommand], _ handle: ([(reply: SharedReply, number: UInt64)]) -> Void
  ) throws(RedisError) {
    for command in commands { try append(command) }
    var waiting = commands[...]
    while !waiting.isEmpty {
      let replies = try nextReplies()
      guard replies.count <= waiting.count else { throw RedisError("a reply to no command") }
      let errors = zip(replies, waiting).map { RedisError(ending: $0, to: $1.script) }
      let count = errors.firstIndex { $0 != nil } ?? replies.count
      handle(zip(replies, waiting).prefix(count).map { ($0, $1.number) })
      if count < replies.count, let error = errors[count] { throw error }
      waiting = waiting.dropFirst(replies.count)
    }
  }

  /// The reply to the oldest command that has none yet.
  package mutating func nextReply() throws(RedisError) -> SharedReply {
    var raw: UnsafeMutableRawPointer?
    guard unsafe redisGetReply(context, &raw) == REDIS_OK else { throw failure }
    return unsafe Self.readReply(raw)
  }

  /// The replies to the oldest commands that have none yet: waits for one, and takes those that
  /// came with it.
  package mutating func nextReplies() throws(RedisError) -> [SharedReply] {
    var replies = [try nextReply()]
    while true {
      var raw: UnsafeMutableRawPointer?
      guard unsafe redisGetReplyFromReader(context, &raw) == REDIS_OK else { throw failure }
      guard unsafe raw != nil else { return replies }
      replies.append(unsafe Self.readReply(raw))
    }
  }

  // MARK: - Subscription

  /// Listens to channels from now on; the connection is for nothing else then.
  package mutating func subscribe(to channels: [[UInt8]]) throws(RedisError) {
    // Each has a reply of its own; those that follow are no messages.
    try expectSuccess([Array("SUBSCRIBE".utf8)] + channels)
  }

  /// Waits for messages; those that came; `nil` when nothing did.
  ///
  /// - Parameter patience: How long, in milliseconds.
  package mutating func messages(within patience: Int32) throws(RedisError) -> [[UInt8]]? {
    var watched = pollfd()
    watched.fd = unsafe context.pointee.fd
    watched.events = Int16(POLLIN)
    let count = unsafe poll(&watched, 1, patience)
    guard count > 0 else { return nil }
    guard unsafe redisBufferRead(context) == REDIS_OK else { throw failure }
    var messages: [[UInt8]] = []
    while true {
      var raw: UnsafeMutableRawPointer?
      guard unsafe redisGetReplyFromReader(context, &raw) == REDIS_OK else { throw failure }
      guard unsafe raw != nil else { return messages }
      let reply = unsafe Self.readReply(raw)
      guard let list = reply.list, list.count == 3, list[0].bytes == Array("message".utf8),
        let body = list[2].bytes
      else { continue }
      messages.append(body)
    }
  }

  /// Asks for a sign of life, which comes among the messages.
  package mutating func sendPing() throws(RedisError) {
    try append([Array("PING".utf8)])
    var isDone: Int32 = 0
    while isDone == 0 {
      guard unsafe redisBufferWrite(context, &isDone) == REDIS_OK else { throw failure }
    }
  }

  // MARK: - Parts

  private mutating func expectSuccess(_ words: [[UInt8]]) throws(RedisError) {
    try append(words)
    let reply = try nextReply()
    if case .failed = reply { throw RedisError(reply) }
  }

  /// Any command, and its reply.
  package mutating func run(_ words: [String]) throws(RedisError) -> SharedReply {
    try run(words.map { Array($0.utf8) })
  }

  /// Any command of any bytes, and its reply.
  package mutating func run(_ words: [[UInt8]]) throws(RedisError) -> SharedReply {
    try append(words)
    return try nextReply()
  }

  private mutating func append(_ words: [[UInt8]]) throws(RedisError) {
    var bytes = Array("*\(words.count)\r\n".utf8)
    for word in words {
      bytes += Array("$\(word.count)\r\n".utf8)
      bytes += word
      bytes += Array("\r\n".utf8)
    }
    let status = unsafe bytes.withUnsafeBytes { bytes in
      unsafe redisAppendFormattedCommand(
        context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard status == REDIS_OK else { throw failure }
  }

  private var failure: RedisError { unsafe Self.failure(of: context) }

  private static func failure(of context: UnsafeMutablePointer<redisContext>) -> RedisError {
    unsafe withUnsafePointer(to: &context.pointee.errstr) { text in
      unsafe text.withMemoryRebound(to: CChar.self, capacity: 128) { letters in
        RedisError(unsafe String(cString: letters))
      }
    }
  }

  /// A reply as a value; frees the original.
  private static func readReply(_ raw: UnsafeMutableRawPointer?) -> SharedReply {
    guard let raw = unsafe raw else { return .none }
    let reply = unsafe raw.assumingMemoryBound(to: redisReply.self)
    defer { unsafe freeReplyObject(raw) }
    return unsafe value(of: reply, depth: 0)
  }

  private static func value(
    of reply: UnsafeMutablePointer<redisReply>, depth: Int
  ) -> SharedReply {
    switch unsafe reply.pointee.type {
    case REDIS_REPLY_INTEGER: return .number(unsafe reply.pointee.integer)
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .bytes(unsafe bytes(of: reply))
    case REDIS_REPLY_ERROR:
      return .failed(String(decoding: unsafe bytes(of: reply), as: UTF8.self))
    case REDIS_REPLY_ARRAY where depth < 7:
      var list: [SharedReply] = []
      for index in 0..<(unsafe reply.pointee.elements) {
        guard let element = unsafe reply.pointee.element[index] else { continue }
        list.append(unsafe value(of: element, depth: depth + 1))
      }
      return .list(list)
    default: return .none
    }
  }

  private static func bytes(of reply: UnsafeMutablePointer<redisReply>) -> [UInt8] {
    guard let start = unsafe reply.pointee.str else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: reply.pointee.len))
  }
}

/// Why Redis does not do what it should.
package struct RedisError: Error, Equatable, Sendable, CustomStringConvertible {
  package var description: String

  package init(_ text: String) { description = text }

  /// Why a connection ends with this reply; `nil` where it goes on.
  ///
  /// A new one loads the scripts anew, finds the primary anew, and is refused as long as Redis
  /// takes no writes. A node whose beat fails is not there for the others, so it must not go on.
  init?(ending reply: SharedReply, to script: SharedScript) {
    guard case .failed(let text) = reply,
      script == .beat || Self.endings.contains(where: { text.hasPrefix($0) })
    else { return nil }
    description = text
  }

  private static let endings = ["NOSCRIPT", "NOPERM", "READONLY", "NOREPLICAS", "MISCONF"]

  init(_ reply: SharedReply) {
    if case .failed(let text) = reply { description = text } else { description = "odd reply" }
  }
}
