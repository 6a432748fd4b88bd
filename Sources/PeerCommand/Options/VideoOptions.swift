package import Arguments
package import Earshot

/// What `call` and `answer` have in common of video.
package struct VideoOptions: Sendable {
  /// What is sent.
  package enum Picture: Equatable, Sendable {
    /// A moving test picture with its number and time.
    case test
    /// A YUV4MPEG2 file at its frame rate; `-` is standard input.
    case file(String)
  }

  package var picture: Picture?
  package var save: String?
  /// Bits a second.
  package var maxBitrate: Int
  package var fallback: CallOptions.VideoFallback

  /// - Parameters:
  ///   - arguments: of the command.
  ///   - usual: bit/s of video where the command says none.
  package init(_ arguments: inout Arguments, usual: Int = CallOptions().maxVideoBitrate)
    throws(UsageError)
  {
    picture = try arguments.option("--video", wants: "a y4m file, - or test") { text in
      text.isEmpty ? nil : text == "test" ? .test : .file(text)
    }
    save = try arguments.option("--save-video", wants: "a file name that ends in .ivf") { name in
      name.lowercased().hasSuffix(".ivf") ? name : nil
    }
    maxBitrate =
      try arguments.integer(
        "--max-video-bitrate", "bits a second", in: CallOptions.videoBitrates) ?? usual
    let fallback = try arguments.choice("--fallback", of: ["audio-only", "disabled"])
    self.fallback = fallback == "disabled" ? .disabled : .audioOnly
  }

  /// Whether the call has a picture, one way or the other.
  package var isWanted: Bool { picture != nil || save != nil }

  /// The name for what is seen in call `number`, 1 upwards.
  package func saveName(call number: Int) -> String? {
    save.map { SaveName.of($0, call: number) }
  }

  package func apply(_ ends: OpenedVideo?, to options: inout CallOptions) {
    guard let ends else { return }
    options.videoSource = ends.source
    options.videoSink = ends.sink
    options.maxVideoBitrate = maxBitrate
    options.fallback = fallback
  }
}

/// Names of recordings.
package enum SaveName {
  /// The name for call `number`, 1 upwards: `{n}` is replaced; where there is no `{n}`, later calls
  /// get `-2`, `-3` before the ending, so that none is written over.
  package static func of(_ name: String, call number: Int) -> String {
    if let place = name.firstRange(of: "{n}") {
      return String(name[..<place.lowerBound]) + "\(number)" + name[place.upperBound...]
    }
    guard number > 1 else { return name }
    guard let dot = name.lastIndex(of: ".") else { return name + "-\(number)" }
    return name[..<dot] + "-\(number)" + name[dot...]
  }

  /// The name for a further member of a channel that a call became, 1 upwards.
  package static func of(_ name: String, member number: Int) -> String {
    let end = "-member-\(number)"
    guard let dot = name.lastIndex(of: ".") else { return name + end }
    return name[..<dot] + end + name[dot...]
  }
}
