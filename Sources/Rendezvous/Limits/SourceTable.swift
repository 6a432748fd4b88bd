import Primitives

/// What one source address (IPv4, or IPv6 /64) has done lately.
struct SourceRecord {
  /// `SocketAddress.limitPrefix`; 0 is an empty place.
  var prefix: UInt64 = 0
  var initiations = RateMeter()
  var answers = RateMeter()
  var resets = RateMeter()
  /// Packets that did not open since `failureSecond` began.
  var failures: UInt32 = 0
  var failureSecond: UInt32 = 0
  /// The second in which it was last heard of.
  var lastSeen: UInt32 = 0
}

/// The rates of the sources seen lately, in a table of fixed size.
///
/// A source has eight places it can be in; when all are taken, the one quiet longest makes room.
/// Whoever has more addresses than that can have rates forgotten: what such a flood can buy is
/// bounded by the cookies and by the rates in all.
struct SourceTable {
  private static let ways = 8
  private var records: [SourceRecord]
  private let mask: Int
  private let hash: KeyedHash

  /// - Parameter limit: Places; rounded up to a power of two.
  init(limit: Int, hash: KeyedHash) {
    var sets = 1
    while sets * Self.ways < limit { sets *= 2 }
    records = Array(repeating: SourceRecord(), count: sets * Self.ways)
    mask = sets - 1
    self.hash = hash
  }

  /// Runs `body` on the record of `source`, made anew if there is none.
  @inline(__always)
  mutating func withRecord<Result>(
    of source: SocketAddress, now: Instant, _ body: (inout SourceRecord) -> Result
  ) -> Result {
    let index = place(of: source.limitPrefix, second: now.second)
    records[index].lastSeen = now.second
    return body(&records[index])
  }

  /// Notes a packet that did not open (docs/protocol/session.md §6).
  mutating func noteFailure(of source: SocketAddress, now: Instant) {
    withRecord(of: source, now: now) { record in
      if record.failureSecond != now.second {
        record.failureSecond = now.second
        record.failures = 0
      }
      record.failures &+= 1
    }
  }

  /// Whether packets of `source` are to be dropped unread: more than `limit` failures in this
  /// second or the one before.
  func isIgnored(_ source: SocketAddress, limit: Int, now: Instant) -> Bool {
    guard let index = find(source.limitPrefix) else { return false }
    let record = records[index]
    return record.failures > UInt32(clamping: limit) && now.second &- record.failureSecond <= 1
  }

  private func find(_ prefix: UInt64) -> Int? {
    let start = (Int(truncatingIfNeeded: hash.hash(prefix)) & mask) &* Self.ways
    for index in start..<(start + Self.ways) where records[index].prefix == prefix {
      return index
    }
    return nil
  }

  private mutating func place(of prefix: UInt64, second: UInt32) -> Int {
    let start = (Int(truncatingIfNeeded: hash.hash(prefix)) & mask) &* Self.ways
    var oldest = start
    for index in start..<(start + Self.ways) {
      if records[index].prefix == prefix { return index }
      if records[index].prefix == 0 {
        oldest = index
        break
      }
      if second &- records[index].lastSeen > second &- records[oldest].lastSeen { oldest = index }
    }
    records[oldest] = SourceRecord()
    records[oldest].prefix = prefix
    return oldest
  }
}

/// How many sessions each source has, in a fixed 64 KiB: a count-min sketch (Cormode and
/// Muthukrishnan 2005). It never counts too few; with 65 536 sessions spread over sources it counts
/// about four too many, of 256.
struct SourceCounts {
  private static let width = 1 << 14
  private var counts = [UInt32](repeating: 0, count: 2 * width)
  private let hash: KeyedHash

  init(hash: KeyedHash) { self.hash = hash }

  func count(of prefix: UInt64) -> Int {
    let (first, second) = cells(prefix)
    return Int(min(counts[first], counts[second]))
  }

  mutating func add(_ prefix: UInt64) {
    let (first, second) = cells(prefix)
    counts[first] &+= 1
    counts[second] &+= 1
  }

  mutating func remove(_ prefix: UInt64) {
    let (first, second) = cells(prefix)
    counts[first] &-= 1
    counts[second] &-= 1
  }

  private func cells(_ prefix: UInt64) -> (Int, Int) {
    let hash = hash.hash(prefix, 1)
    return (
      Int(truncatingIfNeeded: hash) & (Self.width - 1),
      Self.width + (Int(truncatingIfNeeded: hash >> 32) & (Self.width - 1))
    )
  }
}

extension Instant {
  /// Whole seconds of the clock; wraps after 136 years.
  var second: UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000_000_000) }
  /// Whole milliseconds of the clock; wraps after 49 days.
  var millisecond: UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000_000) }
}

/// The INIT rates of identities, in a table of fixed size like `SourceTable`.
struct IdentityRates {
  private static let ways = 8
  private var hashes: [UInt64]
  private var meters: [RateMeter]
  private let mask: Int
  private let hash: KeyedHash

  init(limit: Int, hash: KeyedHash) {
    var sets = 1
    while sets * Self.ways < limit { sets *= 2 }
    hashes = Array(repeating: 0, count: sets * Self.ways)
    meters = Array(repeating: RateMeter(), count: sets * Self.ways)
    mask = sets - 1
    self.hash = hash
  }

  mutating func take(_ id: PeerID, _ rate: Rate, now: Instant) -> Bool {
    let key = hash.hash(id.word0 ^ id.word2, id.word1 ^ id.word3) | 1
    let start = (Int(truncatingIfNeeded: key >> 32) & mask) &* Self.ways
    var place = start
    for index in start..<(start + Self.ways) {
      if hashes[index] == key { return meters[index].take(rate, now: now) }
      // One that owes nothing is as good as empty.
      if meters[index].isIdle(now: now) { place = index }
    }
    hashes[place] = key
    meters[place] = RateMeter()
    return meters[place].take(rate, now: now)
  }
}
