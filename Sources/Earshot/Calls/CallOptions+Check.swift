internal import Audio
internal import Primitives

extension CallOptions {
  /// - Throws: `invalidArgument`, with what the value may be.
  func check() throws(EarshotError) {
    try checkEncoding()
    guard Self.uplinkWeights.contains(uplinkWeight) else {
      throw .invalidArgument(
        "A weight of \(uplinkWeight) is out of range.", advice: "Use 0.1 to 10.")
    }
    if let rejoin, !Self.rejoins.contains(rejoin) {
      throw .invalidArgument(
        "A call cannot wait for \(rejoin).", advice: "Use 20 s to 20 minutes, or nil.")
    }
    try checkVideo()
    if let userExtension, userExtension.utf8.count > 1024 {
      throw .invalidArgument(
        "The extension has \(userExtension.utf8.count) bytes.", advice: "Keep it to 1024.")
    }
  }

  func checkEncoding() throws(EarshotError) {
    guard FrameLength(rawValue: frameMilliseconds) != nil else {
      throw .invalidArgument(
        "Frames of \(frameLength) do not exist.", advice: "Use 10, 20, 40 or 60 ms.")
    }
    guard OpusEncoder.bitsPerSecondRange.contains(bitrate) else {
      throw .invalidArgument("\(bitrate) bit/s is out of range.", advice: "Use 6000 to 510000.")
    }
  }

  private static func check(size: VideoSize?, rate: Int?) throws(EarshotError) {
    if let size, !videoSides.contains(size.width) || !videoSides.contains(size.height) {
      throw .invalidArgument(
        "Pictures of \(size.width)x\(size.height) are out of range.", advice: "Use 16 to 4096.")
    }
    if let rate, !(1...60).contains(rate) {
      throw .invalidArgument(
        "\(rate) pictures a second are out of range.", advice: "Use 1 to 60.")
    }
  }

  private static let videoSides = 16...4096

  func checkVideo() throws(EarshotError) {
    guard Self.videoBitrates.contains(maxVideoBitrate) else {
      throw .invalidArgument(
        "\(maxVideoBitrate) bit/s of video is out of range.", advice: "Use 30000 to 20000000.")
    }
    try Self.check(size: maxVideoSize, rate: maxVideoFrameRate)
    if let low = lowVideoStream {
      try Self.check(size: low.size, rate: low.framesPerSecond)
      guard Self.videoBitrates.contains(low.bitsPerSecond) else {
        throw .invalidArgument(
          "\(low.bitsPerSecond) bit/s of low video is out of range.",
          advice: "Use 30000 to 20000000.")
      }
    }
    guard let source = videoSource else { return }
    guard (1...60).contains(source.framesPerSecond) else {
      throw .invalidArgument(
        "\(source.framesPerSecond) pictures a second are out of range.", advice: "Use 1 to 60.")
    }
  }
}

extension Duration {
  /// 0 for a length that is not of whole milliseconds.
  var wholeMilliseconds: Int {
    nanoseconds % 1_000_000 == 0 ? Int(clamping: nanoseconds / 1_000_000) : 0
  }
}
