import Primitives

/// How many FORWARDs an identity may send to one that has written to it, beside its own rate
/// (docs/protocol/session.md §9): answers to strangers leave the rate for everybody else.
///
/// What allows how many is told by `ForwardCredits`. The table has a fixed size, eight places for
/// each pair; when all are taken, the pair goes whose time ends first, and what it sends counts
/// against the rate.
struct AnswerCredits {
  private struct Record {
    /// 0 is an empty place.
    var key: UInt64 = 0
    /// The second in which the credit ends.
    var end: UInt32 = 0
    var count: UInt32 = 0
  }

  /// RINGING, and each of ACCEPT and HANGUP five times, fit with an INVITE that is sent twice.
  static let perForward = 8
  /// As many programs of an identity as may be, each with its own answers.
  static let most = 64
  /// A ring of 180 s, and as long as an answer is repeated.
  static let life: UInt32 = 190

  private static let ways = 8
  private var records: [Record]
  private let mask: Int
  private let most: Int
  private let hash: KeyedHash

  /// - Parameters:
  ///   - limit: Places; rounded up to a power of two.
  ///   - most: That a pair has at a time.
  init(limit: Int, most: Int = Self.most, hash: KeyedHash) {
    self.most = most
    var sets = 1
    while sets * Self.ways < limit { sets *= 2 }
    records = Array(repeating: Record(), count: sets * Self.ways)
    mask = sets - 1
    self.hash = hash
  }

  /// `answerer` has been written to by `writer`, and may send so many.
  mutating func grant(to answerer: PeerID, from writer: PeerID, count: Int, now: Instant) {
    let (key, place) = place(of: answerer, writer, now: now)
    let held = isAlive(place, key, now: now) ? Int(records[place].count) : 0
    let sum = min(most, held + count)
    records[place] = Record(
      key: key, end: now.second &+ Self.life, count: UInt32(clamping: sum))
  }

  /// Whether a FORWARD of `answerer` to `writer` is an answer; if so it is counted.
  mutating func spend(from answerer: PeerID, to writer: PeerID, now: Instant) -> Bool {
    let (key, place) = place(of: answerer, writer, now: now)
    guard isAlive(place, key, now: now), records[place].count > 0 else { return false }
    records[place].count -= 1
    return true
  }

  /// Whether `writer` has written to `answerer`, in the time that a credit lasts.
  func isGranted(to answerer: PeerID, from writer: PeerID, now: Instant) -> Bool {
    let (key, place) = place(of: answerer, writer, now: now)
    return isAlive(place, key, now: now)
  }

  private func isAlive(_ place: Int, _ key: UInt64, now: Instant) -> Bool {
    records[place].key == key && remaining(place, now: now) > 0
  }

  private func remaining(_ place: Int, now: Instant) -> Int32 {
    Int32(bitPattern: records[place].end &- now.second)
  }

  /// The place of a pair, or the one that it would take.
  private func place(
    of answerer: PeerID, _ writer: PeerID, now: Instant
  ) -> (key: UInt64, index: Int) {
    let key = hash.hash(hash.key(of: answerer), hash.key(of: writer)) | 1
    let start = (Int(truncatingIfNeeded: key >> 32) & mask) &* Self.ways
    var least = start
    for index in start..<(start + Self.ways) {
      if records[index].key == key { return (key, index) }
      if records[least].key == 0 { continue }
      if records[index].key == 0 || remaining(index, now: now) < remaining(least, now: now) {
        least = index
      }
    }
    return (key, least)
  }
}

extension KeyedHash {
  /// An identity in 64 bits.
  func key(of id: PeerID) -> UInt64 { hash(hash(id.word0, id.word1), hash(id.word2, id.word3)) }
}
