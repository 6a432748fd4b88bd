/// How a sender spends its bits: what the frames themselves get, and which copies of earlier frames
/// each packet carries.
package struct RedundancyPlan: Equatable, Sendable, BitwiseCopyable {
  /// One copy in each packet.
  package struct Copy: Equatable, Sendable, BitwiseCopyable {
    /// How many frames earlier the frame is that it copies, 1...15.
    package var distance: Int
    /// Encoded anew at `copyBitrate`, or the bytes that were first sent.
    package var isLowRate: Bool
    /// How many frames earlier the frame is whose bytes are added bit by bit, 1...15; 0 for none.
    package var parityDistance = 0

    package init(distance: Int, isLowRate: Bool) {
      self.distance = distance
      self.isLowRate = isLowRate
    }

    /// The XOR of two packets as they were first sent: either is had again from it and the other.
    package init(parityOf distance: Int, and second: Int) {
      self.init(distance: distance, isLowRate: false)
      parityDistance = second
    }
  }

  package static let maximumCopyCount = 4

  package var frameLength: FrameLength
  /// Of the frames themselves, in bits a second.
  package var bitrate: Int
  /// Of low-rate copies, in bits a second. Below 12 000 libopus 1.3.1 narrows the band of copies
  /// that are coded by themselves: 3.90 of PESQ-WB at 20 % random loss with 10 000, 3.98 with it.
  package var copyBitrate: Int
  /// Loss announced to the encoder, in per cent: more than 0 lets it make copies of its own.
  package var announcedLossPercent = 0
  /// Whether each low-rate copy is coded from the state of the frames, as the decoder has it that
  /// lacks a lone frame; where copies often follow copies they are better coded by themselves.
  package var copiesFollowFrames = false
  package private(set) var copyCount = 0
  private var copies = InlineArray<4, Copy>(repeating: Copy(distance: 1, isLowRate: true))

  /// No redundancy.
  package init(frameLength: FrameLength = .milliseconds20, bitrate: Int = 32_000) {
    self.frameLength = frameLength
    self.bitrate = bitrate
    copyBitrate = 12_000
  }

  /// One more copy; ignored beyond `maximumCopyCount`.
  package mutating func add(_ copy: Copy) {
    guard copyCount < Self.maximumCopyCount else { return }
    copies[copyCount] = copy
    copyCount += 1
  }

  package mutating func removeCopies() { copyCount = 0 }

  /// - Parameter index: below `copyCount`.
  package func copy(_ index: Int) -> Copy { copies[index] }

  package var usesLowRateCopies: Bool {
    (0..<copyCount).contains { copies[$0].isLowRate }
  }

  /// The farthest copy, in frames; 0 without any.
  package var longestDistance: Int {
    (0..<copyCount).reduce(0) { max($0, copies[$1].distance, copies[$1].parityDistance) }
  }

  /// What codec payload takes on average, copies included, in bits a second.
  package var payloadBitrate: Int {
    (0..<copyCount).reduce(bitrate) { $0 + bitrate(of: copies[$1]) }
  }

  private func bitrate(of copy: Copy) -> Int {
    if copy.isLowRate { return copyBitrate }
    guard copy.parityDistance > 0 else { return bitrate }
    // As long as the longer of two packets, and a lead of four bytes.
    return bitrate * Self.parityShare / 100 + 4 * 8 * 1000 / frameLength.milliseconds
  }

  /// What a parity of packets takes, in per cent of one of them: they have three lengths.
  static let parityShare = 106

  package static func == (left: RedundancyPlan, right: RedundancyPlan) -> Bool {
    left.frameLength == right.frameLength && left.bitrate == right.bitrate
      && left.copyBitrate == right.copyBitrate && left.copyCount == right.copyCount
      && left.announcedLossPercent == right.announcedLossPercent
      && left.copiesFollowFrames == right.copiesFollowFrames
      && (0..<left.copyCount).allSatisfy { left.copies[$0] == right.copies[$0] }
  }
}
