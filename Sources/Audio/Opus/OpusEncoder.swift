internal import COpus

/// Turns 48 kHz samples into Opus packets (station 3 of the house tour; next: `AudioEngine`).
///
/// Variable bitrate, padded to one of three lengths, no discontinuous transmission: the length of a
/// packet says little about what is spoken (RFC 6562). At 32 kbit/s and 20 ms they are 64, 80 and
/// 100 bytes, 80 on average. Constant bitrate sounds no better and costs twice the time, because
/// libopus then codes each frame several times over (docs/decisions/0011). What pauses leave of the
/// bitrate goes to the speech after them, and nothing goes to the band above 8 kHz of speech that
/// has none (docs/decisions/0021).
@safe package struct OpusEncoder: ~Copyable {
  package struct Settings: Equatable, Sendable {
    /// 1 or 2.
    package var channels: Int
    package var bitsPerSecond: Int
    package var frameLength: FrameLength
    /// 0...10. 9 costs as much as 10 and sounds the same; 5 costs half.
    package var complexity: Int
    /// Whether packets may carry a low-rate copy of the frame before them. None is spent before
    /// loss is announced: on a clean line the copy costs 0.1 (announced 1 %) to 0.6 (10 %) of
    /// PESQ-WB at 32 kbit/s constant bitrate.
    package var usesForwardErrorCorrection: Bool
    /// The encoder tunes itself for speech; `false` for music, and for stereo.
    package var isSpeech: Bool
    /// Whether the band above 8 kHz is left out where there is nothing in it, as in speech that was
    /// sampled at 16 kHz; otherwise it is what was said by `followBand` last.
    package var detectsUpperBand: Bool

    /// Mono speech at 32 kbit/s in packets of 20 ms; stereo is coded as music.
    package init(
      channels: Int = 1, bitsPerSecond: Int = 32_000, frameLength: FrameLength = .milliseconds20,
      complexity: Int = 9, usesForwardErrorCorrection: Bool = true
    ) {
      self.channels = channels
      self.bitsPerSecond = bitsPerSecond
      self.frameLength = frameLength
      self.complexity = complexity
      self.usesForwardErrorCorrection = usesForwardErrorCorrection
      isSpeech = channels == 1
      detectsUpperBand = isSpeech
    }
  }

  /// What libopus takes for one channel.
  package static let bitsPerSecondRange = 6_000...510_000

  package private(set) var settings: Settings
  /// What the encoder was last told to expect, in per cent; 0 at first.
  package private(set) var announcedLossPercent = 0
  package private(set) var sizes: PacketSizeClasses
  /// What the packets so far left unused of the bitrate, in bytes: a packet above the mean takes of
  /// it, so that over a second or more the bitrate is never exceeded, whatever the sound.
  private var unused: Int
  private var upperBand = UpperBandDetector()
  /// Whether the band above 8 kHz may be coded.
  private var codesUpperBand = true
  private let encoder: OpaquePointer

  package init(_ settings: Settings = Settings()) throws(OpusError) {
    guard (1...2).contains(settings.channels), (0...10).contains(settings.complexity) else {
      throw .badArgument(.createEncoder)
    }
    var code: Int32 = 0
    let application = settings.isSpeech ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO
    guard
      let encoder = unsafe opus_encoder_create(
        Int32(AudioFormat.sampleRateHz), Int32(settings.channels), application, &code)
    else { throw OpusError(.createEncoder, code: code) }
    let rate = Self.clamped(settings.bitsPerSecond)
    let sizes = PacketSizeClasses(bitsPerSecond: rate, frameLength: settings.frameLength)
    let refusal = unsafe Self.configure(encoder, settings, sizes)
    guard refusal == 0 else {
      unsafe opus_encoder_destroy(encoder)
      throw OpusError(.configure, code: refusal)
    }
    unsafe self.encoder = unsafe encoder
    self.settings = settings
    self.settings.bitsPerSecond = rate
    self.sizes = sizes
    unused = sizes.firstUnused
  }

  deinit { unsafe opus_encoder_destroy(encoder) }

  /// Encodes one frame and appends the packet to `packet`, using at most 1275 bytes of its room.
  ///
  /// - Parameter samples: exactly `settings.frameLength` of audio, channels interleaved.
  /// - Returns: the length of the packet in bytes.
  @discardableResult
  @_lifetime(packet: copy packet)
  package mutating func encode(
    _ samples: Span<Int16>, into packet: inout OutputSpan<UInt8>
  ) throws(OpusError) -> Int {
    let frame = settings.frameLength.sampleCount
    guard samples.count == frame * settings.channels else { throw .badArgument(.encode) }
    if settings.detectsUpperBand { try setUpperBand(upperBand.addFrame(samples)) }
    try set(OPUS_SET_BITRATE_REQUEST, sizes.encoderBitsPerSecond(unused: unused))
    let encoder = unsafe encoder
    let sizes = sizes
    let most = unused < sizes.large - sizes.middle ? sizes.middle : sizes.large
    let result = unsafe samples.withUnsafeBufferPointer { input -> Int32 in
      unsafe packet.withUnsafeMutableBufferPointer { output, count -> Int32 in
        let room = min(output.count - count, AudioFormat.maxPayloadByteCount)
        guard room > 0, let start = output.baseAddress, let first = input.baseAddress else {
          return Int32(OPUS_BUFFER_TOO_SMALL)
        }
        let packet = unsafe start + count
        let length = unsafe Self.encode(
          encoder, first, Int32(frame), packet, sizes, most: min(room, most))
        count += max(0, Int(length))
        return length
      }
    }
    guard result >= 0 else { throw OpusError(.encode, code: result) }
    unused = min(unused + sizes.middle - Int(result), sizes.mostUnused)
    return Int(result)
  }

  /// - Returns: the length after padding, or libopus's code, which is negative.
  private static func encode(
    _ encoder: OpaquePointer, _ samples: UnsafePointer<Int16>, _ frame: Int32,
    _ packet: UnsafeMutablePointer<UInt8>, _ sizes: PacketSizeClasses, most: Int
  ) -> Int32 {
    let most = Int32(clamping: most)
    let length = unsafe opus_encode(encoder, samples, frame, packet, most)
    guard length > 0 else { return length }
    let padded = min(Int32(clamping: sizes.length(for: Int(length))), most)
    guard padded > length else { return length }
    let refusal = unsafe opus_packet_pad(packet, length, padded)
    return refusal == 0 ? padded : refusal
  }

  /// How much audio the next `encode` takes; the bitrate stays.
  package mutating func setFrameLength(_ length: FrameLength) throws(OpusError) {
    guard length != settings.frameLength else { return }
    settings.frameLength = length
    try setBitrate(bitsPerSecond: settings.bitsPerSecond)
  }

  /// Forgets everything encoded so far, as at the start of a stream.
  package mutating func reset() { _ = unsafe earshot_opus_encoder_reset(encoder) }

  /// Takes over what `other`, of as many channels, has encoded so far, but neither its bitrate, its
  /// complexity nor its choice of band: the next frame is coded as `other` would code it with
  /// fewer bits, so that a decoder that has heard `other` may take either.
  package mutating func follow(_ other: borrowing OpusEncoder) throws(OpusError) {
    guard other.settings.channels == settings.channels else { throw .badArgument(.configure) }
    unsafe UnsafeMutableRawPointer(encoder).copyMemory(
      from: UnsafeRawPointer(other.encoder),
      byteCount: Int(opus_encoder_get_size(Int32(settings.channels))))
    var band: Int32 = 0
    let code = unsafe earshot_opus_encoder_get(encoder, OPUS_GET_BANDWIDTH_REQUEST, &band)
    guard code == 0 else { throw OpusError(.configure, code: code) }
    try set(OPUS_SET_INBAND_FEC_REQUEST, settings.usesForwardErrorCorrection ? 1 : 0)
    try set(OPUS_SET_COMPLEXITY_REQUEST, settings.complexity)
    try set(OPUS_SET_BANDWIDTH_REQUEST, Int(band))
    codesUpperBand = other.codesUpperBand
  }

  /// Begins a stream of its own after `follow`, with its own choice of band.
  package mutating func goAlone() throws(OpusError) {
    reset()
    try set(OPUS_SET_BANDWIDTH_REQUEST, Int(OPUS_AUTO))
  }

  /// Leaves out what `other` leaves out, from the next frame on.
  package mutating func followBand(of other: borrowing OpusEncoder) throws(OpusError) {
    try setUpperBand(other.codesUpperBand)
  }

  private mutating func setUpperBand(_ isCoded: Bool) throws(OpusError) {
    guard isCoded != codesUpperBand else { return }
    let band = isCoded ? OPUS_BANDWIDTH_FULLBAND : OPUS_BANDWIDTH_WIDEBAND
    try set(OPUS_SET_MAX_BANDWIDTH_REQUEST, Int(band))
    codesUpperBand = isCoded
  }

  /// Takes effect with the next frame. Values outside `bitsPerSecondRange` are clamped.
  package mutating func setBitrate(bitsPerSecond: Int) throws(OpusError) {
    let rate = Self.clamped(bitsPerSecond)
    sizes = PacketSizeClasses(bitsPerSecond: rate, frameLength: settings.frameLength)
    unused = min(unused, sizes.mostUnused)
    settings.bitsPerSecond = rate
  }

  /// Tells the encoder what share of packets is lost, in per cent, as the receiver reports it.
  ///
  /// 0 spends nothing on copies.
  package mutating func setAnnouncedLoss(percent: Int) throws(OpusError) {
    let announced = min(max(percent, 0), 100)
    guard announced != announcedLossPercent else { return }
    try set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, announced)
    announcedLossPercent = announced
  }

  /// What to announce for a measured loss, in per cent: 0 below half a per cent of loss.
  ///
  /// The more is announced, the more of the packet goes to copies. At 32 kbit/s constant bitrate 1
  /// scores best at 5, 10 and 20 % of loss alike (PESQ-WB 3.91, 3.15, 2.54; 3.54, 2.93, 2.49
  /// with 10 announced and 2.61, 1.86, 1.48 without copies). Below 31 kbit/s libopus 1.3.1 makes no
  /// copies at all unless more than 5 is announced, and below 20 kbit/s they do not pay.
  package static func announcement(lossFraction: Double, bitsPerSecond: Int) -> Int {
    guard lossFraction >= 0.005, bitsPerSecond >= 20_000 else { return 0 }
    if bitsPerSecond > 31_000 { return 1 }
    return lossFraction >= 0.03 ? 6 : 0
  }

  /// How far the encoder looks ahead, in samples a channel at 48 kHz: 6.5 ms of delay.
  package var lookaheadSampleCount: Int {
    var value: Int32 = 0
    guard unsafe earshot_opus_encoder_get(encoder, OPUS_GET_LOOKAHEAD_REQUEST, &value) == 0 else {
      return 0
    }
    return Int(value)
  }

  private static func clamped(_ bitsPerSecond: Int) -> Int {
    min(max(bitsPerSecond, bitsPerSecondRange.lowerBound), bitsPerSecondRange.upperBound)
  }

  /// - Returns: libopus's first refusal, or 0.
  private static func configure(
    _ encoder: OpaquePointer, _ settings: Settings, _ sizes: PacketSizeClasses
  ) -> Int32 {
    let choices: [(request: Int32, value: Int)] = [
      (OPUS_SET_VBR_REQUEST, 1), (OPUS_SET_VBR_CONSTRAINT_REQUEST, 0),
      (OPUS_SET_DTX_REQUEST, 0),
      (OPUS_SET_COMPLEXITY_REQUEST, settings.complexity),
      (OPUS_SET_INBAND_FEC_REQUEST, settings.usesForwardErrorCorrection ? 1 : 0),
      (OPUS_SET_PACKET_LOSS_PERC_REQUEST, 0),
      (OPUS_SET_BITRATE_REQUEST, sizes.encoderBitsPerSecond(unused: sizes.firstUnused)),
    ]
    for choice in choices {
      let code = unsafe earshot_opus_encoder_set(encoder, choice.request, Int32(choice.value))
      if code != 0 { return code }
    }
    return 0
  }

  private mutating func set(_ request: Int32, _ value: Int) throws(OpusError) {
    let code = unsafe earshot_opus_encoder_set(encoder, request, Int32(clamping: value))
    guard code == 0 else { throw OpusError(.configure, code: code) }
  }
}
