import Congestion
import Primitives
import Tokens
import Wire

/// Pictures (docs/protocol/relay.md §3, §4): to whoever wants them, at the pace of each member's
/// line, and again to whoever lacks some. The hub that owns it comes with each call.
final class PictureForwarding {
  let limits: ForwardingLimits
  /// Members that get pictures, and when their lines are looked at next.
  var watched: [Place] = []
  /// How many of them get pictures, and sound alone.
  var pictureLines = 0
  var soundLines = 0
  var checkDue: Instant?
  /// Fragments that wait, of all channels.
  var fragmentCount = 0
  /// Members whose lines have room for what waits for them, in turn.
  var ready: ForwardingTurns
  /// Those whose lines have none.
  var asleep = SleepingPlaces()

  /// A seat: the slot may have another one later.
  struct Place: BitwiseCopyable {
    let slot: UInt32
    let seat: UInt32
  }

  init(_ limits: ForwardingLimits) {
    self.limits = limits
    ready = ForwardingTurns(limit: .max, packetsInTurn: limits.packetsInTurn)
  }
}

extension PictureForwarding {
  /// `false` if the frame has nothing to do with pictures.
  func handle(
    _ frame: Frame, in packet: Span<UInt8>, of seat: Seat, _ hub: ForwardingHub, now: Instant
  ) -> Bool {
    switch frame {
    case .video(let picture, let payload):
      handle(picture, packet.bytes(at: payload), of: seat, in: packet, hub, now: now)
    case .channelPicture(let source): seat.pictures.askedSource = source
    case .videoNack(let request): handle(request, in: packet, of: seat, hub, now: now)
    case .channelWants(let rate): handleWants(rate, of: seat, hub, now: now)
    case .channelLow(let low): seat.pictures.handleLow(low, most: limits.lowBitsPerSecond)
    default: return false
    }
    return true
  }

  private func handle(
    _ frame: VideoMediaFrame, _ payload: Span<UInt8>, of seat: Seat, in packet: Span<UInt8>,
    _ hub: ForwardingHub, now: Instant
  ) {
    hub.counters.picturesReceived &+= 1
    guard seat.claim.role == .host else { return hub.counters.audioNotAllowed &+= 1 }
    guard
      seat.pictures.byteMeter.admit(
        UInt64(packet.count), perSecond: limits.pictureBytesPerSecond,
        burst: limits.pictureBytesPerSecond, now: now),
      seat.pictures.fragmentMeter.admit(
        perSecond: limits.fragmentsPerSecond, burst: limits.fragmentsPerSecond, now: now),
      seat.room.beginPublishing(seat)
    else { return hub.counters.tooMany &+= 1 }
    guard hub.keepsPictures(of: seat, now: now) else {
      return hub.counters.picturesUnserved &+= 1
    }
    guard frame.stream == 0 || seat.pictures.low.admit(packet.count, now: now) else {
      return hub.counters.tooMany &+= 1
    }
    guard frame.stream < 2,
      let number = seat.pictures.keep(frame, payload, lowCapacity: limits.lowFragments),
      let entry = seat.pictures.entry(number)
    else { return }
    // These go to all who want pictures, whatever their lines carry.
    guard !entry.isEmpty || seat.pictures.emptyMeter.admit(perSecond: 1, burst: 4, now: now) else {
      return hub.counters.tooMany &+= 1
    }
    if frame.stream == 0, !entry.isEmpty {
      seat.pictures.recordShown(frame.temporalLayer, byteCount: packet.count, now: now)
    }
    for other in seat.room.seats
    where other !== seat && other.pictures.isWanted(now: now) && other.isThere(limits, now: now) {
      queue(entry, isAgain: false, of: seat, to: other, hub, now: now)
    }
  }

  /// What a member wants of others' pictures; it is told what they want of its own.
  private func handleWants(
    _ bitsPerSecond: UInt32, of seat: Seat, _ hub: ForwardingHub, now: Instant
  ) {
    guard seat.pictures.wishMeter.admit(perSecond: 2, burst: 4, now: now) else {
      return hub.counters.tooMany &+= 1
    }
    let isNew = bitsPerSecond > 0 && !seat.pictures.isWanted(now: now)
    if bitsPerSecond > 0, seat.pictures.downlink?.isForSound ?? true { watch(seat, now: now) }
    seat.pictures.wish = (bitsPerSecond, now + limits.wishLife)
    seat.pictures.isConcerned = true
    let isFirst = seat.room.wanted.add(seat.pictures.wanted(now: now), of: seat.slot)
    hub.append(.wants, to: seat)
    guard isNew, isFirst else { return }
    for other in seat.room.seats where other !== seat && other.pictures.isConcerned {
      if other.claim.role == .host { hub.append(.wants, to: other) }
    }
  }

