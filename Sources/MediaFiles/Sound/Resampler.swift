internal import CSndFile

/// Brings interleaved samples of one rate to 48 kHz (libsamplerate, band-limited interpolation).
@safe struct Resampler: ~Copyable {
  private let state: OpaquePointer
  private let channels: Int
  private var ratio: Double

  /// `nil` for a rate or a number of channels that libsamplerate does not take.
  init?(rate: Int, channels: Int) {
    var code: Int32 = 0
    let ratio = 48_000 / Double(rate)
    guard src_is_valid_ratio(ratio) != 0,
      let state = unsafe src_new(Self.quality, Int32(channels), &code)
    else { return nil }
    unsafe self.state = unsafe state
    self.channels = channels
    self.ratio = ratio
  }

  deinit { unsafe src_delete(state) }

  /// Frames out for each one in, from the next step on; reached by its end.
  mutating func setRatio(_ ratio: Double) { self.ratio = ratio }

  /// What one step took and gave, in frames.
  struct Progress {
    var taken: Int
    var given: Int
  }

  /// Converts frames of `input` into `output`, as many as there is room for.
  ///
  /// - Parameters:
  ///   - range: of frames in `input`.
  ///   - isLast: nothing follows `range`.
  ///   - room: frames of `output` to fill at most; all of it unless given.
  mutating func process(
    _ input: [Float], _ range: Range<Int>, isLast: Bool, into output: inout [Float],
    room: Int? = nil
  ) -> Progress? {
    let channels = channels
    let ratio = ratio
    let state = unsafe state
    return unsafe input.withUnsafeBufferPointer { source -> Progress? in
      unsafe output.withUnsafeMutableBufferPointer { target -> Progress? in
        guard let sourceStart = source.baseAddress, let targetStart = target.baseAddress else {
          return nil
        }
        var step = unsafe SRC_DATA()
        unsafe step.data_in = sourceStart + range.lowerBound * channels
        unsafe step.data_out = targetStart
        unsafe step.input_frames = range.count
        unsafe step.output_frames = min(room ?? .max, target.count / channels)
        unsafe step.end_of_input = isLast ? 1 : 0
        unsafe step.src_ratio = ratio
        guard unsafe src_process(state, &step) == 0 else { return nil }
        return Progress(
          taken: unsafe step.input_frames_used, given: unsafe step.output_frames_gen)
      }
    }
  }

  mutating func reset() { _ = unsafe src_reset(state) }

  /// 44.1 to 48 kHz mono costs 0.4 % of a core; medium quality costs 1.1 %, half of what a whole
  /// call may, for a pass band that ends at 90 instead of 80 % of the half rate: inaudible in
  /// speech.
  private static let quality = Int32(SRC_SINC_FASTEST)
}
