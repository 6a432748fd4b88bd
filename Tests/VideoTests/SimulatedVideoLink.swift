import Primitives
import Video
import Wire

/// Both ends of a video stream and a link between them, in steps of 1 ms. The source is the test
/// picture, so what was shown can be told from the decoded pictures alone.
struct SimulatedVideoLink: ~Copyable {
  struct Conditions {
    var bitsPerSecond = 700_000
    var lossPercent = 0
    var roundTrip = 40
    var layers = 2
  }

  /// What is on its way, and when it is there (ms).
  private struct Flight {
    var arrival: Int
    var packet: [UInt8]
    var isRequest: Bool
  }

  var conditions: Conditions
  private(set) var sender = VideoSender()
  private(set) var assembler = VideoAssembler()
  private(set) var freezes = FreezeMeter()
  /// Time in gaps of more than 500 ms between two pictures.
  private(set) var standing = Duration.zero
  private var lastShown: Instant?
  /// From the drawing of each shown picture to its being decoded, ms.
  private(set) var delays: [Int] = []
  private(set) var psnr: [Double] = []
  private(set) var misread = 0
  private(set) var sizes: [PictureSize] = []
  private(set) var failures = 0
  private var encoder: AdaptiveEncoder
  private var decoder: VP8Decoder
  private var flights: [Flight] = []
  private var random: RandomSource
  private var time = 1000
  private var linkFree = 0.0
  private let source: TestPicture
  private var picture: I420Picture
  private var decoded: I420Picture
  private var pictureNumber = 0
  private var bytes: [UInt8] = []

  init(seed: UInt64, _ conditions: Conditions) throws {
    let source = TestPicture(PictureTests.size(640, 480))
    let encoder = try AdaptiveEncoder(
      size: source.size, framesPerSecond: 30, bitsPerSecond: conditions.bitsPerSecond * 8 / 10,
      temporalLayers: conditions.layers)
    self.init(seed: seed, conditions, source, encoder, try VP8Decoder())
  }

  private init(
    seed: UInt64, _ conditions: Conditions, _ source: TestPicture,
    _ encoder: consuming AdaptiveEncoder, _ decoder: consuming VP8Decoder
  ) {
    self.conditions = conditions
    self.source = source
    self.encoder = encoder
    self.decoder = decoder
    random = RandomSource(seed: seed)
    picture = I420Picture(source.size)
    decoded = picture
    assembler.roundTrip = .milliseconds(Int64(conditions.roundTrip))
  }

  mutating func run(milliseconds: Int) throws {
    for _ in 0..<milliseconds {
      time += 1
      if time * 30 / 1000 > (time - 1) * 30 / 1000 { try drawPicture() }
      send()
      receive()
      try show()
    }
  }

  private var now: Instant { VideoLadderTests.moment(time) }

  private mutating func drawPicture() throws {
    source.draw(
      TestPicture.Stamp(number: UInt16(pictureNumber), clock: UInt32(time)), into: &picture)
    pictureNumber += 1
    let demand = AdaptiveEncoder.Demand(
      bitsPerSecond: conditions.bitsPerSecond * 8 / 10,
      needsKeyFrame: sender.pollKeyFrame(now: now))
    let frame = try encoder.encode(
      picture, milliseconds: Int64(time), demand: demand, now: now, into: &bytes)
    guard let frame else { return }
    sender.handle(frame, bytes: &bytes, mediaTime: UInt32(time) * 256 / 10, now: now)
  }

  /// The link carries `bitsPerSecond`; the sender gives it a packet when it has room.
  private mutating func send() {
    while linkFree <= Double(time) {
      let packet = [UInt8](capacity: 1200) { output in
        if !sender.pollRetransmission(into: &output, now: now) {
          _ = sender.pollFragment(into: &output, now: now)
        }
      }
      guard !packet.isEmpty else { return }
      let bits = Double((packet.count + 25 + 28) * 8)
      linkFree = max(linkFree, Double(time)) + bits * 1000 / Double(conditions.bitsPerSecond)
      launch(packet, isRequest: false, from: Int(linkFree))
    }
  }

  private mutating func launch(_ packet: [UInt8], isRequest: Bool, from start: Int) {
    guard Int.random(in: 0..<100, using: &random) >= conditions.lossPercent else { return }
    let arrival = start + conditions.roundTrip / 2
    flights.append(Flight(arrival: arrival, packet: packet, isRequest: isRequest))
  }

  private mutating func receive() {
    let arrived = flights.filter { $0.arrival <= time }
    flights.removeAll { $0.arrival <= time }
    for flight in arrived {
      if !flight.isRequest {
        assembler.take(flight.packet, now: now)
        continue
      }
      var reader = FrameReader(flight.packet.span)
      guard case .videoNack(let nack)? = try? reader.next() else { continue }
      sender.handle(
        nack, in: flight.packet.span, roundTrip: .milliseconds(Int64(conditions.roundTrip)),
        now: now)
    }
  }

  private mutating func show() throws {
    var frame: [UInt8] = []
    while assembler.poll(into: &frame, now: now) != nil {
      do {
        guard try decoder.decode(frame.span, into: &decoded) else { continue }
      } catch {
        failures += 1
        assembler.handleDecodeFailure(now: now)
        continue
      }
      freezes.handlePicture(now: now)
      if let lastShown, now - lastShown > FreezeMeter.leastLimit { standing += now - lastShown }
      lastShown = now
      note()
    }
    _ = freezes.handleTimeout(now: now)
    let request = [UInt8](capacity: 1200) { _ = assembler.pollRequest(into: &$0, now: now) }
    if !request.isEmpty { launch(request, isRequest: true, from: time) }
  }

  private mutating func note() {
    guard let stamp = TestPictureReader.stamp(of: decoded) else {
      misread += 1
      return
    }
    delays.append(time - Int(stamp.clock))
    if sizes.last != decoded.size { sizes.append(decoded.size) }
    guard delays.count % 10 == 0 else { return }
    let source = TestPicture(decoded.size)
    var original = I420Picture(decoded.size)
    source.draw(stamp, into: &original)
    psnr.append(PictureQuality.psnr(decoded, original) ?? 0)
  }

  func delayPercentile(_ fraction: Double) -> Int {
    guard !delays.isEmpty else { return .max }
    return delays.sorted()[min(delays.count - 1, Int(Double(delays.count) * fraction))]
  }
}
