internal import COpus

/// Turns Opus packets into 48 kHz samples (station 20 of the house tour).
///
/// The number of channels is fixed here: libopus mixes stereo packets down and mono packets up, so
/// a sender may change its mind at any packet. No payload, however hostile, makes it trap.
@safe package struct OpusDecoder: ~Copyable {
  /// 1 or 2.
  package let channels: Int
  private let decoder: OpaquePointer
  /// What `keep` put aside: a decoder is one block without pointers into itself (opus.h).
  private let kept: UnsafeMutableRawPointer
  private let byteCount: Int

  package init(channels: Int) throws(OpusError) {
    guard (1...2).contains(channels) else { throw .badArgument(.createDecoder) }
    var code: Int32 = 0
    guard
      let decoder = unsafe opus_decoder_create(
        Int32(AudioFormat.sampleRateHz), Int32(channels), &code)
    else { throw OpusError(.createDecoder, code: code) }
    unsafe self.decoder = unsafe decoder
    self.channels = channels
    byteCount = Int(opus_decoder_get_size(Int32(channels)))
    unsafe kept = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe kept.copyMemory(from: UnsafeRawPointer(decoder), byteCount: byteCount)
  }

  deinit {
    unsafe kept.deallocate()
    unsafe opus_decoder_destroy(decoder)
  }

  /// Puts the state aside, before something is made up in place of a packet that may be only late.
  package mutating func keep() {
    unsafe kept.copyMemory(from: UnsafeRawPointer(decoder), byteCount: byteCount)
  }

  /// Goes back to the state of the last `keep`: nothing was made up.
  package mutating func restore() {
    unsafe UnsafeMutableRawPointer(decoder).copyMemory(from: kept, byteCount: byteCount)
  }

  /// Decodes a whole packet to the start of `output`.
  ///
  /// - Returns: samples a channel.
  @_lifetime(output: copy output)
  package mutating func decode(
    _ payload: Span<UInt8>, into output: inout MutableSpan<Int16>
  ) throws(OpusError) -> Int {
    // libopus takes a null or empty packet for a lost one, which is not what our caller means.
    guard !payload.isEmpty else { throw .badArgument(.decode) }
    return try run(
      payload, sampleCount: output.count / channels, forwardErrorCorrection: false, &output)
  }

  /// Decodes, from the packet that *follows* a loss, the copy it may carry of what was lost.
  ///
  /// Where `payload` carries no copy, or `sampleCount` reaches further back than the copy, libopus
  /// conceals instead.
  ///
  /// - Parameter sampleCount: samples a channel that are missing before `payload`; a multiple of
  ///   120 (2.5 ms).
  @_lifetime(output: copy output)
  package mutating func decodeForwardErrorCorrection(
    in payload: Span<UInt8>, sampleCount: Int, into output: inout MutableSpan<Int16>
  ) throws(OpusError) -> Int {
    guard !payload.isEmpty else { throw .badArgument(.decode) }
    return try run(payload, sampleCount: sampleCount, forwardErrorCorrection: true, &output)
  }

  /// Makes up `sampleCount` samples a channel (a multiple of 120, at most 120 ms) that continue
  /// what was decoded last, fading as libopus sees fit.
  @_lifetime(output: copy output)
  package mutating func conceal(
    sampleCount: Int, into output: inout MutableSpan<Int16>
  ) throws(OpusError) -> Int {
    try run(Span(), sampleCount: sampleCount, forwardErrorCorrection: false, &output)
  }

  /// Forgets everything heard so far, as at the start of a stream.
  package mutating func reset() { _ = unsafe earshot_opus_decoder_reset(decoder) }

  @_lifetime(output: copy output)
  private mutating func run(
    _ payload: Span<UInt8>, sampleCount: Int, forwardErrorCorrection: Bool,
    _ output: inout MutableSpan<Int16>
  ) throws(OpusError) -> Int {
    guard sampleCount > 0, sampleCount <= output.count / channels else {
      throw .badArgument(.decode)
    }
    let decoder = unsafe decoder
    let code = unsafe payload.withUnsafeBufferPointer { bytes -> Int32 in
      unsafe output.withUnsafeMutableBufferPointer { samples -> Int32 in
        guard let start = samples.baseAddress else { return Int32(OPUS_BAD_ARG) }
        return unsafe opus_decode(
          decoder, bytes.baseAddress, Int32(bytes.count), start, Int32(clamping: sampleCount),
          forwardErrorCorrection ? 1 : 0)
      }
    }
    guard code > 0 else { throw OpusError(.decode, code: code) }
    return Int(code)
  }
}
