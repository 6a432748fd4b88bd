import Forwarding
import Primitives
import Tokens
import Wire

extension FuzzTarget {
  static let forwarding: [FuzzTarget] = [forwardingHub]

  /// Packets of members with a byte before each that says whose, and two of length.
  private static func script(_ packets: [(slot: UInt8, bytes: [UInt8])]) -> [UInt8] {
    packets.flatMap { packet -> [UInt8] in
      [packet.slot, UInt8(truncatingIfNeeded: packet.bytes.count), UInt8(packet.bytes.count >> 8)]
        + packet.bytes
    }
  }

  private static func audio(_ time: UInt16, copies: [UInt8] = []) -> [UInt8] {
    let label = ChannelAudioLabel(
      length: .milliseconds20, isMarked: time == 0, mediaTime: time, level: UInt8(time & 127))
    return bytes { packet in
      for distance in copies {
        ChannelCopyFrame(label, distance: distance).writeHeader(12, to: &packet)
        packet.append(zeros: 12)
      }
      ChannelAudioFrame(label).writeHeader(to: &packet)
      packet.append(zeros: 30)
    }
  }

  /// A fragment of a picture of two.
  private static func picture(
    _ number: UInt16, _ fragment: UInt8, of stream: UInt8 = 0
  ) -> [UInt8] {
    var header = VideoMediaFrame(
      stream: stream, number: number, mediaTime: UInt32(number), isKeyFrame: number == 0,
      temporalLayer: 0,
      references: (number == 0 ? 0 : 1, 0))
    header.fragmentIndex = fragment
    header.lastFragmentIndex = 1
    return bytes { packet in
      header.writeHeader(to: &packet)
      packet.append(zeros: 20)
    }
  }

  /// What a member wants of pictures, and what it lacks of those of the first source.
  private static func wish(_ entries: VideoNackFrame.Entry..., keyFrame: Bool = true) -> [UInt8] {
    bytes { packet in
      ChannelWantsFrame.write(1_000_000, to: &packet)
      ChannelPictureFrame.write(source: 1, to: &packet)
      VideoNackFrame.write(
        wantsKeyFrame: keyFrame, newest: nil, entries: entries.span, to: &packet)
    }
  }

  /// A member that understands low streams, and offers one.
  private static var low: [UInt8] {
    bytes { packet in
      ChannelWantsFrame.write(1_000_000, to: &packet)
      ChannelLowFrame(bitsPerSecond: 100_000).write(to: &packet)
    }
  }

  /// What a member lacks of a low stream.
  private static var lowRequest: [UInt8] {
    bytes { packet in
      ChannelPictureFrame.write(source: 1, to: &packet)
      VideoNackFrame.write(
        stream: 1, wantsKeyFrame: true, newest: nil,
        entries: [VideoNackFrame.Entry(number: 0, first: 0, last: 255)].span, to: &packet)
    }
  }

  /// Frames of a channel, for the reader of packets.
  static var channelFrames: [[UInt8]] {
    [
      audio(0), audio(500, copies: [2, 4]),
      bytes { ChannelSourceFrame(source: 3, uid: 9).write(to: &$0) },
      bytes { packet in
        ChannelWordFrame.writeKey([3].span, uid: 2, to: &packet)
        ChannelWordFrame.writeQuestion(uid: 2, to: &packet)
        ChannelWordFrame.writeCard([1, 2].span, uid: 2, to: &packet)
      },
      wish(VideoNackFrame.Entry(number: 1, first: 0, last: 255)), low,
      bytes { ChannelUnsentFrame(source: 3, count: 9).write(to: &$0) },
    ]
  }

