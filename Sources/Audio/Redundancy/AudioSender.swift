import Primitives
package import Wire

/// One stream of audio on its way out: encodes each frame, once for itself and, where the plan says
/// so, once more at a low rate for the copies in later packets, and puts the packets' bodies
/// together (docs/protocol/frames.md §5).
///
/// Nothing here allocates after `init`.
package struct AudioSender: ~Copyable {
  /// What may be changed at any frame.
  package private(set) var plan: RedundancyPlan
  package private(set) var statistics = RedundancyStatistics()

  private var encoder: OpusEncoder
  private var copyEncoder: OpusEncoder
  private var frames = SentFrames()
  private var primary: [UInt8] = []
  private var lowRate: [UInt8] = []
  private var isCopyEncoderFresh = true
  /// Whether the last copy was coded from the state of the frames.
  private var followed = false
  private var newestMediaTime: UInt16 = 0

  /// - Parameter settings: of the frames themselves; a plan may change rate and frame length.
  package init(_ settings: OpusEncoder.Settings) throws(OpusError) {
    var copySettings = settings
    copySettings.usesForwardErrorCorrection = false
    copySettings.detectsUpperBand = false
    if settings.isSpeech { copySettings.complexity = min(settings.complexity, Self.copyComplexity) }
    copySettings.bitsPerSecond = RedundancyPlan().copyBitrate
    let encoder = try OpusEncoder(settings)
    let copyEncoder = try OpusEncoder(copySettings)
    self.init(encoder, copyEncoder)
  }

  private init(_ encoder: consuming OpusEncoder, _ copyEncoder: consuming OpusEncoder) {
    let settings = encoder.settings
    plan = RedundancyPlan(frameLength: settings.frameLength, bitrate: settings.bitsPerSecond)
    self.encoder = encoder
    self.copyEncoder = copyEncoder
    primary.reserveCapacity(AudioFormat.maxPayloadByteCount)
    lowRate.reserveCapacity(AudioFormat.maxPayloadByteCount)
  }

  package var channels: Int { encoder.settings.channels }
  package var bitsPerSecond: Int { encoder.settings.bitsPerSecond }
  /// In samples a channel at 48 kHz.
  package var lookaheadSampleCount: Int { encoder.lookaheadSampleCount }

  /// Takes effect with the next frame.
  package mutating func follow(_ plan: RedundancyPlan) throws(OpusError) {
    if plan.bitrate != encoder.settings.bitsPerSecond {
      try encoder.setBitrate(bitsPerSecond: plan.bitrate)
    }
    if plan.copyBitrate != copyEncoder.settings.bitsPerSecond {
      try copyEncoder.setBitrate(bitsPerSecond: plan.copyBitrate)
    }
    try encoder.setAnnouncedLoss(percent: plan.announcedLossPercent)
    try encoder.setFrameLength(plan.frameLength)
    try copyEncoder.setFrameLength(plan.frameLength)
    self.plan = plan
  }

  /// Encodes one frame and appends the body of its packet: copies first, then the frame itself.
  ///
  /// - Parameters:
  ///   - samples: exactly `plan.frameLength`, channels interleaved.
  ///   - mediaTime: of the first of them, in steps of 10 ms.
  ///   - body: with room for `maximumBodyByteCount`.
  /// - Returns: whether the body has copies.
  @_lifetime(body: copy body)
  package mutating func encode(
    _ samples: Span<Int16>, mediaTime: UInt16, into body: inout OutputSpan<UInt8>
  ) throws(OpusError) -> Bool {
    if plan.usesLowRateCopies {
      if plan.copiesFollowFrames {
        try copyEncoder.follow(encoder)
      } else {
        if isCopyEncoderFresh || followed { try copyEncoder.goAlone() }
        try copyEncoder.followBand(of: encoder)
      }
      followed = plan.copiesFollowFrames
      isCopyEncoderFresh = false
      try Self.encode(samples, with: &copyEncoder, into: &lowRate)
    } else {
      isCopyEncoderFresh = true
      lowRate.removeAll(keepingCapacity: true)
    }
    try Self.encode(samples, with: &encoder, into: &primary)
    newestMediaTime = mediaTime
    var parcel = Parcel(
      mediaTime: mediaTime, room: Self.maximumBodyByteCount - primary.count)
    pack(&parcel)
    write(parcel, into: &body)
    body.append(span: primary.span)
    frames.add(primary, lowRate, mediaTime: mediaTime, length: plan.frameLength)
    statistics.framesSent += 1
    statistics.primaryBytesSent += UInt64(primary.count)
    return parcel.count > 0
  }

  /// Appends the body of a packet that has only what was asked for; its media time is that of the
  /// newest frame plus one step. `nil` when nothing was asked for.
  @_lifetime(body: copy body)
  package mutating func writeRepetitions(into body: inout OutputSpan<UInt8>) -> UInt16? {
    let mediaTime = newestMediaTime &+ 1
    var parcel = Parcel(mediaTime: mediaTime, room: Self.maximumBodyByteCount)
    packRepetitions(&parcel)
    guard parcel.count > 0 else { return nil }
    write(parcel, into: &body)
    return mediaTime
  }

  package var hasRepetitions: Bool { frames.wanted != nil }

  /// The other side lacks frames: they go out again with the next packet.
  package mutating func handle(_ request: AudioRequestFrame) {
    for index in 0..<request.entryCount {
      let entry = request.entry(index)
      want(entry.mediaTime)
      for bit in 0..<8 where entry.following >> UInt8(bit) & 1 == 1 {
        want(entry.mediaTime &+ UInt16(bit + 1) &* request.length.mediaTimeSteps)
      }
    }
  }

  private mutating func want(_ mediaTime: UInt16) {
    statistics.framesRequested += 1
    guard let slot = frames.slot(mediaTime: mediaTime),
      frames[slot].repetitions < Self.maximumRepetitions
    else { return }
    frames[slot].isWanted = true
  }

  // MARK: - Putting a body together

  /// What goes into one body beside its own frame.
  private struct Parcel {
    let mediaTime: UInt16
    var room: Int
    var count = 0
    var slots = InlineArray<12, Int>(repeating: 0)
    /// Of parities: the second frame.
    var seconds = InlineArray<12, Int>(repeating: 0)
    var codings = InlineArray<12, AudioCopy.Coding>(repeating: .primary)

    mutating func add(
      _ slot: Int, second: Int = 0, _ coding: AudioCopy.Coding, byteCount: Int
    ) {
      slots[count] = slot
      seconds[count] = second
      codings[count] = coding
      count += 1
      room -= byteCount
    }

    func contains(_ slot: Int) -> Bool { (0..<count).contains { slots[$0] == slot } }
  }

  private mutating func pack(_ parcel: inout Parcel) {
    packRepetitions(&parcel)
    let steps = plan.frameLength.stepCount
    for index in 0..<plan.copyCount {
      let copy = plan.copy(index)
      let distance = UInt16(truncatingIfNeeded: copy.distance) &* steps
      guard let slot = frames.slot(mediaTime: parcel.mediaTime &- distance),
        !parcel.contains(slot)
      else { continue }
      let second = UInt16(truncatingIfNeeded: copy.parityDistance) &* steps
      if second > 0, let other = frames.slot(mediaTime: parcel.mediaTime &- second) {
        add(parityOf: slot, other, to: &parcel)
        continue
      }
      let hasLowRate = frames[slot].lowRateByteCount > 0
      let isLowRate = copy.isLowRate && hasLowRate
      add(slot, isLowRate ? .lowRate : .primary, to: &parcel)
    }
  }

  private mutating func packRepetitions(_ parcel: inout Parcel) {
    while let slot = frames.wanted, parcel.count < Self.maximumRepetitionsAtOnce {
      frames[slot].isWanted = false
      frames[slot].repetitions += 1
      add(slot, .retransmission, to: &parcel)
    }
  }

  private mutating func add(
    _ slot: Int, _ coding: AudioCopy.Coding, to parcel: inout Parcel
  ) {
    let frame = frames[slot]
    let distance = parcel.mediaTime &- frame.mediaTime
    guard (1...255).contains(distance), parcel.count < AudioBody.maximumCopyCount else { return }
    let length = coding == .lowRate ? frame.lowRateByteCount : frame.primaryByteCount
    let total =
      length + AudioCopy.headerByteCount(distance: UInt8(distance), byteCount: length)
    guard length > 0, total <= parcel.room else { return }
    parcel.add(slot, coding, byteCount: total)
    if coding == .retransmission {
      statistics.framesRetransmitted += 1
      statistics.retransmittedBytesSent += UInt64(total)
    } else {
      statistics.copiesSent += 1
      statistics.copyBytesSent += UInt64(total)
    }
  }

  private mutating func add(parityOf slot: Int, _ second: Int, to parcel: inout Parcel) {
    let length = parityByteCount(slot, second)
    let distance = parcel.mediaTime &- frames[slot].mediaTime
    let farther = parcel.mediaTime &- frames[second].mediaTime
    guard (1...255).contains(distance), (1...255).contains(farther),
      parcel.count < AudioBody.maximumCopyCount
    else { return }
    let total =
      length + AudioCopy.headerByteCount(.parity, distance: UInt8(distance), byteCount: length)
    guard length <= AudioFormat.maxPayloadByteCount, total <= parcel.room else { return }
    parcel.add(slot, second: second, .parity, byteCount: total)
    statistics.copiesSent += 1
    statistics.copyBytesSent += UInt64(total)
  }

  private func parityByteCount(_ slot: Int, _ second: Int) -> Int {
    AudioCopy.parityLeadByteCount
      + max(frames[slot].primaryByteCount, frames[second].primaryByteCount)
  }

  @_lifetime(body: copy body)
  private func write(_ parcel: Parcel, into body: inout OutputSpan<UInt8>) {
    for index in 0..<parcel.count {
      let slot = parcel.slots[index]
      let coding = parcel.codings[index]
      let byteCount =
        switch coding {
        case .lowRate: frames[slot].lowRateByteCount
        case .parity: parityByteCount(slot, parcel.seconds[index])
        default: frames[slot].primaryByteCount
        }
      AudioCopy.writeHeader(
        coding, distance: UInt8(truncatingIfNeeded: parcel.mediaTime &- frames[slot].mediaTime),
        byteCount: byteCount, isLast: index == parcel.count - 1, to: &body)
    }
    for index in 0..<parcel.count {
      let slot = parcel.slots[index]
      switch parcel.codings[index] {
      case .lowRate: body.append(span: frames.lowRate(slot))
      case .parity: writeParity(slot, parcel.seconds[index], parcel.mediaTime, into: &body)
      default: body.append(span: frames.primary(slot))
      }
    }
  }

  @_lifetime(body: copy body)
  private func writeParity(
    _ slot: Int, _ second: Int, _ mediaTime: UInt16, into body: inout OutputSpan<UInt8>
  ) {
    let (first, other) = (frames.primary(slot), frames.primary(second))
    AudioCopy.writeParityLead(
      secondDistance: UInt8(truncatingIfNeeded: mediaTime &- frames[second].mediaTime),
      lengths: (first.count, other.count), to: &body)
    for index in 0..<max(first.count, other.count) {
      let left = index < first.count ? first[index] : 0
      let right = index < other.count ? other[index] : 0
      body.append(left ^ right)
    }
  }

  private static func encode(
    _ samples: Span<Int16>, with encoder: inout OpusEncoder, into packet: inout [UInt8]
  ) throws(OpusError) {
    packet.removeAll(keepingCapacity: true)
    try packet.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      (output) throws(OpusError) in
      _ = try encoder.encode(samples, into: &output)
    }
  }

  /// 1200 bytes less header, tag, the frame's own three and a report beside it.
  package static let maximumBodyByteCount = 1130
  private static let maximumRepetitions = 3
  /// Of low-rate copies of speech: a third less time than 9, for one or two kbit/s that copies have
  /// to have more (docs/decisions/0027).
  private static let copyComplexity = 6
  private static let maximumRepetitionsAtOnce = 6
}

/// What redundancy cost one stream that was sent.
package struct RedundancyStatistics: Sendable, BitwiseCopyable {
  package internal(set) var framesSent: UInt64 = 0
  /// Bytes of codec payload of the frames themselves.
  package internal(set) var primaryBytesSent: UInt64 = 0
  package internal(set) var copiesSent: UInt64 = 0
  /// With their headers.
  package internal(set) var copyBytesSent: UInt64 = 0
  /// Frames the other side asked for.
  package internal(set) var framesRequested: UInt64 = 0
  package internal(set) var framesRetransmitted: UInt64 = 0
  /// With their headers.
  package internal(set) var retransmittedBytesSent: UInt64 = 0

  package init() {}
}
