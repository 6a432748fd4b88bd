/// What a body of audio is: the two ends of a call's audio talk to each other in such bodies, and
/// nothing between them looks inside.
package enum AudioKind: UInt8, BitwiseCopyable, Sendable {
  /// The body of an AUDIO frame.
  case frame = 0
  /// The body of an AUDIO_REPORT.
  case report = 1
  /// The body of an AUDIO_REQUEST.
  case request = 2
}

/// What stands beside a body of audio on its way through one host.
package struct AudioBodyHeader: Equatable, Sendable, BitwiseCopyable {
  package var kind: AudioKind
  /// Of an AUDIO frame; the default for the other kinds.
  package var frame: AudioMediaFrame

  /// A report or a request.
  package init(_ kind: AudioKind) {
    self.kind = kind
    frame = AudioMediaFrame(length: .milliseconds20, isMarked: false, mediaTime: 0)
  }

  /// An AUDIO frame.
  package init(_ frame: AudioMediaFrame) {
    kind = .frame
    self.frame = frame
  }
}