  /// Goal: whatever members say, the relay goes on, and what it sends is what members sent: no
  /// packet goes to who is not seated, none is longer than 1200 bytes, and no more go out than
  /// frames came in, times those who sit there.
  private static let forwardingHub = FuzzTarget(
    "forwarding-hub", maximumByteCount: 4000,
    seeds: {
      let feedback = bytes { packet in
        FeedbackHeader(epoch: 0, largest: 3, arrival: 0, delay: 0, count: 4, hasMarks: false)
          .write(to: &packet)
        for _ in 0..<3 { FeedbackEntry.write(ticksBefore: nil, to: &packet) }
      }
      let frames = channelFrames
      return [
        script([(0, frames[0]), (1, frames[1]), (2, frames[3])]),
        script([(0, audio(2)), (1, feedback), (0, audio(8, copies: [2, 4])), (64, [])]),
        script((0..<8).map { (UInt8($0 % 4), audio(UInt16($0))) }),
        script([
          (1, wish()), (3, wish()), (0, picture(0, 0)), (0, picture(0, 1)), (0, picture(1, 1)),
          (1, wish(VideoNackFrame.Entry(number: 0, first: 0, last: 255))),
          (3, wish(VideoNackFrame.Entry(number: 1, first: 0, last: 1), keyFrame: false)),
          (0, picture(1, 0)), (64, []), (1, wish()),
        ]),
        script([
          (0, low), (1, low), (0, picture(0, 0)), (0, picture(0, 0, of: 1)),
          (0, picture(0, 1, of: 1)), (0, picture(1, 1, of: 1)), (1, lowRequest), (3, low),
        ]),
      ]
    },
    run: { bytes in
      var run = ForwardingRun()
      run.play(bytes)
    })
}

/// Four members, two channels; a slot above 63 makes a member go, or come back.
private struct ForwardingRun {
  private let hub: ForwardingHub
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var sent: [UInt32: UInt32] = [:]
  private var seated: Set<UInt32> = []
  private var frameCount = 0
  private var packetCount = 0
  private var paddingCount = 0
  private var stepCount = 0

  init() {
    var limits = ForwardingLimits()
    limits.waiting = 64
    limits.loudest = 2
    limits.fragments = 8
    limits.repairsPerSecond = 10
    hub = ForwardingHub(limits: limits)
    for slot in 0..<5 as Range<UInt32> { sit(slot) }
  }

  private mutating func sit(_ slot: UInt32) {
    let channel = Bytes32(InlineArray(repeating: slot == 4 ? 2 : 1))
    let claim = SeatClaim(channel: channel, uid: slot + 1, role: slot == 3 ? .audience : .host)
    hub.reserve(slot, for: claim, card: [1], takesUnsentCounts: slot != 2)
    hub.confirm(slot)
    seated.insert(slot)
  }

  mutating func play(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while rest.count >= 3 {
      let who = rest[rest.startIndex]
      let count = Int(rest[rest.startIndex + 1]) | Int(rest[rest.startIndex + 2]) << 8
      rest = rest.dropFirst(3)
      let packet = Array(rest.prefix(min(count, 1175)))
      rest = rest.dropFirst(packet.count)
      let slot = UInt32(who % 5)
      if who >= 64 {
        if seated.remove(slot) != nil { hub.remove(slot) } else { sit(slot) }
      }
      handle(packet, of: slot)
      now = now + .milliseconds(Int64(who % 8) * 5)
      hub.handleTimeout(now: now)
      drain()
      stepCount += 1
    }
    expect(paddingCount <= stepCount * 5, "at each step one packet of padding for a member")
    expect(packetCount <= frameCount * 4 + 1000, "no flood")
  }

  private mutating func handle(_ packet: [UInt8], of slot: UInt32) {
    var reader = FrameReader(packet.span)
    var demand = FeedbackDemand.none
    while let frame = try? reader.next() {
      frameCount += 1
      demand = max(demand, frame.demand)
      if case .feedback(let feedback) = frame {
        hub.handle(feedback, in: packet.span, of: slot, sent: sent[slot, default: 0], now: now)
      } else {
        let isTaken = hub.handle(frame, in: packet.span, of: slot, now: now)
        expect(!isTaken || seated.contains(slot), "only the seated speak")
      }
    }
    _ = hub.noteArrival(
      UInt32(frameCount), of: slot, isCongestionExperienced: false, byteCount: packet.count,
      demand: demand, now: now)
  }

  private mutating func drain() {
    while true {
      var slot: UInt32?
      let packet = FuzzTarget.bytes { slot = hub.write(into: &$0, now: now) }
      guard let slot else { return }
      hub.noteSent(
        sent[slot, default: 0], to: slot, byteCount: packet.count + 16, now: now)
      sent[slot, default: 0] += 1
      expect(seated.contains(slot), "packets go to the seated")
      expect(packet.count + 16 <= 1200, "a packet has its tag's room")
      let frames = Array(packet.dropFirst(9))
      var reader = FrameReader(frames.span)
      var isPadding = false
      do {
        while let frame = try reader.next() {
          if case .padding = frame { isPadding = true }
        }
      } catch {
        expect(false, "what the relay writes can be read")
      }
      if isPadding { paddingCount += 1 } else { packetCount += 1 }
    }
  }
}
