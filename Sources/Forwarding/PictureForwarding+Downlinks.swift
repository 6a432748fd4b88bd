import Primitives
import Tokens
import Wire

/// Pictures at the pace of each member's line (docs/protocol/relay.md §4). What is to be done for
/// one member grows neither with how many others there are, nor with how often it asks.
extension PictureForwarding {
  /// A member wants pictures from now on: as far as there is memory for what is known of its line.
  func watch(_ seat: Seat, now: Instant) {
    let origin = seat.pictures.origin
    guard pictureLines < limits.downlinks, origin.allows(.downlinks, limits.downlinksPerPrefix)
    else {
      return
    }
    release(seat)
    origin.add(1, to: .downlinks)
    pictureLines += 1
    let downlink = Downlink(limits: limits, now: now)
    downlink.choice.takesLow = seat.pictures.low.isKnown
    watch(seat, downlink, now: now)
  }

  private func watch(_ seat: Seat, _ downlink: Downlink, now: Instant) {
    seat.pictures.downlink = downlink
    checkDue = checkDue ?? now + limits.downlinkPause
    guard !seat.pictures.isWatched else { return }
    seat.pictures.isWatched = true
    watched.append(Place(slot: seat.slot, seat: seat.number))
  }

  /// A member gets no more pictures, or goes.
  func release(_ seat: Seat) {
    guard let downlink = seat.pictures.downlink else { return }
    count(-downlink.waitingCount, of: seat)
    seat.pictures.downlink = nil
    seat.pictures.origin.add(-1, to: downlink.isForSound ? .soundLines : .downlinks)
    if downlink.isForSound { soundLines -= 1 } else { pictureLines -= 1 }
  }

  /// Where several speak, or packets get lost, it has to be known what a member's line carries.
  func listen(_ room: ForwardingRoom, now: Instant) {
    guard now >= room.soundDue else { return }
    room.soundDue = now + limits.downlinkPause
    for seat in room.seats where seat.pictures.downlink == nil && needsSoundLine(seat, now: now) {
      let origin = seat.pictures.origin
      guard soundLines < limits.soundLines, origin.allows(.soundLines, limits.soundLinesPerPrefix)
      else {
        // Of whose line nothing is known any more gets all.
        seat.sound = SoundChoice()
        continue
      }
      origin.add(1, to: .soundLines)
      soundLines += 1
      watch(seat, Downlink(limits: limits, isForSound: true, now: now), now: now)
    }
  }

  private func needsSoundLine(_ seat: Seat, now: Instant) -> Bool {
    guard seat.isThere(limits, now: now) else { return false }
    let speakers = seat.room.audible(to: seat, limits: limits, now: now)
    if speakers > 1 || (speakers > 0 && seat.wantsCopies(limits)) {
      seat.pictures.soundUntil = now + limits.soundLinePause
    }
    return now < seat.pictures.soundUntil
  }

  /// The channel goes.
  func forget(_ room: ForwardingRoom) { ready.empty(room.pictures) }

  private func count(_ fragments: Int, of seat: Seat) {
    fragmentCount += fragments
    seat.room.fragmentCount += fragments
    seat.pictures.origin.add(fragments, to: .fragments)
  }

  // MARK: - What waits

  /// A fragment for a member: as far as its line carries such, and the parts of its address have
  /// not drawn their share. Who has many seats draws no more than the pace of one address, and no
  /// channel has more of the places than are left.
  @discardableResult
  func queue(
    _ entry: PictureStore.Entry, isAgain: Bool, of host: Seat, to seat: Seat,
    _ hub: ForwardingHub, now: Instant
  ) -> Bool {
    guard let downlink = seat.pictures.downlink,
      downlink.admits(entry.header, of: host.source) || entry.isEmpty
    else {
      hub.counters.picturesLeftOut &+= 1
      return false
    }
    guard seat.pictures.origin.admitPicture(limits.picturesPerSecond, now: now) else {
      hub.counters.picturesOverShare &+= 1
      return false
    }
    let content: ForwardingQueue.Content =
      isAgain
      ? .pictureAgain(from: host.slot, entry.number) : .picture(from: host.slot, entry.number)
    let job = ForwardingQueue.Job(slot: seat.slot, seat: seat.number, content: content)
    guard seat.room.fragmentCount < limits.waiting - fragmentCount,
      seat.pictures.origin.allows(.fragments, limits.waitingPerPrefix),
      downlink.append(job, isAgain: isAgain, byteCount: entry.byteCount)
    else {
      hub.counters.packetsDropped &+= 1
      return false
    }
    count(1, of: seat)
    if seat.pictures.sleepsUntil == nil { makeReady(seat) }
    return true
  }

  var hasReady: Bool { ready.waitingCount > 0 }

  private func makeReady(_ seat: Seat) {
    guard !seat.pictures.isReady else { return }
    let job = ForwardingQueue.Job(slot: seat.slot, seat: seat.number, content: .nextPicture)
    seat.pictures.isReady = ready.append(job, to: seat.room.pictures)
  }

  /// The next fragment whose member's line has room: channels in turn, and of each the members.
  func popFirst(_ hub: ForwardingHub, now: Instant) -> ForwardingQueue.Job? {
    while let place = ready.popFirst() {
      guard let seat = seat(at: Place(slot: place.slot, seat: place.seat), hub) else { continue }
      seat.pictures.isReady = false
      guard let downlink = seat.pictures.downlink, downlink.isBusy else { continue }
      if downlink.mayPad(now: now), maySend(seat, now: now) {
        setAside(seat, until: now + Self.paddingPause)
        return ForwardingQueue.Job(slot: seat.slot, seat: seat.number, content: .padding)
      }
      guard let job = downlink.popDue(now: now) else {
        setAside(seat, until: min(downlink.admission(now: now), now + limits.downlinkPause))
        continue
      }
      count(-1, of: seat)
      makeReady(seat)
      return job
    }
    return nil
  }

