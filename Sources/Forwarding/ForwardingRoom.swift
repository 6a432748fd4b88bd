import Primitives
import Tokens
import Wire

/// The seats of one channel at a relay.
final class ForwardingRoom {
  let channel: Bytes32
  /// Those that are taken, in the order in which they were.
  private(set) var seats: [Seat] = []
  private var byUID: [UInt32: Seat] = [:]
  /// Hosts that have published; the place is their source less 1.
  private var sources: [Seat?]
  private var nextSource = 0
  /// Seats whose session is not confirmed, by their uids: of each the latest.
  private var waiting: [UInt32: Seat] = [:]
  /// What of pictures its members want.
  var wanted = WantedRates()
  /// What all hosts' pictures take, and when that was counted.
  var pictureNeeds = PictureNeeds()
  var picturesChecked: Instant?
  /// When it is looked at next whether its members' lines carry all who speak.
  var soundDue = Instant.zero
  /// Seats that have chosen how many of the loudest they hear.
  private(set) var choosers = 0
  /// Fragments that wait for its seats.
  var fragmentCount = 0
  /// Seats whose lines have room for some, and all other packets.
  let pictures: ForwardingTurns.Line
  let prompt: ForwardingTurns.Line

  init(_ channel: Bytes32, limits: ForwardingLimits) {
    self.channel = channel
    pictures = ForwardingTurns.Line(limit: limits.waiting)
    prompt = ForwardingTurns.Line(limit: limits.waiting)
    let count = min(max(1, limits.hosts), Int(ChannelAudioFrame.highestSource))
    sources = Array(repeating: nil, count: count)
  }

  /// Whether nobody has a seat, or is about to: the room goes.
  var isEmpty: Bool { seats.isEmpty && waiting.isEmpty }
  /// Members with a seat, or about to have one: who asks again counts once.
  var memberCount: Int { seats.count + waiting.keys.count { byUID[$0] == nil } }
  func seat(of uid: UInt32) -> Seat? { byUID[uid] }
  func seat(ofSource source: UInt8) -> Seat? {
    sources.indices.contains(Int(source) - 1) ? sources[Int(source) - 1] : nil
  }
  /// Hosts that publish.
  private(set) var hostCount = 0
  /// Those of whose identity there is another one, a bit each.
  private var twins: UInt64 = 0
  /// Hosts whose pictures are kept.
  var pictureSourceCount: Int { seats.count { $0.pictures.store != nil } }
  func waitingSeat(of uid: UInt32) -> Seat? { waiting[uid] }

  func reserve(_ seat: Seat) { waiting[seat.claim.uid] = seat }

  func add(_ seat: Seat) {
    if waiting[seat.claim.uid] === seat { waiting[seat.claim.uid] = nil }
    seats.append(seat)
    byUID[seat.claim.uid] = seat
    if seat.told.loudest != nil { choosers += 1 }
  }

  func remove(_ seat: Seat) {
    if waiting[seat.claim.uid] === seat { waiting[seat.claim.uid] = nil }
    if seat.told.loudest != nil, seats.contains(where: { $0 === seat }) { choosers -= 1 }
    seats.removeAll { $0 === seat }
    if byUID[seat.claim.uid] === seat { byUID[seat.claim.uid] = nil }
    endPublishing(seat)
  }

  /// Takes back a host's number: what it published is not forwarded any more.
  func endPublishing(_ seat: Seat) {
    if seat.source > 0 {
      sources[Int(seat.source) - 1] = nil
      hostCount -= 1
      lookForTwins()
    }
    seat.source = 0
    seat.frames = nil
    seat.pictures.store = nil
    seat.voice = VoiceLevel()
  }

  private func lookForTwins() {
    var places: [PeerID: Int] = [:]
    twins = 0
    for (place, seat) in sources.enumerated() {
      guard let member = seat?.told.member else { continue }
      if let first = places[member] { twins |= 1 << UInt64(first) | 1 << UInt64(place) }
      places[member] = places[member] ?? place
    }
  }

  /// Gives a host that publishes its number; `false` if there is none left. A number is used again
  /// as late as can be.
  func beginPublishing(_ seat: Seat) -> Bool {
    guard seat.source == 0 else { return true }
    for step in sources.indices {
      let place = (nextSource + step) % sources.count
      guard sources[place] == nil else { continue }
      sources[place] = seat
      hostCount += 1
      lookForTwins()
      nextSource = place + 1
      let source = UInt8(place + 1)
      seat.source = source
      for other in seats { other.sentSound.forget(source) }
      return true
    }
    return false
  }

  /// Hosts whose sound goes to a member where its line carries it.
  func speakers(
    to member: Seat, limits: ForwardingLimits, now: Instant,
    where isCounted: (Seat) -> Bool = { _ in true }
  ) -> Int {
    var count = 0
    for case .some(let host) in sources where host !== member && member.mayHear(host) {
      guard host.voice.isSpeaking(pause: limits.speechPause, now: now) else { continue }
      if isCounted(host) { count += 1 }
    }
    return count
  }

  /// A host is not among the loudest any more.
  func leaveOut(_ host: Seat) {
    for other in seats where other !== host && !other.mayHear(host) { other.leaveOut(host) }
  }

  /// How many of those a member would hear if its line was wide.
  func audible(to member: Seat, limits: ForwardingLimits, now: Instant) -> Int {
    min(member.told.loudest ?? .max, speakers(to: member, limits: limits, now: now))
  }

  /// Whether a host whose frame has just come is among the loudest. Who speaks from several seats
  /// has one turn with each of them: the second comes behind all others' first ones.
  func isLoud(_ seat: Seat, limits: ForwardingLimits, now: Instant) -> Bool {
    let own = turn(of: seat, limits, now: now)
    var ahead = 0
    for case .some(let other) in sources where other !== seat {
      guard other.voice.isSpeaking(pause: limits.speechPause, now: now) else { continue }
      let turn = turn(of: other, limits, now: now)
      if turn < own || (turn == own && isLouder(other, than: seat, limits)) { ahead += 1 }
    }
    return ahead < limits.loudest
  }

  /// How many hosts of its identity that speak are louder.
  private func turn(of seat: Seat, _ limits: ForwardingLimits, now: Instant) -> Int {
    turn(of: seat, limits, now: now) { isLouder($0, than: seat, limits) }
  }

  /// How many hosts of its identity that speak come before it.
  func turn(
    of seat: Seat, _ limits: ForwardingLimits, now: Instant, where isBefore: (Seat) -> Bool
  ) -> Int {
    guard twins >> UInt64(seat.source &- 1) & 1 == 1, let member = seat.told.member else {
      return 0
    }
    var count = 0
    for case .some(let other) in sources where other !== seat && other.told.member == member {
      guard other.voice.isSpeaking(pause: limits.speechPause, now: now) else { continue }
      if isBefore(other) { count += 1 }
    }
    return count
  }

  private func isLouder(_ one: Seat, than other: Seat, _ limits: ForwardingLimits) -> Bool {
    let rank = one.voice.rank(hysteresis: limits.hysteresis)
    let otherRank = other.voice.rank(hysteresis: limits.hysteresis)
    return rank > otherRank || (rank == otherRank && one.source < other.source)
  }
}
