internal import CVPX

/// Turns pictures into VP8 frames at a bitrate that may change with every frame.
///
/// The quantizer of each frame is ours (`QuantizerControl`); a fixed speed; no look-ahead. A new
/// size or number of layers makes a new encoder inside, which begins with a key frame. Belongs on a
/// worker thread: a picture takes milliseconds.
@safe package struct VP8Encoder: ~Copyable {
  package struct Settings: Equatable, Sendable {
    package var size: PictureSize
    package var bitsPerSecond: Int
    /// What is expected; the rate control follows the times that pictures really have.
    package var framesPerSecond: Int
    /// 1...3 (`TemporalPattern`).
    package var temporalLayers: Int
    /// 4...16, higher is faster. `nil` chooses by size: 8 below 640×480, 12 from there.
    package var speed: Int?

    package init(
      size: PictureSize, bitsPerSecond: Int, framesPerSecond: Int = 30, temporalLayers: Int = 1,
      speed: Int? = nil
    ) {
      self.size = size
      self.bitsPerSecond = bitsPerSecond
      self.framesPerSecond = framesPerSecond
      self.temporalLayers = temporalLayers
      self.speed = speed
    }
  }

  package static let bitsPerSecondRange = 10_000...20_000_000

  package private(set) var settings: Settings
  private var pattern: TemporalPattern
  private var control = QuantizerControl()
  private var quantizer = QuantizerControl.range.upperBound
  private var owesKeyFrame = true
  /// Of the last picture, in 90 kHz; libvpx wants them to rise.
  private var lastTime: Int64 = -1
  private let codec: UnsafeMutablePointer<vpx_codec_ctx_t>
  private let configuration: UnsafeMutablePointer<vpx_codec_enc_cfg_t>

  package init(_ settings: Settings) throws(VPXError) {
    unsafe codec = .allocate(capacity: 1)
    unsafe configuration = .allocate(capacity: 1)
    unsafe codec.initialize(to: vpx_codec_ctx_t())
    unsafe configuration.initialize(to: vpx_codec_enc_cfg_t())
    self.settings = settings
    pattern = TemporalPattern(layerCount: settings.temporalLayers)
    // On a throw the deinitializer runs: `vpx_codec_destroy` takes what was never made.
    try open()
  }

  deinit {
    unsafe vpx_codec_destroy(codec)
    unsafe codec.deallocate()
    unsafe configuration.deallocate()
  }

  /// Takes effect with the next frame; a new size or number of layers also makes it a key frame.
  package mutating func reconfigure(_ settings: Settings) throws(VPXError) {
    guard settings != self.settings else { return }
    let needsNew =
      settings.size != self.settings.size || settings.temporalLayers != self.settings.temporalLayers
      || settings.speed != self.settings.speed
    self.settings = settings
    if needsNew {
      unsafe vpx_codec_destroy(codec)
      unsafe codec.initialize(to: vpx_codec_ctx_t())
      pattern = TemporalPattern(layerCount: settings.temporalLayers)
      return try open()
    }
  }

  /// The next frame will be a key frame.
  package mutating func requestKeyFrame() { owesKeyFrame = true }

  /// Encodes one picture of `settings.size`; its bytes replace those of `output`.
  ///
  /// - Parameter milliseconds: the picture's time, rising from one to the next.
  /// - Returns: `nil` if the rate control left the picture out; `output` is then empty.
  package mutating func encode(
    _ picture: I420Picture, milliseconds: Int64, into output: inout [UInt8]
  ) throws(VPXError) -> EncodedFrame? {
    guard picture.size == settings.size else { throw .badArgument(.encode) }
    let place = pattern.place(isKeyFrame: owesKeyFrame)
    output.removeAll(keepingCapacity: true)
    guard try prepare(place) else { return nil }
    let time = max(milliseconds * 90, lastTime + 1)
    let duration = UInt(max(1, 90_000 / max(1, settings.framesPerSecond)))
    let result = run(picture, time, duration, flags(for: place))
    guard result == VPX_CODEC_OK else { throw VPXError(.encode, code: Int32(result.rawValue)) }
    lastTime = time
    guard let isKeyFrame = takeOutput(&output) else { return nil }
    // Key frames come when asked for only, but a first frame is always one.
    let taken = isKeyFrame ? pattern.place(isKeyFrame: true) : place
    pattern.advance(past: taken)
    if isKeyFrame { owesKeyFrame = false }
    let kind = kind(of: taken, isKeyFrame: isKeyFrame)
    control.append(kind, byteCount: output.count, quantizer: quantizer, budget(of: kind))
    return EncodedFrame(
      isKeyFrame: isKeyFrame, size: settings.size, place: taken,
      quantizer: UInt8(clamping: quantizer), byteCount: output.count)
  }

  // MARK: - Size

  /// Sets the quantizer of the next frame; `false` if the picture is to be left out.
  private mutating func prepare(_ place: TemporalPattern.Place) throws(VPXError) -> Bool {
    let kind = kind(of: place, isKeyFrame: owesKeyFrame)
    if control.leavesOut(kind) {
      control.noteLeftOut()
      return false
    }
    quantizer = control.quantizer(for: kind, budget(of: kind))
    unsafe fill(&configuration.pointee)
    let code = unsafe vpx_codec_enc_config_set(codec, configuration)
    guard code == VPX_CODEC_OK else { throw VPXError(.configure, code: Int32(code.rawValue)) }
    return true
  }

  private func kind(of place: TemporalPattern.Place, isKeyFrame: Bool) -> QuantizerControl.Kind {
    isKeyFrame ? .key : place.layer == 0 ? .base : .upper
  }

  private func budget(of kind: QuantizerControl.Kind) -> QuantizerControl.Budget {
    let rate = Double(max(1, settings.framesPerSecond))
    let share =
      switch kind {
      // What 130 ms bring, so that it does not stand in the way for long.
      case .key: max(3, 0.13 * rate)
      case .base: pattern.baseShare
      case .upper: pattern.upperShare
      }
    return QuantizerControl.Budget(
      bitsPerPicture: Double(settings.bitsPerSecond) / rate, share: share,
      pixelCount: settings.size.pixelCount)
  }

  private mutating func run(
    _ picture: I420Picture, _ time: Int64, _ duration: UInt, _ flags: Int
  ) -> vpx_codec_err_t {
    let codec = unsafe codec
    if settings.temporalLayers > 1 {
      let layer = Int32(pattern.place(isKeyFrame: owesKeyFrame).layer)
      _ = unsafe earshot_vpx_set(codec, Int32(VP8E_SET_TEMPORAL_LAYER_ID.rawValue), layer)
    }
    return unsafe picture.bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return VPX_CODEC_INVALID_PARAM }
      var image = unsafe vpx_image_t()
      // Read only: libvpx has no constant form of it.
      let wrapped = unsafe vpx_img_wrap(
        &image, VPX_IMG_FMT_I420, UInt32(picture.width), UInt32(picture.height), 1,
        UnsafeMutablePointer(mutating: start))
      guard unsafe wrapped != nil else { return VPX_CODEC_INVALID_PARAM }
      // vpx_img_wrap rounds odd sizes up; our planes do not.
      unsafe image.stride.0 = Int32(picture.width)
      unsafe image.stride.1 = Int32(picture.width(of: .blue))
      unsafe image.stride.2 = Int32(picture.width(of: .red))
      unsafe image.planes.1 = UnsafeMutablePointer(
        mutating: start + picture.range(of: .blue).lowerBound)
      unsafe image.planes.2 = UnsafeMutablePointer(
        mutating: start + picture.range(of: .red).lowerBound)
      return unsafe vpx_codec_encode(
        codec, &image, time, duration, vpx_enc_frame_flags_t(flags), UInt(VPX_DL_REALTIME))
    }
  }

  /// - Returns: whether it is a key frame; `nil` without output.
  private func takeOutput(_ output: inout [UInt8]) -> Bool? {
    var iterator: vpx_codec_iter_t?
    var isKeyFrame: Bool?
    while let packet = unsafe vpx_codec_get_cx_data(codec, &iterator) {
      guard unsafe packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
      let frame = unsafe packet.pointee.data.frame
      unsafe output.append(
        contentsOf: UnsafeRawBufferPointer(start: frame.buf, count: frame.sz))
      isKeyFrame = unsafe frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0
    }
    return isKeyFrame
  }

  private func flags(for place: TemporalPattern.Place) -> Int {
    if owesKeyFrame { return Int(VPX_EFLAG_FORCE_KF) }
    guard settings.temporalLayers > 1 else { return 0 }
    var flags = VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_ARF
    if !place.refersToGolden { flags |= VP8_EFLAG_NO_REF_GF }
    if !place.updatesGolden { flags |= VP8_EFLAG_NO_UPD_GF }
    if place.layer > 0 { flags |= VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_ENTROPY }
    return Int(flags)
  }

  private mutating func open() throws(VPXError) {
    owesKeyFrame = true
    var code = unsafe earshot_vp8_encoder_default(configuration)
    guard code == 0 else { throw VPXError(.createEncoder, code: code) }
    unsafe fill(&configuration.pointee)
    code = unsafe earshot_vp8_encoder_init(codec, configuration)
    guard code == 0 else { throw VPXError(.createEncoder, code: code) }
    let speed = settings.speed ?? (settings.size.pixelCount < 640 * 480 ? 8 : 12)
    let choices: [(vp8e_enc_control_id, Int)] = [
      // Negative: a fixed speed. Positive ones adapt to measured time and are never this fast.
      (VP8E_SET_CPUUSED, -speed), (VP8E_SET_STATIC_THRESHOLD, 1),
      (VP8E_SET_NOISE_SENSITIVITY, 0), (VP8E_SET_TOKEN_PARTITIONS, 0),
    ]
    for (control, value) in choices {
      code = unsafe earshot_vpx_set(codec, Int32(control.rawValue), Int32(value))
      guard code == 0 else { throw VPXError(.configure, code: code) }
    }
  }

  private func fill(_ configuration: inout vpx_codec_enc_cfg_t) {
    let range = Self.bitsPerSecondRange
    let rate = min(max(settings.bitsPerSecond, range.lowerBound), range.upperBound)
    unsafe configuration.g_w = UInt32(settings.size.width)
    unsafe configuration.g_h = UInt32(settings.size.height)
    unsafe configuration.g_timebase = vpx_rational_t(num: 1, den: 90_000)
    unsafe configuration.g_threads = 1
    unsafe configuration.g_lag_in_frames = 0
    unsafe configuration.g_error_resilient = settings.temporalLayers > 1 ? 1 : 0
    unsafe configuration.rc_end_usage = VPX_CBR
    unsafe configuration.rc_target_bitrate = UInt32(rate / 1000)
    unsafe configuration.rc_min_quantizer = UInt32(quantizer)
    unsafe configuration.rc_max_quantizer = UInt32(quantizer)
    unsafe configuration.rc_dropframe_thresh = 0
    unsafe configuration.kf_mode = VPX_KF_DISABLED
    unsafe fillLayers(&configuration)
  }

  private func fillLayers(_ configuration: inout vpx_codec_enc_cfg_t) {
    guard pattern.layerCount > 1 else { return }
    let period = pattern.period
    unsafe configuration.ts_number_layers = UInt32(pattern.layerCount)
    unsafe configuration.ts_periodicity = UInt32(period.count)
    for (place, layer) in period.enumerated() {
      unsafe earshot_vpx_set_layer_id(&configuration, UInt32(place), UInt32(layer))
    }
    for (layer, share) in pattern.shares.enumerated() {
      let decimator = UInt32(1) << UInt32(pattern.layerCount - 1 - layer)
      unsafe earshot_vpx_set_layer(&configuration, UInt32(layer), decimator, UInt32(share))
    }
  }
}