  /// Fragments that a member lacks, and key frames that it needs, of the source it has named.
  private func handle(
    _ request: VideoNackFrame, in packet: Span<UInt8>, of seat: Seat, _ hub: ForwardingHub,
    now: Instant
  ) {
    guard let host = seat.room.seat(ofSource: seat.pictures.askedSource), host !== seat,
      seat.pictures.isWanted(now: now), request.stream < 2,
      seat.pictures.downlink?.choice.step(of: host.source) ?? 0 > 0,
      seat.pictures.admitRepair(limits, now: now)
    else { return hub.counters.tooMany &+= 1 }
    for index in 0..<request.entryCount {
      guard let entry = request.entry(index, in: packet) else { continue }
      guard seat.pictures.admitRepair(limits, now: now) else {
        hub.counters.tooMany &+= 1
        break
      }
      repeatFragments(entry, request.stream, of: host, to: seat, hub, now: now)
    }
    guard request.wantsKeyFrame else { return }
    askKeyFrame(of: host, request.stream, newest: request.newest, hub, now: now)
  }

  func askKeyFrame(
    of host: Seat, _ stream: UInt8, newest: UInt16?, _ hub: ForwardingHub, now: Instant
  ) {
    // Of many who ask one is heard: the key frame goes to all.
    let isAsked = host.pictures.requests[Int(stream & 1)].askKeyFrame(
      newest: newest, pause: limits.keyFramePause, now: now)
    guard isAsked else { return hub.counters.keyFrameRequestsMerged &+= 1 }
    hub.append(.askPictures, to: host)
  }

  private func repeatFragments(
    _ entry: VideoNackFrame.Entry, _ stream: UInt8, of host: Seat, to seat: Seat,
    _ hub: ForwardingHub, now: Instant
  ) {
    guard let store = stream == 0 ? host.pictures.store : host.pictures.low.store else { return }
    guard let known = store.lastFragment(of: entry.number) else {
      return askHost(entry, stream, host, hub)
    }
    guard entry.first <= min(entry.last, known) else { return }
    var missing: (first: UInt8, last: UInt8)?
    for fragment in entry.first...min(entry.last, known) {
      if let number = store.find(entry.number, fragment) {
        guard seat.pictures.admitRepair(limits, now: now) else { return hub.counters.tooMany &+= 1 }
        if let entry = store[number],
          queue(entry, isAgain: true, of: host, to: seat, hub, now: now)
        {
          hub.counters.picturesRepeated &+= 1
        }
      } else {
        missing = (missing?.first ?? fragment, fragment)
      }
    }
    guard let missing else { return }
    askHost(
      VideoNackFrame.Entry(number: entry.number, first: missing.first, last: missing.last), stream,
      host, hub)
  }

  /// What was lost on the way here.
  private func askHost(
    _ entry: VideoNackFrame.Entry, _ stream: UInt8, _ host: Seat, _ hub: ForwardingHub
  ) {
    if host.pictures.requests[Int(stream & 1)].addLacking(entry) {
      hub.append(.askPictures, to: host)
    }
  }

  // MARK: - Outputs

  @_lifetime(packet: copy packet)
  func write(
    _ content: ForwardingQueue.Content, to seat: Seat, into packet: inout OutputSpan<UInt8>,
    _ hub: ForwardingHub, now: Instant
  ) {
    switch content {
    case .picture(let sender, let number):
      writePicture(number, of: sender, isAgain: false, to: seat, into: &packet, hub)
    case .pictureAgain(let sender, let number):
      writePicture(number, of: sender, isAgain: true, to: seat, into: &packet, hub)
    case .wants: writeWants(of: seat, into: &packet, hub, now: now)
    case .askPictures: seat.pictures.writeRequest(into: &packet)
    case .padding: packet.append(zeros: seat.pictures.downlink?.paddingByteCount ?? 0)
    case .audio, .word, .report, .nextPicture: break
    }
  }

  @_lifetime(packet: copy packet)
  private func writePicture(
    _ number: UInt32, of slot: UInt32, isAgain: Bool, to seat: Seat,
    into packet: inout OutputSpan<UInt8>, _ hub: ForwardingHub
  ) {
    guard let sender = hub.seat(slot), sender.room === seat.room, sender.source > 0,
      let entry = sender.pictures.entry(number)
    else { return hub.counters.packetsDropped &+= 1 }
    if seat.sentSound.mustIntroduce(sender.source) {
      ChannelSourceFrame(source: sender.source, uid: sender.claim.uid).write(to: &packet)
    }
    ChannelPictureFrame.write(source: sender.source, to: &packet)
    sender.pictures.write(entry, isAgain: isAgain, to: &packet)
    hub.counters.picturesForwarded &+= 1
  }

  @_lifetime(packet: copy packet)
  private func writeWants(
    of seat: Seat, into packet: inout OutputSpan<UInt8>, _ hub: ForwardingHub, now: Instant
  ) {
    let room = seat.room
    let most = room.wanted.most(without: seat.slot, among: room.seats, now: now)
    let isUnserved = hub.isUnserved(seat, now: now)
    ChannelWantsFrame.write(isUnserved ? 0 : most, to: &packet)
    guard seat.pictures.low.isKnown else { return }
    // Who does not know it reads no further.
    let isLowWanted = !isUnserved && now < seat.pictures.low.wantedUntil
    let low = ChannelLowFrame(
      view: seat.pictures.low.view, bitsPerSecond: isLowWanted ? seat.pictures.low.offer : 0)
    low.write(to: &packet)
  }
}
