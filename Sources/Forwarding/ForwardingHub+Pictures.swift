import Congestion
import Primitives
import Tokens
import Wire

/// Pictures (docs/protocol/relay.md §3, §4): to whoever wants them, again to whoever lacks some.
extension ForwardingHub {
  /// `false` if the frame has nothing to do with pictures.
  func handlePictures(
    _ frame: Frame, in packet: Span<UInt8>, of seat: Seat, now: Instant
  ) -> Bool {
    switch frame {
    case .video(let picture, let payload):
      handle(picture, packet.bytes(at: payload), of: seat, in: packet, now: now)
    case .channelPicture(let source): seat.pictures.askedSource = source
    case .videoNack(let request): handle(request, in: packet, of: seat, now: now)
    case .channelWants(let rate): handleWants(rate, of: seat, now: now)
    default: return false
    }
    return true
  }

  private func handle(
    _ frame: VideoMediaFrame, _ payload: Span<UInt8>, of seat: Seat, in packet: Span<UInt8>,
    now: Instant
  ) {
    counters.picturesReceived &+= 1
    guard seat.claim.role == .host else { return counters.audioNotAllowed &+= 1 }
    guard
      seat.pictures.byteMeter.admit(
        UInt64(packet.count), perSecond: limits.pictureBytesPerSecond,
        burst: limits.pictureBytesPerSecond, now: now),
      seat.pictures.fragmentMeter.admit(
        perSecond: limits.fragmentsPerSecond, burst: limits.fragmentsPerSecond, now: now),
      seat.room.beginPublishing(seat)
    else { return counters.tooMany &+= 1 }
    guard keepsPictures(of: seat, now: now) else { return counters.picturesUnserved &+= 1 }
    guard let number = seat.pictures.store?.append(frame, payload) else { return }
    for other in seat.room.seats where other !== seat && other.pictures.isWanted(now: now) {
      append(picture: .picture(from: seat.slot, number), to: other, now: now)
    }
  }

  /// What a member wants of others' pictures; it is told what they want of its own.
  private func handleWants(_ bitsPerSecond: UInt32, of seat: Seat, now: Instant) {
    guard seat.pictures.wishMeter.admit(perSecond: 2, burst: 4, now: now) else {
      return counters.tooMany &+= 1
    }
    let isNew = bitsPerSecond > 0 && !seat.pictures.isWanted(now: now)
    seat.pictures.wish = (bitsPerSecond, now + limits.wishLife)
    seat.pictures.isConcerned = true
    let isFirst = seat.room.wanted.add(bitsPerSecond, of: seat.slot)
    append(.wants, to: seat)
    guard isNew, isFirst else { return }
    for other in seat.room.seats where other !== seat && other.pictures.isConcerned {
      if other.claim.role == .host { append(.wants, to: other) }
    }
  }

  /// Fragments that a member lacks, and key frames that it needs, of the source it has named.
  private func handle(
    _ request: VideoNackFrame, in packet: Span<UInt8>, of seat: Seat, now: Instant
  ) {
    guard let host = seat.room.seat(ofSource: seat.pictures.askedSource), host !== seat,
      seat.pictures.isWanted(now: now),
      seat.pictures.admitRepair(limits, now: now)
    else { return counters.tooMany &+= 1 }
    for index in 0..<request.entryCount {
      guard let entry = request.entry(index, in: packet) else { continue }
      guard seat.pictures.admitRepair(limits, now: now) else {
        counters.tooMany &+= 1
        break
      }
      repeatFragments(entry, of: host, to: seat, now: now)
    }
    guard request.wantsKeyFrame else { return }
    // Of many who ask one is heard: the key frame goes to all.
    let isNewer = host.pictures.keyFrameAskedAt.map { now >= $0 + limits.keyFramePause } ?? true
    guard isNewer else { return counters.keyFrameRequestsMerged &+= 1 }
    host.pictures.keyFrameAskedAt = now
    host.pictures.wantsKeyFrame = true
    host.pictures.newestAsked = request.newest
    append(.askPictures, to: host)
  }

  private func repeatFragments(
    _ entry: VideoNackFrame.Entry, of host: Seat, to seat: Seat, now: Instant
  ) {
    guard let store = host.pictures.store else { return }
    guard let known = store.lastFragment(of: entry.number) else {
      return askHost(entry, host)
    }
    guard entry.first <= min(entry.last, known) else { return }
    var missing: (first: UInt8, last: UInt8)?
    for fragment in entry.first...min(entry.last, known) {
      if let number = store.find(entry.number, fragment) {
        guard seat.pictures.admitRepair(limits, now: now) else { return counters.tooMany &+= 1 }
        if append(picture: .pictureAgain(from: host.slot, number), to: seat, now: now) {
          counters.picturesRepeated &+= 1
        }
      } else {
        missing = (missing?.first ?? fragment, fragment)
      }
    }
    guard let missing else { return }
    askHost(
      VideoNackFrame.Entry(number: entry.number, first: missing.first, last: missing.last), host)
  }

  /// What was lost on the way here.
  private func askHost(_ entry: VideoNackFrame.Entry, _ host: Seat) {
    if host.pictures.addLacking(entry) { append(.askPictures, to: host) }
  }

  // MARK: - Outputs

  @_lifetime(packet: copy packet)
  func writePictures(
    _ content: ForwardingQueue.Content, to seat: Seat, into packet: inout OutputSpan<UInt8>,
    now: Instant
  ) {
    switch content {
    case .picture(let sender, let number):
      writePicture(number, of: sender, isAgain: false, to: seat, into: &packet)
    case .pictureAgain(let sender, let number):
      writePicture(number, of: sender, isAgain: true, to: seat, into: &packet)
    case .wants: writeWants(of: seat, into: &packet, now: now)
    case .askPictures: seat.pictures.writeRequest(into: &packet)
    case .audio, .word, .report: break
    }
  }

  @_lifetime(packet: copy packet)
  private func writePicture(
    _ number: UInt32, of slot: UInt32, isAgain: Bool, to seat: Seat,
    into packet: inout OutputSpan<UInt8>
  ) {
    guard let sender = self.seat(slot), sender.room === seat.room, sender.source > 0,
      let entry = sender.pictures.store?[number]
    else { return counters.packetsDropped &+= 1 }
    if seat.mustIntroduce(sender.source) {
      ChannelSourceFrame(source: sender.source, uid: sender.claim.uid).write(to: &packet)
    }
    ChannelPictureFrame.write(source: sender.source, to: &packet)
    sender.pictures.store?.write(entry, isAgain: isAgain, to: &packet)
    counters.picturesForwarded &+= 1
  }

  @_lifetime(packet: copy packet)
  private func writeWants(of seat: Seat, into packet: inout OutputSpan<UInt8>, now: Instant) {
    let room = seat.room
    let most = room.wanted.most(without: seat.slot, among: room.seats, now: now)
    ChannelWantsFrame.write(isUnserved(seat, now: now) ? 0 : most, to: &packet)
  }
}
