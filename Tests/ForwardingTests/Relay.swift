import Primitives
import Tokens
import Wire

@testable import Forwarding

/// A hub and its members, without sessions: frames go in, and what comes out is taken apart.
final class Relay {
  /// What a member got in one packet.
  struct Packet: Equatable {
    var sources: [UInt8: UInt32] = [:]
    var audio: [Heard] = []
    var unsent: [ChannelUnsentFrame] = []
    var copies: [Heard] = []
    var keys: [Word] = []
    var cards: [Word] = []
    var pictures: [Picture] = []
    var requests: [Request] = []
    var wants: [UInt32] = []
    var lows: [ChannelLowFrame] = []
    var reports = 0
    var byteCount = 0
  }

  /// A fragment of a picture.
  struct Picture: Equatable {
    var source: UInt8
    var header: VideoMediaFrame
    var bytes: [UInt8]
  }

  /// What a host is asked for.
  struct Request: Equatable {
    var wantsKeyFrame: Bool
    var entries: [VideoNackFrame.Entry]
  }

  struct Heard: Equatable {
    var source: UInt8
    var label: ChannelAudioLabel
    var bytes: [UInt8]
  }

  struct Word: Equatable {
    var uid: UInt32
    var bytes: [UInt8]
  }

  static let tea = Bytes32(InlineArray(repeating: 1))
  static let milk = Bytes32(InlineArray(repeating: 2))

  let hub: ForwardingHub
  var now = Instant(nanoseconds: 5_000_000_000)
  /// What each slot got, oldest first; without reports alone.
  private(set) var received: [UInt32: [Packet]] = [:]
  /// Packets to each slot: the number of the next one.
  private(set) var sent: [UInt32: UInt32] = [:]
  private var numbers: [UInt32: UInt32] = [:]
  /// Whether a packet to a slot is lost.
  var isLost: ((UInt32) -> Bool)?
  /// What is to be written waits.
  var holdsBack = false
  /// The hub hears that its packets have left: else each member's line has room for all.
  var hasLines = false

  init(_ limits: ForwardingLimits = ForwardingLimits()) { hub = ForwardingHub(limits: limits) }

  /// A member whose slot is its uid.
  func join(
    _ slot: UInt32, _ role: MemberRole = .host, uid: UInt32? = nil, in channel: Bytes32 = tea,
    of member: PeerID? = nil, takesData: Bool = true, takesUnsentCounts: Bool = true,
    loudest: Int = 0, from prefixes: SeatPrefixes? = nil
  ) {
    hub.reserve(
      slot, for: SeatClaim(channel: channel, uid: uid ?? slot, role: role), of: member,
      card: [UInt8(truncatingIfNeeded: slot)], takesData: takesData,
      takesUnsentCounts: takesUnsentCounts, loudest: loudest, from: prefixes)
    hub.confirm(slot)
  }

  /// Frames of a member in one packet; whether all of them were taken.
  @discardableResult
  func receive(_ slot: UInt32, _ write: (inout OutputSpan<UInt8>) -> Void) -> Bool {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { write(&$0) }
    var reader = FrameReader(bytes.span)
    var isTaken = true
    var demand = FeedbackDemand.none
    while let frame = try? reader.next() {
      demand = max(demand, frame.demand)
      if !hub.handle(frame, in: bytes.span, of: slot, now: now) { isTaken = false }
    }
    let number = numbers[slot, default: 0]
    numbers[slot] = number + 1
    _ = hub.noteArrival(
      number, of: slot, isCongestionExperienced: false, byteCount: bytes.count + 25,
      demand: demand, now: now)
    if !holdsBack { drain() }
    return isTaken
  }

