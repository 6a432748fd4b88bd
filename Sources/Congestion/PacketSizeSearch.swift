package import Primitives

/// How long a packet the path carries, found by what becomes of the media's own packets and by
/// padded ones (RFC 8899, RFC 9000 §14.3).
///
/// Where long packets vanish and shorter ones sent among them arrive, `limit` falls at once to what
/// every path carries. Then longer ones are tried from the top, each three times; what arrives is
/// the new limit. After 2 s the longer ones are tried again, then after 4 s, in the end each 30 s;
/// only while there are packets that would be longer.
package struct PacketSizeSearch: Sendable {
  /// The longest datagram to be sent, in bytes without IP and UDP.
  package private(set) var limit = Datagram.maximumByteCount
  /// Packets that were lost in a row, none as long having arrived since the first of them.
  private var lost: (count: Int, shortest: Int, first: Instant, last: Instant)?
  /// Shorter ones that were sent later than the first of those and have arrived, up to three, and
  /// when the last of the three was sent.
  private var arrivedAmong = 0
  private var lastAmong = Instant.zero
  /// The place in `Self.sizes` that is tried, how often it was, and when again.
  private var trial: (place: Int, count: Int, next: Instant)?
  /// Until all longer ones are tried again.
  private var pause = Self.firstPause
  /// When a packet of media was last sent that is about as long as the limit lets it be.
  private var lastFull = Instant.zero

  package init() {}

  /// A packet of media goes out, of so many bytes: about as many as it may have, if it would have
  /// more.
  package mutating func noteMedia(byteCount: Int, now: Instant) {
    if byteCount + Self.rest >= limit { lastFull = now }
  }

  /// Takes what became of a packet.
  ///
  /// - Returns: whether a loss may be the path's for want of room, and not for its length.
  package mutating func handle(_ outcome: PacketOutcome, now: Instant) -> Bool {
    switch outcome.fate {
    case .acknowledged, .acknowledgedLate:
      noteArrival(outcome.packet, now: now)
      return true
    case .lost:
      guard outcome.packet.byteCount <= limit else { return false }
      noteLoss(outcome.packet, now: now)
      return true
    }
  }

  /// The length of a packet of padding to be sent now; says so once each time.
  package mutating func pollTrial(now: Instant) -> Int? {
    guard var trial, trial.next <= now else { return nil }
    if trial.count == 0, trial.place == 0, !isWanted(now: now) {
      // Nobody would send longer ones, and a narrow line is full of one.
      self.trial = (0, 0, now + Self.firstPause)
      return nil
    }
    if trial.count == Self.triesPerSize {
      trial.place += 1
      trial.count = 0
    }
    guard trial.place < Self.sizes.count, Self.sizes[trial.place] > limit else {
      self.trial = (0, 0, now + pause)
      pause = min(pause * 2, Self.longestPause)
      return nil
    }
    trial.count += 1
    trial.next = now + Self.pace
    self.trial = trial
    return Self.sizes[trial.place]
  }

  /// Whether there have been packets of media lately that would be longer.
  package func isWanted(now: Instant) -> Bool { now < lastFull + Self.demand }

  /// When `pollTrial` next has something to say.
  package var nextDeadline: Instant? { trial?.next }

  /// The path is another one.
  package mutating func restart() { self = PacketSizeSearch() }

  private mutating func noteArrival(_ packet: SentPacket, now: Instant) {
    if packet.byteCount > limit {
      limit = packet.byteCount
      let isWhole = limit >= Datagram.maximumByteCount
      trial = isWhole ? nil : (0, 0, now + pause)
    }
    guard let lost, packet.sent >= lost.first else { return }
    if packet.byteCount >= lost.shortest {
      self.lost = nil
      forgetArrivals()
    } else if arrivedAmong < Self.arrivals {
      arrivedAmong += 1
      lastAmong = max(lastAmong, packet.sent)
    }
  }

  private mutating func noteLoss(_ packet: SentPacket, now: Instant) {
    guard packet.byteCount > Self.sure else { return }
    var run = lost ?? (0, packet.byteCount, packet.sent, packet.sent)
    run.count += 1
    run.shortest = min(run.shortest, packet.byteCount)
    run.last = max(run.last, packet.sent)
    lost = run
    // Those that were sent behind the last of the row say only that a burst is over.
    guard run.count >= Self.lostInARow, arrivedAmong == Self.arrivals, lastAmong < run.last,
      run.last - run.first >= Self.span
    else { return }
    limit = Self.sure
    lost = nil
    forgetArrivals()
    trial = (0, 0, now)
    pause = Self.firstPause
  }

  private mutating func forgetArrivals() {
    arrivedAmong = 0
    lastAmong = .zero
  }

  /// With IP and UDP 576 bytes, which every host of IPv4 must take (RFC 791 §3.1).
  private static let sure = 548
  /// Tried after a fall, and each time after `pause`, down to the first that arrives.
  private static let sizes = [1200, 1100, 1000, 900, 800, 700, 620]
  /// As MAX_PROBES of RFC 8899 §5.1.2.
  private static let triesPerSize = 3
  private static let pace = Duration.milliseconds(150)
  private static let firstPause = Duration.seconds(2)
  /// Pictures are cut into parts of one length, headers come in front.
  private static let rest = 100
  private static let demand = Duration.seconds(2)
  private static let longestPause = Duration.seconds(30)
  /// At random loss of 30 % so many in a row come once in 170,000 packets.
  private static let lostInARow = 10
  /// Shorter packets that arrive among them, and the time that they take: a full queue has room for
  /// a short packet as well, but not for long.
  private static let arrivals = 3
  private static let span = Duration.milliseconds(60)
}
