import Congestion
import Messaging
import Primitives
import Wire

extension FuzzTarget {
  static let transport: [FuzzTarget] = [messages, feedback]

  /// Packets as an authenticated peer may send them: for each a length, and then its frames.
  private static let messages = FuzzTarget(
    "message-channel", maximumByteCount: 4000,
    seeds: { [frameSeeds.flatMap(prefixed), messageSeeds.flatMap(prefixed)] },
    run: { bytes in
      var channel = MessageChannel(limits: .peer)
      var script = ByteReader(bytes.span)
      var number: UInt64 = 0
      var now = Instant(nanoseconds: 1_000_000_000)
      for tag in 0..<3 {
        _ = try? channel.send(
          Array(repeating: UInt8(tag), count: 900), on: .application(8), life: .seconds(8), now: now
        )
      }
      while let length = try? script.readUInt16("packet length"),
        let packet = try? script.readBytes(min(Int(length), script.remaining), "packet")
      {
        take(packet, &channel, now: now)
        while channel.poll() != nil {}
        var sent: [UInt8] = []
        sent.append(addingCapacity: 1200) { output in
          _ = channel.writeFrames(into: &output, room: 1150)
        }
        if !sent.isEmpty { channel.didSend(number, now: now) }
        if length & 1 == 1 {
          channel.packetLost(number)
        } else {
          channel.packetAcknowledged(number)
        }
        number += 1
        now = now + .milliseconds(Int(length))
        channel.handleTimeout(now: now)
        _ = channel.takeCredit()
        expect(
          channel.reassemblyByteCount <= Int(MessageLimits.peer.initialGrant),
          "no more is kept than was granted")
      }
    })

  private static func take(_ packet: [UInt8], _ channel: inout MessageChannel, now: Instant) {
    let span = packet.span
    var reader = FrameReader(span)
    while let frame = try? reader.next() {
      switch frame {
      case .message(let message, let range):
        do throws(MessageFault) {
          try channel.handle(message, bytes: span.bytes(at: range), now: now)
        } catch { return }  // The session would close here.
      case .credit(let credit): channel.handle(credit)
      default: break
      }
    }
  }

  private static func prefixed(_ packet: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: packet.count), UInt8(truncatingIfNeeded: packet.count >> 8)] + packet
  }

  /// A message of three fragments, out of order, then one on another stream, then one given up.
  private static var messageSeeds: [[UInt8]] {
    let piece = [UInt8](repeating: 0x41, count: 40)
    let fragments = [2, 0, 1].map { index in
      bytes { packet in
        MessageFrame(
          stream: .callControl, sequence: 0, fragmentIndex: UInt8(index), fragmentCount: 3
        ).write(piece.span, to: &packet)
      }
    }
    let unordered = bytes { packet in
      MessageFrame(
        stream: .application(9, isOrdered: false), sequence: 5, fragmentIndex: 0, fragmentCount: 1
      ).write(piece.span, to: &packet)
    }
    let abandoned = bytes { packet in
      MessageFrame(stream: .callControl, sequence: 1, fragmentIndex: 0, fragmentCount: 0)
        .writeAbandoned(sentByteCount: 0, to: &packet)
    }
    return fragments + [unordered, abandoned, bytes { CreditFrame(total: 200_000).write(to: &$0) }]
  }

  /// FEEDBACK about packets that were sent, and about ones that were not; every packet has one
  /// fate.
  private static let feedback = FuzzTarget(
    "feedback", maximumByteCount: 2000,
    seeds: { [frameSeeds.flatMap(prefixed)] },
    run: { bytes in
      var history = SentPacketHistory(capacity: 64)
      var recorder = FeedbackRecorder()
      var script = ByteReader(bytes.span)
      var now = Instant(nanoseconds: 1_000_000_000)
      var number: UInt64 = 490
      while let length = try? script.readUInt16("packet length"),
        let packet = try? script.readBytes(min(Int(length), script.remaining), "packet")
      {
        for _ in 0..<5 {
          history.record(
            SentPacket(
              number: number, sent: now, byteCount: 1000, elicitsFeedback: true,
              hasMessages: false))
          number += 1
        }
        now = now + .milliseconds(20)
        let span = packet.span
        var reader = FrameReader(span)
        while let frame = try? reader.next() {
          if case .feedback(let feedback) = frame {
            _ = try? history.handle(feedback, in: span, now: now)
          }
        }
        recorder.record(
          UInt64(length), at: now, isCongestionExperienced: length & 1 == 1, demand: .soon)
        report(&recorder, now: now)
        history.handleTimeout(now: now)
        while history.poll() != nil {}
        expect(history.bytesInFlight >= 0, "bytes in flight are counted")
      }
    })

  /// What the recorder writes can be read.
  private static func report(_ recorder: inout FeedbackRecorder, now: Instant) {
    guard recorder.isDue(now: now) else { return }
    let written = bytes { _ = recorder.writeReport(into: &$0, room: 400, now: now) }
    expect(written.count <= 400, "a report keeps to its room")
    var reader = FrameReader(written.span)
    guard !written.isEmpty else { return }
    guard case .feedback(let frame)? = try? reader.next() else {
      return expect(false, "a report can be read")
    }
    visit(frame, in: written.span)
  }
}
