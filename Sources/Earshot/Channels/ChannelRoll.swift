internal import Primitives

/// Whom a stay in a channel has met, and the numbers of each over all ways.
struct ChannelRoll {
  enum Source { case call, relay }

  struct Entry {
    var user: ChannelUser
    var isThere = true
    /// How long it was heard before it left last, silence apart.
    var heard = Duration.zero
    /// A first frame of it came.
    var wasHeard = false
    /// The latest of the call with it, or of what comes of it by a relay.
    var numbers: CallStatistics?
    /// Of calls with it that are over, and of former seats at a relay.
    private var past = (packets: 0, lost: 0, residual: 0)
    /// What a relay's numbers were when another way was taken: of another seat they count on.
    private var former = (packets: 0, lost: 0, residual: 0)
    /// What of `numbers` is in `past`.
    private var counted = (packets: 0, lost: 0, residual: 0)
    private var hasPast = false
    private var pastMOS: Double?
    private var pastRoundTrip: Double?

    init(user: ChannelUser) { self.user = user }

    /// Audio packets that were received or lost; `nil` without a call with it.
    var packets: Int? {
      guard hasPast || numbers != nil else { return nil }
      return past.packets + (numbers?.received.packetCount ?? 0) - counted.packets
    }

    /// Of them lost.
    var lost: Int? {
      packets.map { _ in past.lost + (numbers?.received.packetsLost ?? 0) - counted.lost }
    }

    /// Of these, what nothing brought in time.
    var residualLost: Int? {
      packets.map { _ in
        past.residual + (numbers?.received.residualLost ?? 0) - counted.residual
      }
    }

    /// Of the latest call with it, 1...5.
    var mos: Double? { numbers?.received.mos ?? pastMOS }
    /// The last of it, in ms.
    var roundTrip: Double? { numbers?.currentRttMs ?? pastRoundTrip }

    /// Where `numbers` are from.
    fileprivate var source = Source.call

    fileprivate mutating func close() {
      guard let packets, let lost, let residualLost else { return }
      (pastMOS, pastRoundTrip) = (mos, roundTrip)
      if source == .relay, let last = numbers?.received {
        former = (last.packetCount, last.packetsLost, last.residualLost)
      }
      (past, hasPast, numbers) = ((packets, lost, residualLost), true, nil)
      counted = (0, 0, 0)
    }

    /// Who comes again is counted from the beginning.
    fileprivate mutating func end() {
      close()
      former = (0, 0, 0)
    }

    fileprivate mutating func begin(_ numbers: CallStatistics, by source: Source) {
      close()
      self.source = source
      let goesOn = source == .relay && numbers.received.packetCount >= former.packets
      counted = goesOn ? former : (0, 0, 0)
    }
  }

  /// Who came first stands in front.
  private(set) var entries: [Entry] = []
  /// How many more there were than are kept.
  private(set) var leftOut = 0

  /// A channel of that many has its members in the summary.
  static let most = 1024

  mutating func add(_ user: ChannelUser) {
    if let index = index(of: user.uid), entries[index].user.id == user.id {
      entries[index].user = user
      entries[index].isThere = true
    } else if entries.count < Self.most {
      entries.append(Entry(user: user))
    } else {
      leftOut += 1
    }
  }

  mutating func hear(_ uid: UInt32) {
    if let index = index(of: uid) { entries[index].wasHeard = true }
  }

  mutating func setAudience(_ uid: UInt32) {
    if let index = index(of: uid) { entries[index].user.role = .audience }
  }

  mutating func leave(_ uid: UInt32, heard: Duration) {
    guard let index = index(of: uid) else { return }
    entries[index].isThere = false
    entries[index].heard += heard
    entries[index].end()
  }

  /// - Parameters:
  ///   - numbers: The latest of the call with it, or by a relay; `nil` when that is over. Less than
  ///     before is a new count, and so is one from elsewhere.
  ///   - source: Which of the two.
  mutating func setNumbers(
    _ numbers: CallStatistics?, of uid: UInt32, by source: Source = .call
  ) {
    guard let index = index(of: uid) else { return }
    guard let numbers else { return entries[index].close() }
    let before = entries[index].numbers?.received.packetsReceived
    if before == nil || entries[index].source != source
      || numbers.received.packetsReceived < before ?? 0
    {
      entries[index].begin(numbers, by: source)
    }
    entries[index].numbers = numbers
  }

  func isThere(_ uid: UInt32) -> Bool { index(of: uid).map { entries[$0].isThere } ?? false }

  /// Who has a uid, or had it last.
  ///
  /// - Throws: `channelState` where nobody has had it.
  func id(of uid: UInt32, among users: [ChannelUser]) throws(EarshotError) -> PeerID {
    if let user = users.first(where: { $0.uid == uid }) { return user.id }
    if let index = index(of: uid) { return entries[index].user.id }
    throw EarshotError(
      .channelState, "Nobody has had the uid \(uid) in this stay.",
      advice: "Use one that a step has told of.")
  }

  /// The latest who had it.
  private func index(of uid: UInt32) -> Int? { entries.lastIndex { $0.user.uid == uid } }
}

extension CallStatistics.Inbound {
  /// Those that came, and those that did not.
  fileprivate var packetCount: Int { packetsReceived + packetsLost }
}
