import LastMile
import Primitives
import Wire

extension FuzzTarget {
  static let probes: [FuzzTarget] = [probeRun]

  /// A prober and a reflector whose other end is the input: two bytes of length, a step of time,
  /// and that many bytes of frames, again and again.
  private static let probeRun = FuzzTarget(
    "probe-run", maximumByteCount: 4096, seeds: { [probeScript] },
    run: { bytes in
      var scene = ProbeScene()
      var reader = ByteReader(bytes.span)
      while let length = try? reader.readUInt8("length"), let step = try? reader.readUInt8("step"),
        let frames = try? reader.readBytes(min(Int(length), reader.remaining), "frames")
      {
        scene.play(frames, step: step)
      }
      expect(scene.reflectedByteCount <= 2_500_000, "a run never sends more than its budget")
    })

  private static var probeScript: [UInt8] {
    var script: [UInt8] = []
    func add(_ body: (inout OutputSpan<UInt8>) -> Void) {
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: 255, initializingWith: body)
      script += [UInt8(bytes.count), 20] + bytes
    }
    add { ProbeAnswerFrame(run: 7, number: 1, status: .accepted, byteLimit: 90_000).write(to: &$0) }
    var request = ProbeRequestFrame(run: 7, number: 1, payloadByteCount: 300, byteBudget: 90_000)
    add { request.write(to: &$0) }
    request.number = 2
    request.rate = 300_000
    request.train = 1
    request.trainLimit = 30
    add { request.write(to: &$0) }
    for sequence in 0..<6 as Range<UInt32> {
      var packet = ProbePacketFrame(run: 7, sequence: sequence, sent: sequence * 20_000)
      packet.isEcho = true
      packet.answered = sequence
      add { packet.write(to: &$0, filling: 60) }
    }
    add { packet in
      ProbeReportFrame(
        run: 7, first: 0, arrival: 5, duplicateCount: 0, reorderedCount: 0, sentCount: 6,
        markedCount: 1
      ).writeHeader(to: &packet, count: 4)
      for entry in [16384, 17000, 0xFFFF, 16000] as [UInt16] {
        packet.append(littleEndian: entry)
      }
    }
    request.number = 3
    request.isOver = true
    add { request.write(to: &$0) }
    return script
  }
}

/// Both machines, and what they wrote.
private struct ProbeScene {
  private var prober: Prober
  private var reflector = Reflector(limits: ReflectorLimits())
  private var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var reflectedByteCount = 0

  init() {
    var plan = ProbePlan()
    plan.seconds = 4
    prober = Prober(plan, run: 7, overhead: 28, path: PathFacts(), now: now)
  }

  mutating func play(_ frames: [UInt8], step: UInt8) {
    var reader = FrameReader(frames.span)
    while let frame = try? reader.next() {
      switch frame {
      case .probeRequest(let request):
        let client = Reflector.Client(session: 1, identity: .zero, prefix: 1, overhead: 28)
        reflector.handle(request, from: client, now: now)
      case .probeAnswer(let answer): prober.handle(answer, now: now)
      case .probePacket(let packet):
        reflector.handle(packet, from: 1, ecn: 0, now: now)
        prober.handle(packet, byteCount: frames.count, ecn: 2, now: now)
      case .probeReport(let report): prober.handle(report, in: frames.span, now: now)
      default: break
      }
    }
    let end = now + .milliseconds(Int64(step))
    repeat {
      now = min(end, now + .milliseconds(5))
      prober.handleTimeout(now: now)
      reflector.handleTimeout(now: now)
      drain()
    } while now < end
  }

  private mutating func drain() {
    var bytes: [UInt8] = []
    var count = 0
    var hasWritten = true
    while hasWritten {
      bytes.removeAll(keepingCapacity: true)
      bytes.append(addingCapacity: Datagram.maximumByteCount) { output in
        hasWritten = prober.writeFrames(into: &output, tagByteCount: 25, now: now)
      }
      count += 1
      expect(count < 10_000, "a prober has an end of words")
    }
    while let session = reflector.nextSession(now: now) {
      bytes.removeAll(keepingCapacity: true)
      bytes.append(addingCapacity: Datagram.maximumByteCount) { output in
        hasWritten = reflector.writeFrames(to: session, into: &output, tagByteCount: 25, now: now)
      }
      expect(hasWritten, "who has something due writes it")
      reflectedByteCount += bytes.count + 53
      count += 1
      expect(count < 10_000, "a reflector has an end of words")
    }
    while prober.pollEvent() != nil {}
  }
}
