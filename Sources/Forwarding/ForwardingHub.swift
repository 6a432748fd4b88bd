import Congestion
package import Primitives
package import Tokens
package import Wire

/// The relay's part of a server (docs/protocol/relay.md): which sealed frame of a channel goes to
/// whom, in which packet. Sessions, addresses and their proofs are the server's.
///
/// A class, because a server has one or none; the server owns it. On the way of an audio frame it
/// allocates nothing.
package final class ForwardingHub {
  package let limits: ForwardingLimits
  package internal(set) var counters = ForwardingCounters()
  /// By the session's slot.
  private var seats: [Seat?] = []
  private var rooms: [Bytes32: ForwardingRoom] = [:]
  private var seatCount: UInt32 = 0
  let pictureMemory: PictureMemory
  /// Seats that members lost.
  private var ended: EndedSeats
  private var origins = OriginTable()
  /// What waits to be written: pictures, and all else.
  var prompt: ForwardingTurns
  let pictures: PictureForwarding
  /// Packets with pictures that may leave before the server looks what has come.
  var picturesLeft: Int
  /// Packets in a row while others of the server waited.
  private var inARow = 0
  /// Slots of hosts whose reports are to come.
  private var reporting: [UInt32] = []
  /// What the packet that was written last has.
  private var lastContent = ForwardingQueue.Content.word
  /// Of all but pictures' lines.
  var ownDeadline: Instant?

  package init(limits: ForwardingLimits = ForwardingLimits()) {
    self.limits = limits
    ended = EndedSeats(limit: limits.endedSeats)
    pictureMemory = PictureMemory(limits)
    prompt = ForwardingTurns(limit: limits.waiting, packetsInTurn: limits.packetsInTurn)
    pictures = PictureForwarding(limits)
    picturesLeft = limits.picturesAtOnce
  }

  /// A seat and its room keep each other until the seat is left.
  deinit {
    for slot in seats.indices { remove(UInt32(slot)) }
  }

  // MARK: - Seats

  /// Why a session with that claim would have no seat, if so. Without one a member would hear
  /// nothing, and never know: the server lets it have no session.
  package func refuse(_ claim: SeatClaim) -> SeatRefusal? {
    let refusal = refusal(of: claim)
    if refusal != nil { counters.seatsRefused &+= 1 }
    return refusal
  }

  private func refusal(of claim: SeatClaim) -> SeatRefusal? {
    if ended.contains(claim) { return .ended }
    guard let room = rooms[claim.channel] else {
      return rooms.count < limits.channels ? nil : .full
    }
    if let former = room.seat(of: claim.uid) {
      return former.claim.isLater(than: claim) ? .ended : nil
    }
    // A member whose INIT comes again has what was kept for the one before.
    guard room.waitingSeat(of: claim.uid) == nil else { return nil }
    return room.memberCount < limits.seats ? nil : .full
  }

  /// A session stands whose first packet has not come yet.
  ///
  /// - Parameters:
  ///   - member: Whose card that is; `nil`: not known.
  ///   - card: The contact card of its INIT.
  ///   - takesData: Whether it understands CHANNEL_DATA.
  ///   - takesUnsentCounts: Whether it understands CHANNEL_UNSENT.
  ///   - loudest: How many of the loudest hosts it wants; 0 = as many as is usual.
  ///   - prefixes: Where that came from; `nil`: not counted.
  package func reserve(
    _ slot: UInt32, for claim: SeatClaim, of member: PeerID? = nil, card: [UInt8],
    takesData: Bool = false, takesUnsentCounts: Bool = false, loudest: Int = 0,
    from prefixes: SeatPrefixes? = nil
  ) {
    while seats.count <= Int(slot) { seats.append(nil) }
    remove(slot)
    guard refuse(claim) == nil else { return }
    let room = rooms[claim.channel] ?? ForwardingRoom(claim.channel, limits: limits)
    rooms[claim.channel] = room
    let former = room.waitingSeat(of: claim.uid)
    seatCount &+= 1
    let seat = Seat(slot: slot, number: seatCount, claim: claim, card: card, room: room)
    seat.told.member = member
    seat.told.takesData = takesData
    seat.told.takesUnsentCounts = takesUnsentCounts
    if loudest > 0 { seat.told.loudest = min(loudest, limits.chosen) }
    seat.pictures.origin = origins.add(prefixes)
    seats[Int(slot)] = seat
    room.reserve(seat)
    if let former { remove(former.slot) }
  }

  /// The session is confirmed: whoever had the uid before has it no more, unless its grant is the
  /// later one.
  ///
  /// - Returns: The session that has no seat now, and is to end: the one before, or this one.
  @discardableResult
  package func confirm(_ slot: UInt32) -> UInt32? {
    // Its seat is kept for a later session of the same member.
    guard let seat = seat(slot) else { return slot }
    guard !seat.isTaken else { return nil }
    let former = seat.room.seat(of: seat.claim.uid)
    guard !ended.contains(seat.claim), former?.claim.isLater(than: seat.claim) != true else {
      counters.seatsRefused &+= 1
      remove(slot)
      return slot
    }
    if let former { remove(former.slot) }
    seat.isTaken = true
    seat.room.add(seat)
    return former?.slot
  }

  /// What a session is at the relay for; `nil` where it has no seat.
  package func claim(of slot: UInt32) -> SeatClaim? { seat(slot)?.claim }

  package func remove(_ slot: UInt32) {
    guard let seat = seat(slot) else { return }
    seats[Int(slot)] = nil
    pictures.release(seat)
    origins.remove(seat.pictures.origin)
    let room = seat.room
    room.remove(seat)
    if room.isEmpty {
      rooms[room.channel] = nil
      prompt.empty(room.prompt)
      pictures.forget(room)
    }
  }

  /// A newer grant; `false` if it is for another seat than the session has, or an older one. The
  /// role may change.
  package func renew(_ slot: UInt32, by claim: SeatClaim?) -> Bool {
    guard let seat = seat(slot), let claim, seat.claim.channel == claim.channel,
      seat.claim.uid == claim.uid, !seat.claim.isLater(than: claim), !ended.contains(claim)
    else { return false }
    if seat.claim.role == .host, claim.role == .audience { seat.room.endPublishing(seat) }
    seat.claim = claim
    return true
  }

  /// A member has lost the right to its seat, or to be a host there.
  ///
  /// - Returns: The session that has no right to its seat.
  package func end(_ seat: EndedSeat, unixMilliseconds: UInt64 = 0) -> UInt32? {
    ended.end(unixMilliseconds: unixMilliseconds)
    ended.insert(seat)
    if let host = rooms[EndedSeat.hosts(of: seat.channel)]?.seat(of: seat.uid) {
      endHosting(of: host)
      return nil
    }
    let taken = rooms[seat.channel]?.seat(of: seat.uid)
    guard let taken, ended.contains(taken.claim) else { return nil }
    counters.seatsEnded &+= 1
    return taken.slot
  }

  /// A member became audience, and may not have shown a grant that says so.
  private func endHosting(of seat: Seat) {
    guard ended.contains(seat.claim) else { return }
    seat.room.endPublishing(seat)
    seat.claim.role = .audience
    counters.hostsEnded &+= 1
  }

  // MARK: - Inputs

  /// Takes a frame of a member; `false` if it is none that a member may send.
  package func handle(
    _ frame: Frame, in packet: Span<UInt8>, of slot: UInt32, now: Instant
  ) -> Bool {
    guard let seat = seat(slot), seat.isTaken else { return false }
    switch frame {
    case .channelAudio(let audio, let sealed):
      handle(audio, packet.bytes(at: sealed), of: seat, in: packet, now: now)
    case .channelCopy(let copy, let sealed):
      if seat.copies.count < Seat.mostCopies { seat.copies.append((copy, sealed)) }
    case .channelKey(let uid, let bytes):
      pass(packet.bytes(at: bytes), to: uid, from: seat, now: now)
    case .channelWho(let uid): answer(uid, to: seat, now: now)
    default: return pictures.handle(frame, in: packet, of: seat, self, now: now)
    }
    return true
  }

  /// A member's packet has been read to its end.
  ///
  /// - Returns: What the server is to report of it at once; the rest is reported here.
  package func noteArrival(
    _ number: UInt32, of slot: UInt32, isCongestionExperienced: Bool, byteCount: Int,
    demand: FeedbackDemand, now: Instant
  ) -> FeedbackDemand {
    guard let seat = seat(slot) else { return demand }
    seat.copies.removeAll(keepingCapacity: true)
    seat.lastArrival = now
    let isMedia = demand == .interval
    if isMedia, seat.recorder == nil {
      seat.recorder = FeedbackRecorder(interval: FeedbackRecorder.audioInterval)
    }
    if seat.pictures.store != nil { seat.recorder?.interval = FeedbackRecorder.usualInterval }
    seat.recorder?.record(
      UInt64(number), at: now, isCongestionExperienced: isCongestionExperienced,
      demand: isMedia ? .interval : .none, byteCount: byteCount)
    guard isMedia else { return demand }
    if !seat.awaitsReport {
      seat.awaitsReport = true
      reporting.append(slot)
    }
    ownDeadline = earliest(ownDeadline, seat.recorder?.nextDeadline)
    return .none
  }

  /// - Parameter sent: The number of the next packet to the member.
  package func handle(
    _ feedback: FeedbackFrame, in packet: Span<UInt8>, of slot: UInt32, sent: UInt32,
    now: Instant
  ) {
    guard let seat = seat(slot) else { return }
    guard
      seat.meters.reports.admit(
        perSecond: limits.reportsPerSecond, burst: limits.reportsPerSecond, now: now)
    else { return counters.tooMany &+= 1 }
    seat.loss.handle(feedback, in: packet, sent: sent)
    pictures.handle(feedback, in: packet, of: seat, now: now)
  }

  /// The packet that was written last has left under that number.
  package func noteSent(_ number: UInt32, to slot: UInt32, byteCount: Int, now: Instant) {
    guard let downlink = seat(slot)?.pictures.downlink else { return }
    downlink.recordSent(number, lastContent, byteCount: byteCount, now: now)
  }

  package func handleTimeout(now: Instant) {
    guard let due = nextDeadline, due <= now else { return }
    picturesLeft = limits.picturesAtOnce
    pictures.handleTimeout(self, now: now)
    guard let due = ownDeadline, due <= now else { return }
    ownDeadline = nil
    giveBackPictureMemory(now: now)
    reporting.removeAll { slot in
      guard let seat = seat(slot), let deadline = seat.recorder?.nextDeadline else {
        seat(slot)?.awaitsReport = false
        return true
      }
      guard deadline <= now else {
        ownDeadline = earliest(ownDeadline, deadline)
        return false
      }
      seat.awaitsReport = false
      append(.report, to: seat)
      return true
    }
  }

  // MARK: - Outputs

  /// Writes the frames of the next packet behind room for its header; `nil` when there is none, or
  /// when it is the turn of others.
  ///
  /// - Parameter othersWait: The server has something else to write.
  /// - Returns: The session that seals it.
  @_lifetime(packet: copy packet)
  package func write(
    into packet: inout OutputSpan<UInt8>, othersWait: Bool = false, now: Instant
  ) -> UInt32? {
    inARow = othersWait ? inARow + 1 : 0
    if inARow > limits.packetsInTurn {
      inARow = 0
      return nil
    }
    while let job = nextJob(now: now) {
      guard let seat = seat(job.slot), seat.number == job.seat else { continue }
      packet.append(zeros: SealedPacket.headerByteCount)
      let start = packet.count
      lastContent = job.content
      switch job.content {
      case .audio(let sender, let number): write(number, of: sender, to: seat, into: &packet)
      case .word: writeWord(to: seat, into: &packet)
      case .report: writeReport(to: seat, into: &packet, now: now)
      case .picture, .pictureAgain, .wants, .askPictures, .padding:
        pictures.write(job.content, to: seat, into: &packet, self, now: now)
      case .nextPicture: break
      }
      if packet.count > start { return job.slot }
      packet.removeAll()
    }
    return nil
  }

  // MARK: - Getters

  package var nextDeadline: Instant? { earliest(ownDeadline, pictures.nextDeadline) }
  package var roomCount: Int { rooms.count }
  package var takenCount: Int { rooms.values.reduce(0) { $0 + $1.seats.count } }
  /// Of 65 536, as the member's reports say.
  package func loss(of slot: UInt32) -> Int? { seat(slot)?.loss.share }

  func seat(_ slot: UInt32) -> Seat? {
    Int(slot) < seats.count ? seats[Int(slot)] : nil
  }

  // MARK: - Audio

  private func handle(
    _ audio: ChannelAudioFrame, _ sealed: Span<UInt8>, of seat: Seat, in packet: Span<UInt8>,
    now: Instant
  ) {
    counters.audioReceived &+= 1
    guard seat.claim.role == .host else { return counters.audioNotAllowed &+= 1 }
    guard
      seat.meters.audio.admit(
        perSecond: limits.audioPerSecond, burst: limits.audioBurst, now: now),
      seat.meters.bytes.admit(
        UInt64(packet.count), perSecond: limits.bytesPerSecond, burst: limits.bytesPerSecond,
        now: now),
      seat.room.beginPublishing(seat)
    else { return counters.tooMany &+= 1 }
    if seat.frames == nil { seat.frames = FrameRing(capacity: limits.frames) }
    let number = seat.keep(audio, sealed, in: packet, limits, &counters)
    let wasForwarded = seat.voice.isForwarded
    seat.voice.handle(audio.label, pause: limits.speechPause, now: now)
    seat.voice.isForwarded = seat.room.isLoud(seat, limits: limits, now: now)
    guard seat.voice.passes(now: now) else { return counters.audioSilent &+= 1 }
    if !seat.voice.isForwarded {
      counters.audioTooQuiet &+= 1
      if wasForwarded { seat.room.leaveOut(seat) }
    }
    guard seat.voice.isForwarded || seat.room.choosers > 0 else { return }
    pictures.listen(seat.room, now: now)
    forward(number, of: seat, now: now)
  }

  private func forward(_ number: UInt32, of seat: Seat, now: Instant) {
    let recovered = seat.frames?.recoveredCount(with: number) ?? 0
    for other in seat.room.seats where other !== seat && other.mayHear(seat) {
      // Whoever is not there misses it.
      let isThere = other.isThere(limits, now: now)
      guard !isThere || other.sound.admits(seat, to: other, limits, now: now) else {
        counters.audioLeftOut &+= 1
        other.leaveOut(seat)
        continue
      }
      other.sentSound.pass(number, of: seat.source, recovered: recovered)
      if isThere { append(.audio(from: seat.slot, number), to: other) }
    }
  }

  @_lifetime(packet: copy packet)
  private func write(
    _ number: UInt32, of slot: UInt32, to seat: Seat, into packet: inout OutputSpan<UInt8>
  ) {
    guard let sender = self.seat(slot), sender.room === seat.room, let frames = sender.frames,
      let entry = frames[number]
    else { return counters.packetsDropped &+= 1 }
    if seat.sentSound.mustIntroduce(sender.source) {
      ChannelSourceFrame(source: sender.source, uid: sender.claim.uid).write(to: &packet)
    }
    if seat.told.takesUnsentCounts {
      seat.sentSound.writeUnsent(with: sender.source, into: &packet)
    }
    counters.copiesSent &+= sender.write(
      entry, number, of: frames, to: seat, limits, into: &packet)
    counters.audioForwarded &+= 1
  }

  // MARK: - Parts

  @_lifetime(packet: copy packet)
  private func writeReport(
    to seat: Seat, into packet: inout OutputSpan<UInt8>, now: Instant
  ) {
    _ = seat.recorder?.writeReport(into: &packet, room: Self.reportRoom, now: now)
    // A stream that stops is reported again for a while.
    guard let next = seat.recorder?.nextDeadline, !seat.awaitsReport else { return }
    seat.awaitsReport = true
    reporting.append(seat.slot)
    ownDeadline = earliest(ownDeadline, next)
  }

  private static let reportRoom = 600
}