  /// A frame of 20 ms, and perhaps copies of earlier ones by their distances.
  @discardableResult
  func speak(
    _ slot: UInt32, _ mediaTime: UInt16, level: UInt8 = 20, copies: [UInt8] = [],
    byteCount: Int = 80
  ) -> Bool {
    receive(slot) { packet in
      for distance in copies {
        let body = Self.body(slot, mediaTime &- UInt16(distance), byteCount)
        ChannelCopyFrame(Self.label(mediaTime, level), distance: distance)
          .writeHeader(body.count, to: &packet)
        packet.append(bytes: body)
      }
      ChannelAudioFrame(Self.label(mediaTime, level)).writeHeader(to: &packet)
      packet.append(bytes: Self.body(slot, mediaTime, byteCount))
    }
  }

  /// A member says how many bits a second of pictures it wants, and what its low stream takes;
  /// `nil` = it does not know of such.
  func want(_ slot: UInt32, _ bitsPerSecond: UInt32 = .max, low: UInt32? = nil) {
    receive(slot) { packet in
      ChannelWantsFrame.write(bitsPerSecond, to: &packet)
      if let low { ChannelLowFrame(bitsPerSecond: low).write(to: &packet) }
    }
  }

  /// Some fragments of a picture that has `count` of them.
  func show(
    _ slot: UInt32, _ number: UInt16, fragments: Range<UInt8> = 0..<2, of count: UInt8 = 2,
    isAgain: Bool = false, stream: UInt8 = 0
  ) {
    for fragment in fragments {
      receive(slot) { packet in
        var header = Self.picture(number, fragment, of: count)
        header.isRetransmission = isAgain
        header.stream = stream
        header.writeHeader(to: &packet)
        packet.append(
          bytes: [
            UInt8(truncatingIfNeeded: slot), fragment, UInt8(truncatingIfNeeded: number),
          ])
      }
    }
  }

  static func picture(_ number: UInt16, _ fragment: UInt8, of count: UInt8 = 2) -> VideoMediaFrame {
    var header = VideoMediaFrame(
      number: number, mediaTime: UInt32(number) * 512, isKeyFrame: number == 0, temporalLayer: 0,
      references: (number == 0 ? 0 : 1, 0))
    header.fragmentIndex = fragment
    header.lastFragmentIndex = count - 1
    return header
  }

  /// A member asks for fragments of a source's pictures, or for a key frame.
  func ask(
    _ slot: UInt32, source: UInt8 = 1, keyFrame: Bool = false, _ entries: VideoNackFrame.Entry...
  ) {
    receive(slot) { packet in
      ChannelPictureFrame.write(source: source, to: &packet)
      VideoNackFrame.write(
        wantsKeyFrame: keyFrame, newest: nil, entries: entries.span, to: &packet)
    }
  }

  func pictures(_ slot: UInt32) -> [Picture] { (received[slot] ?? []).flatMap(\.pictures) }
  func requests(_ slot: UInt32) -> [Request] { (received[slot] ?? []).flatMap(\.requests) }
  func lows(_ slot: UInt32) -> [ChannelLowFrame] { (received[slot] ?? []).flatMap(\.lows) }
  func wants(_ slot: UInt32) -> [UInt32] { (received[slot] ?? []).flatMap(\.wants) }

  /// A frame whose copies for the others stay in the hub.
  func speakUnheard(_ slot: UInt32, _ mediaTime: UInt16) {
    holdsBack = true
    speak(slot, mediaTime)
    holdsBack = false
  }

  static func label(_ mediaTime: UInt16, _ level: UInt8 = 20) -> ChannelAudioLabel {
    ChannelAudioLabel(
      length: .milliseconds20, isMarked: false, mediaTime: mediaTime, level: level)
  }

  /// Bytes that stand for a sealed frame: whose and when.
  static func body(_ slot: UInt32, _ mediaTime: UInt16, _ byteCount: Int = 80) -> [UInt8] {
    [UInt8(truncatingIfNeeded: slot), UInt8(truncatingIfNeeded: mediaTime)]
      + Array(repeating: UInt8(truncatingIfNeeded: mediaTime >> 8), count: byteCount - 2)
  }

  func run(_ duration: Duration) {
    let end = now + duration
    while let due = hub.nextDeadline, due <= end {
      now = max(now, due)
      hub.handleTimeout(now: now)
      drain()
    }
    now = end
  }