  /// Padding counts as pictures do.
  private func maySend(_ seat: Seat, now: Instant) -> Bool {
    seat.isThere(limits, now: now)
      && seat.pictures.origin.admitPicture(limits.picturesPerSecond, now: now)
  }

  private func setAside(_ seat: Seat, until due: Instant) {
    if let other = seat.pictures.sleepsUntil, other <= due + Self.tolerance { return }
    seat.pictures.sleepsUntil = due
    asleep.insert(Place(slot: seat.slot, seat: seat.number), until: due)
  }

  private func wake(_ hub: ForwardingHub, now: Instant) {
    while let (place, due) = asleep.popDue(now: now) {
      guard let seat = seat(at: place, hub), seat.pictures.sleepsUntil == due else { continue }
      seat.pictures.sleepsUntil = nil
      if seat.pictures.downlink?.isBusy ?? false { makeReady(seat) }
    }
  }

  /// A member's report tells of its line, and may have made room.
  func handle(_ feedback: FeedbackFrame, in packet: Span<UInt8>, of seat: Seat, now: Instant) {
    guard let downlink = seat.pictures.downlink else { return }
    downlink.handle(feedback, in: packet, now: now)
    if downlink.hasDue(now: now) { makeReady(seat) }
  }

  private func seat(at place: Place, _ hub: ForwardingHub) -> Seat? {
    guard let seat = hub.seat(place.slot), seat.number == place.seat else { return nil }
    return seat
  }

  // MARK: - Looks at lines

  func handleTimeout(_ hub: ForwardingHub, now: Instant) {
    wake(hub, now: now)
    guard let due = checkDue, due <= now else { return }
    watched.removeAll { place in
      guard let seat = seat(at: place, hub), let downlink = seat.pictures.downlink else {
        return true
      }
      let isNeeded =
        downlink.isForSound
        ? needsSoundLine(seat, now: now) : seat.pictures.isWanted(now: now)
      guard isNeeded else {
        seat.pictures.isWatched = false
        release(seat)
        return true
      }
      check(seat.room, hub, now: now)
      check(downlink, of: seat, hub, now: now)
      return false
    }
    checkDue = watched.isEmpty ? nil : now + limits.downlinkPause
  }

  /// Once for all of its members: what its hosts show, and what they are to know.
  private func check(_ room: ForwardingRoom, _ hub: ForwardingHub, now: Instant) {
    guard room.picturesChecked != now else { return }
    room.picturesChecked = now
    var needs = PictureNeeds()
    for source in 1...ChannelAudioFrame.highestSource {
      guard let host = room.seat(ofSource: source), host.pictures.store != nil else { continue }
      if let part = host.pictures.needs(of: source, now: now) { needs.append(part) }
      if host.pictures.low.isTold, now >= host.pictures.low.wantedUntil {
        host.pictures.low.isTold = false
        hub.append(.wants, to: host)
      }
    }
    room.pictureNeeds = needs
    room.wanted.countAgain(room.seats, now: now)
    guard room.wanted.popNews() else { return }
    for host in room.seats where host.claim.role == .host && host.pictures.isConcerned {
      hub.append(.wants, to: host)
    }
  }

  private func check(
    _ downlink: Downlink, of seat: Seat, _ hub: ForwardingHub, now: Instant
  ) {
    let needs =
      downlink.isForSound ? PictureNeeds() : seat.room.pictureNeeds.without(seat.source)
    let (waiting, level) = (downlink.waitingCount, downlink.choice.level)
    downlink.check(needs: needs, now: now)
    downlink.check(
      &seat.sound, speakers: seat.room.audible(to: seat, limits: limits, now: now),
      wantsCopies: seat.wantsCopies(limits), now: now)
    count(downlink.waitingCount - waiting, of: seat)
    hub.counters.picturesLeftOut &+= UInt64(waiting - downlink.waitingCount)
    for place in 0..<needs.count {
      guard let host = seat.room.seat(ofSource: needs[place].source) else { continue }
      wantLow(of: host, downlink, hub, now: now)
      // Where something was left out just now a key frame would be left out as well, unless less is
      // for the member now. It cannot ask: it does not know what it does not get.
      guard downlink.waitingCount == waiting || downlink.choice.level < level,
        let stream = downlink.choice.streamLackingKeyFrame(of: host.source)
      else { continue }
      // By that the host knows whether one that it has made was here, and was left out.
      let newest = host.pictures.newestFrame(of: stream)
      askKeyFrame(of: host, stream, newest: newest, hub, now: now)
    }
    if downlink.isBusy, seat.pictures.sleepsUntil == nil { makeReady(seat) }
    guard seat.pictures.low.isKnown, seat.pictures.low.view != downlink.choice.view else { return }
    seat.pictures.low.view = downlink.choice.view
    hub.append(.wants, to: seat)
  }

  /// A host's low stream is made while a member is to have it.
  private func wantLow(
    of host: Seat, _ downlink: Downlink, _ hub: ForwardingHub, now: Instant
  ) {
    guard downlink.choice.needsLow(of: host.source), host.pictures.low.offer > 0 else { return }
    host.pictures.low.wantedUntil = now + limits.lowPause
    guard !host.pictures.low.isTold else { return }
    host.pictures.low.isTold = true
    hub.append(.wants, to: host)
  }

  var nextDeadline: Instant? { earliest(checkDue, asleep.first) }

  /// From one packet of padding for a member to the next: 8.8 Mbit/s at the most.
  private static let paddingPause = Duration.milliseconds(1)
  /// What a member sleeps longer than it would have to.
  private static let tolerance = Duration.milliseconds(1)
}
