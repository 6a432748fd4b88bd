import Cryptography
import Primitives
import Reactor
import Redis
import Rendezvous
import Storage
import Wire

/// A server that is one of several nodes (docs/protocol/cluster.md).
extension Server {
  /// Reaches Redis before anything is served: a node that cannot would only refuse.
  static func openRedis(
    _ options: ServeOptions, node: PeerID, random: RandomSource
  ) throws(ServeError) -> RedisLink? {
    guard let redis = options.redis,
      let (store, service) = try store(of: redis, node: node, random: random)
    else { return nil }
    let link: RedisLink
    do throws(ReactorError) { link = try RedisLink(store, service) } catch {
      throw .reactor(error, option: "--redis")
    }
    do throws(RedisError) { try link.begin() } catch { throw .redis(redis.address, error) }
    return link
  }

  /// What a node needs of its files to get in.
  private static func store(
    of redis: RedisOptions, node: PeerID, random: RandomSource
  ) throws(ServeError) -> (SharedStore, RedisService)? {
    do throws(StorageError) {
      let secret = try SecretTextFile.read(redis.secretFile) { Self.clusterSecret($0) }
      guard let key = SecretKey(copying: secret.span) else { return nil }
      var service = RedisService(
        address: redis.address, password: redis.password, mark: ServiceMark.bytes(of: key))
      if let path = redis.passwordFile {
        service.password = try SecretTextFile.read(path) { Self.word($0) }
      }
      return (SharedStore(key, node: node, random: random), service)
    } catch { throw .file(error) }
  }

  /// Takes a name from whoever has it at a service of several nodes, while these run.
  ///
  /// - Parameter isAgain: Also where it was freed within 10 min, and somebody has got it since.
  static func free(
    _ name: PeerName, isAgain: Bool, in redis: RedisOptions
  ) throws(ServeError) -> NameFreeing.Outcome {
    guard let (store, service) = try store(of: redis, node: .zero, random: .system) else {
      return .nobodys
    }
    do throws(RedisError) {
      var connection = try service.connect(isNode: false)
      let clock = try connection.run(["TIME"]).list?.first?.bytes ?? []
      guard let now = UInt64(String(decoding: clock, as: UTF8.self)) else {
        throw RedisError("its clock tells no time")
      }
      store.handleConnection()
      _ = NameFreeing.begin(name, isAgain: isAgain, in: store, now: now)
      while let command = store.pollCommand() {
        try connection.append(command)
        do throws(RedisError) {
          store.handle(try connection.nextReply(), to: command.number)
        } catch {
          throw RedisError("\(error); the name may be freed: give the command again")
        }
      }
      do throws(StoreFailure) { return try NameFreeing.outcome(in: store) } catch {
        throw RedisError(error.reason)
      }
    } catch { throw .redis(redis.address, error) }
  }

  /// The first line without its end; `nil` for less than 16 letters or more than 256.
  private static func clusterSecret(_ bytes: [UInt8]) -> Bytes32? {
    guard let word = word(bytes), (16...256).contains(word.count) else { return nil }
    var hash = BLAKE2b(byteCount: 32)
    hash.update("EST1clus")
    hash.update(word.span)
    return hash.finalize32()
  }

  private static func word(_ bytes: [UInt8]) -> [UInt8]? {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    let isPrintable = line.allSatisfy { (0x21...0x7E).contains($0) }
    return isPrintable && !line.isEmpty ? Array(line) : nil
  }

  /// `false` when the threads could not be started.
  func startRedis() -> Bool {
    guard let redis else { return true }
    do throws(ReactorError) {
      for text in redis.warnings { log.write(.warning, "redis", text, now: SystemClock.now) }
      try redis.start(on: loop) { [self] in handleNews($0, of: redis) }
      return true
    } catch {
      LineOutput.standardError.write("earshot-rendezvous: \(error).")
      return false
    }
  }

  private func handleNews(_ news: RedisLink.News?, of redis: RedisLink) {
    let now = SystemClock.now
    switch news {
    case .connected:
      guard outage.endIsNews(now: now) else { return }
      log.write(.info, "redis", "Redis is reached at \(redis.service.address)", now: now)
    case .disconnected(let reason):
      let isCutOff = redis.store.standing.isCutOff(now: now)
      let text =
        "Redis at \(redis.service.address) is not reached (\(reason)): calls and clients of this "
        + "node go on; names, and clients of other nodes, are not known until it is back"
        + (isCutOff ? "; nobody new is let in until then" : "")
      if outage.isNews(text, now: now) { log.write(.error, "redis", text, now: now) }
    case .message(let bytes):
      guard let word = redis.store.open(bytes) else { return }
      driver.withMachine { machine, now in machine.handle(word, now: now) }
    case .reply, .listening: break
    case nil: driver.withMachine { machine, now in machine.handleStore(now: now) }
    }
  }
}

/// What the log says of Redis: that it is not reached at once, each new reason once, and the same
/// again at growing intervals; that it is back once. A last line that it is back is true, or was
/// 10 s ago.
struct RedisOutage {
  private var reasons: Set<String> = []
  private var due: Instant?
  private var pause = firstPause
  /// The last line said that it is not reached, or there was none.
  private var isOpen = true
  private var reached: Instant?
  /// Since when it is not reached, where the last line says that it is.
  private var lost: Instant?

  /// Whether the log says now that Redis is not reached.
  mutating func isNews(_ text: String, now: Instant) -> Bool {
    if let reached, now - reached > Self.calm { self = RedisOutage() }
    reached = nil
    if !isOpen, lost == nil { lost = now }
    let isNew = reasons.count < Self.reasonLimit && reasons.insert(text).inserted
    let isUntrue = lost.map { now - $0 >= Self.firstPause } ?? false
    let isDue = due.map { now >= $0 } ?? true || isUntrue
    guard isNew || isDue else { return false }
    if !isNew { pause = min(pause * 2, Self.longestPause) }
    due = now + pause
    (isOpen, lost) = (true, nil)
    return true
  }

  /// Whether the log says now that it is reached.
  mutating func endIsNews(now: Instant) -> Bool {
    (reached, lost) = (now, nil)
    defer { isOpen = false }
    return isOpen
  }

  private static let firstPause = Duration.seconds(10)
  private static let longestPause = Duration.seconds(600)
  /// After so long a new failure is another one.
  private static let calm = Duration.seconds(60)
  private static let reasonLimit = 8
}

extension MetricsText {
  /// How it stands with Redis.
  mutating func add(_ store: SharedStore) {
    let prefix = "earshot_rendezvous_redis_"
    add(prefix + "up", "Whether Redis is reached.", store.isConnected ? 1 : 0)
    add(prefix + "listening", "Whether other nodes are heard.", store.isListening ? 1 : 0)
    for counter in store.counters.all {
      add(prefix + counter.name + "_total", counter.help, counter.value)
    }
  }
}