  /// As the server hands it on: FEEDBACK is no frame of the hub's.
  func handle(_ feedback: FeedbackFrame, _ bytes: [UInt8], of slot: UInt32) {
    hub.handle(feedback, in: bytes.span, of: slot, sent: sent[slot, default: 0], now: now)
  }

  func heard(_ slot: UInt32, of uid: UInt32) -> [Heard] {
    let packets = received[slot] ?? []
    var owner: [UInt8: UInt32] = [:]
    var all: [Heard] = []
    for packet in packets {
      owner.merge(packet.sources) { $1 }
      all += (packet.copies + packet.audio).filter { owner[$0.source] == uid }
    }
    return all
  }

  func forgetReceived() { received = [:] }

  /// Has the hub write so many packets, or all that wait, or what it writes in so many turns.
  @discardableResult
  func write(_ most: Int, turns: Int = .max) -> Int {
    let before = writtenCount
    drain(most: most, turns: turns)
    return writtenCount - before
  }

  private var writtenCount: Int { sent.values.reduce(0) { $0 + Int($1) } }

  private func drain(most: Int = .max, turns: Int = .max) {
    var (left, turnsLeft) = (most, turns)
    while left > 0 {
      var slot: UInt32?
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: 1200) { slot = hub.write(into: &$0, now: now) }
      guard let slot else {
        // Pictures leave so many at once: the loop comes again.
        turnsLeft -= 1
        guard turnsLeft > 0, let due = hub.nextDeadline, due <= now else { return }
        hub.handleTimeout(now: now)
        continue
      }
      left -= 1
      if hasLines {
        let number = sent[slot, default: 0]
        hub.noteSent(number, to: slot, byteCount: bytes.count + 16, now: now)
      }
      sent[slot, default: 0] += 1
      if isLost?(slot) ?? false { continue }
      received[slot, default: []].append(Self.read(Array(bytes.dropFirst(9))))
    }
  }

  private static func read(_ bytes: [UInt8]) -> Packet {
    var packet = Packet(byteCount: bytes.count + 25)
    var copies: [(ChannelCopyFrame, [UInt8])] = []
    var source: UInt8 = 0
    var reader = FrameReader(bytes.span)
    while let frame = try? reader.next() {
      switch frame {
      case .channelSource(let source): packet.sources[source.source] = source.uid
      case .channelCopy(let copy, let range): copies.append((copy, Array(bytes[range.range])))
      case .channelAudio(let audio, let range):
        packet.audio.append(
          Heard(source: audio.source, label: audio.label, bytes: Array(bytes[range.range])))
        packet.copies = copies.map {
          Heard(
            source: audio.source, label: $0.label(before: audio.label.mediaTime), bytes: $1)
        }
      case .channelKey(let uid, let range):
        packet.keys.append(Word(uid: uid, bytes: Array(bytes[range.range])))
      case .channelCard(let uid, let range):
        packet.cards.append(Word(uid: uid, bytes: Array(bytes[range.range])))
      case .feedback: packet.reports += 1
      default: read(frame, bytes, &source, into: &packet)
      }
    }
    return packet
  }

  private static func read(
    _ frame: Frame, _ bytes: [UInt8], _ source: inout UInt8, into packet: inout Packet
  ) {
    switch frame {
    case .channelPicture(let named): source = named
    case .channelWants(let rate): packet.wants.append(rate)
    case .channelLow(let low): packet.lows.append(low)
    case .channelUnsent(let word): packet.unsent.append(word)
    case .video(let header, let payload):
      packet.pictures.append(
        Picture(source: source, header: header, bytes: Array(bytes[payload.range])))
    case .videoNack(let request):
      let entries = (0..<request.entryCount).compactMap { request.entry($0, in: bytes.span) }
      packet.requests.append(Request(wantsKeyFrame: request.wantsKeyFrame, entries: entries))
    default: break
    }
  }
}
