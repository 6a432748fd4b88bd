import Primitives
import Wire

/// What one source address (IPv4, or IPv6 /64) has done lately.
struct SourceRecord {
  /// `SocketAddress.limitPrefix`; 0 is an empty place.
  var prefix: UInt64 = 0
  var initiations = RateMeter()
  var cookies = RateMeter()
  var cards = RateMeter()
  var resets = RateMeter()
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

/// Packets that did not open, by source and session, in a table of fixed size
/// (docs/protocol/session.md §6).
struct FailureTable {
  private struct Record {
    var key: UInt64 = 0
    var second: UInt32 = 0
    var count: UInt32 = 0
  }

  private static let count = 4096
  private var records = [Record](repeating: Record(), count: count)
  private let hash: KeyedHash
  /// The second of the last failure: only then is anything looked up.
  private var lastSecond: UInt32?

  init(hash: KeyedHash) { self.hash = hash }

  mutating func append(_ source: SocketAddress, _ session: ConnectionID, now: Instant) {
    lastSecond = now.second
    let (key, place) = place(of: source, session)
    if records[place].key != key || records[place].second != now.second {
      records[place] = Record(key: key, second: now.second)
    }
    records[place].count &+= 1
  }

  /// Whether more than `limit` packets of `source` to `session` failed in this second or the last
  /// one in which any did, if that was the one before.
  func isIgnored(
    _ source: SocketAddress, _ session: ConnectionID, limit: Int, now: Instant
  ) -> Bool {
    guard let lastSecond, now.second &- lastSecond <= 1 else { return false }
    let (key, place) = place(of: source, session)
    return records[place].key == key && records[place].count > UInt32(clamping: limit)
      && now.second &- records[place].second <= 1
  }

  private func place(
    of source: SocketAddress, _ session: ConnectionID
  ) -> (key: UInt64, place: Int) {
    let key = hash.hash(source.limitPrefix, UInt64(session.rawValue) << 1 | 1) | 1
    return (key, Int(truncatingIfNeeded: key >> 32) & (Self.count - 1))
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

/// The INIT rates of identities, in a table of fixed size.
struct IdentityRates {
  private var table: MeterTable
  private let hash: KeyedHash

  init(limit: Int, hash: KeyedHash) {
    table = MeterTable(limit: limit)
    self.hash = hash
  }

  mutating func admit(_ id: PeerID, _ rate: Rate, now: Instant) -> Bool {
    table.admit(hash.hash(id.word0 ^ id.word2, id.word1 ^ id.word3) | 1, rate, now: now)
  }
}
