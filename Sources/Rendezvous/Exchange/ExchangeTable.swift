import Messaging
import Primitives
import Wire

/// The exchanges under way, which of them has something to do next, and which has to go first.
///
/// Places are used again; alarms lie on a wheel of 1024 slots of 4 ms, so that setting, moving and
/// finding them does not depend on how many there are.
struct ExchangeTable {
  private static let listCount = 1024

  private var places: [Exchange] = []
  private var free: [UInt32] = []
  private(set) var count = 0
  private let limits: ServerLimits
  private let hash: KeyedHash
  /// Bytes of half-received messages: in all, by host and by network.
  private(set) var reassemblyByteCount = 0
  private var hostByteCounts = [Int](repeating: 0, count: listCount)
  private var networkByteCounts = [Int](repeating: 0, count: listCount)
  private var wheel = AlarmWheel()
  /// By when they last came forward: begun, or acknowledged.
  private var byAge = RecencyLists(listCount: 1)
  private var byHost = RecencyLists(listCount: listCount)
  private var byNetwork = RecencyLists(listCount: listCount)

  init(_ limits: ServerLimits, hash: KeyedHash) {
    self.limits = limits
    self.hash = hash
  }

  /// The exchange that has to be given up before another one of `source` may begin, but for the one
  /// of `slot`: the stalest of its host or network when they have their most, else of all.
  func excess(for source: SocketAddress, except slot: UInt32?, now: Instant) -> UInt32? {
    let host = byHost.list(of: source.key(.host, hash) ?? 0)
    let network = byNetwork.list(of: source.key(.network, hash) ?? 0)
    return excess(of: byHost, host, beyond: limits.exchangesPerHost, except: slot, now: now)
      ?? excess(of: byNetwork, network, beyond: limits.exchangesPerNetwork, except: slot, now: now)
      ?? (count >= limits.exchanges ? stalest(of: byAge, 0, except: slot) : nil)
  }

  /// A message to all members of a channel opens an exchange with each at once, and none of them
  /// can have answered yet: for a moment there may be twice as many.
  private func excess(
    of lists: RecencyLists, _ list: Int, beyond most: Int, except slot: UInt32?, now: Instant
  ) -> UInt32? {
    let number = lists.count(in: list)
    guard number >= most, let index = stalest(of: lists, list, except: slot) else { return nil }
    let isNew = number < 2 * most && places[Int(index)].mayBeAnswered(now: now)
    return isNew ? nil : index
  }

  private func stalest(of lists: RecencyLists, _ list: Int, except slot: UInt32?) -> UInt32? {
    guard let first = lists.first(in: list) else { return nil }
    return places[Int(first)].slot == slot ? lists.next(after: first) : first
  }

  /// A new exchange of a client at `source`.
  mutating func insert(_ exchange: Exchange, from source: SocketAddress) -> UInt32 {
    count += 1
    let index = free.popLast() ?? UInt32(places.count)
    if index == places.count { places.append(exchange) } else { places[Int(index)] = exchange }
    byAge.append(index, to: 0)
    byHost.append(index, to: byHost.list(of: source.key(.host, hash) ?? 0))
    byNetwork.append(index, to: byNetwork.list(of: source.key(.network, hash) ?? 0))
    return index
  }

  mutating func remove(_ index: UInt32) {
    count(-places[Int(index)].channel.reassemblyByteCount, of: index)
    places[Int(index)] = Exchange(slot: Exchange.noSlot)
    byAge.remove(index)
    byHost.remove(index)
    byNetwork.remove(index)
    free.append(index)
    count -= 1
  }

  /// The exchange came forward: it is the last that has to go.
  mutating func touch(_ index: UInt32) {
    byAge.touch(index)
    byHost.touch(index)
    byNetwork.touch(index)
  }

  subscript(index: UInt32) -> Exchange { _read { yield places[Int(index)] } }

  /// Runs `body` on an exchange, in place.
  @inline(__always)
  mutating func with<Result, Failure: Error>(
    _ index: UInt32, _ body: (inout Exchange) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(&places[Int(index)])
  }

  // MARK: Half-received messages

  private mutating func count(_ byteCount: Int, of index: UInt32) {
    reassemblyByteCount += byteCount
    hostByteCounts[byHost.list(containing: index)] += byteCount
    networkByteCounts[byNetwork.list(containing: index)] += byteCount
  }

  /// The exchange that has to go because too many half messages are here since one of `index`
  /// grew: the one with most of its host or network, or of the host that has most.
  func hoarder(beside index: UInt32) -> UInt32? {
    let host = byHost.list(containing: index)
    if hostByteCounts[host] > limits.reassemblyPerHost { return largest(of: byHost, host) }
    let network = byNetwork.list(containing: index)
    if networkByteCounts[network] > limits.reassemblyPerNetwork {
      return largest(of: byNetwork, network)
    }
    guard reassemblyByteCount > limits.reassemblyByteCount else { return nil }
    var fullest = 0
    for list in hostByteCounts.indices where hostByteCounts[list] > hostByteCounts[fullest] {
      fullest = list
    }
    return largest(of: byHost, fullest)
  }

  private func largest(of lists: RecencyLists, _ list: Int) -> UInt32? {
    var best: (index: UInt32, byteCount: Int)?
    var next = lists.first(in: list)
    while let index = next {
      let byteCount = places[Int(index)].channel.reassemblyByteCount
      if byteCount > best?.byteCount ?? 0 { best = (index, byteCount) }
      next = lists.next(after: index)
    }
    return best?.index
  }

  /// Hands a fragment to an exchange, and keeps the count of half-received bytes.
  mutating func handle(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, of index: UInt32, now: Instant
  ) throws(MessageFault) {
    let before = places[Int(index)].channel.reassemblyByteCount
    defer { count(places[Int(index)].channel.reassemblyByteCount - before, of: index) }
    try places[Int(index)].channel.handle(frame, bytes: bytes, now: now)
  }

  mutating func poll(_ index: UInt32) -> MessageEvent? {
    places[Int(index)].hasChannel ? places[Int(index)].channel.poll() : nil
  }

  /// Puts the exchange's next deadline on the wheel, if it is sooner than what is there.
  mutating func setAlarm(_ index: UInt32) {
    let patience = limits.patience
    let tick = with(index) { exchange -> UInt64? in
      guard let deadline = exchange.nextDeadline(patience: patience) else { return nil }
      let tick = AlarmWheel.tick(atOrAfter: deadline)
      if let alarm = exchange.alarm, alarm <= tick { return nil }
      exchange.alarm = tick
      return tick
    }
    if let tick { wheel.add(index, at: tick) }
  }

  var nextDeadline: Instant? { wheel.nextDeadline }

  /// An exchange whose alarm has come; call until `nil`. It may turn out to have nothing to do.
  mutating func popDue(now: Instant) -> UInt32? {
    while let (index, tick) = wheel.popDue(now: now) {
      // An alarm that was moved to an earlier moment leaves its old entry behind.
      guard Int(index) < places.count, places[Int(index)].alarm == tick else { continue }
      places[Int(index)].alarm = nil
      return index
    }
    return nil
  }
}
