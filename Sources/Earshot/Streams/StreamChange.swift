/// A stream of a call moved from one state to another (`CallProgress.streamChanged`).
public struct StreamChange: Sendable, Equatable {
  /// Which stream.
  public var stream: StreamKind
  /// The state before.
  public var old: StreamState
  /// The state now.
  public var new: StreamState
  /// Why.
  public var reason: StreamReason
  /// Since the change of this stream before; of its first change, since the call was made or came
  /// in.
  public var elapsed: Duration

  package init(
    _ stream: StreamKind, from old: StreamState, to new: StreamState, _ reason: StreamReason,
    elapsed: Duration
  ) {
    self.stream = stream
    self.old = old
    self.new = new
    self.reason = reason
    self.elapsed = elapsed
  }
}

/// What of a call has a state of its own.
public enum StreamKind: String, Sendable, CaseIterable {
  /// The own audio from its source to its encoder: `stopped`, `capturing`, `encoding`, `failed`.
  case localAudio
  /// The own video, likewise.
  case localVideo
  /// The other side's audio from its first packet to the sink: `stopped`, `starting`, `decoding`,
  /// `frozen`, `failed`.
  case remoteAudio
  /// The other side's video, likewise.
  case remoteVideo
  /// Whether the own audio is sent: `idle`, `notPublished`, `publishing`, `published`.
  case audioPublish
  /// Whether the own video is sent, likewise.
  case videoPublish
  /// Whether the other side's audio is heard: `idle`, `notSubscribed`, `subscribing`,
  /// `subscribed`.
  case audioSubscribe
  /// Whether the other side's video is seen, likewise.
  case videoSubscribe
}

/// Where a stream stands; which of these a stream can have says `StreamKind`.
public enum StreamState: String, Sendable {
  /// Nothing is captured, or nothing comes.
  case stopped
  /// The source gives samples or pictures.
  case capturing
  /// The first frame was encoded and has left.
  case encoding
  /// The first packet has come; nothing was decoded yet.
  case starting
  /// It is heard, or seen.
  case decoding
  /// Nothing has come to be heard, or no picture to be seen, for more than 500 ms.
  case frozen
  /// It does not work.
  case failed
  /// Before media may flow, and after the call.
  case idle
  /// Nothing is sent.
  case notPublished
  /// It is to be sent; the first frame has not left.
  case publishing
  /// It is sent.
  case published
  /// Nothing is to come.
  case notSubscribed
  /// It is awaited.
  case subscribing
  /// It has come.
  case subscribed
}

/// Why a stream is in its state.
public enum StreamReason: String, Sendable {
  /// It began.
  case started
  /// Its first frame has left, or was decoded.
  case firstFrame
  /// This side muted it, does not want it, or has no source for it.
  case localMuted
  /// This side sends it, or wants it, again.
  case localUnmuted
  /// The other side muted it.
  case remoteMuted
  /// The other side sends it.
  case remoteUnmuted
  /// The path does not carry it.
  case networkCongestion
  /// The path carries it again.
  case networkRecovery
  /// A side fell back to audio alone.
  case audioFallback
  /// That side has returned to video.
  case audioFallbackRecovery
  /// The source has come to its end.
  case sourceEnded
  /// The source gave no picture for 4 s, or the same one again and again.
  case captureFailure
  /// The source gives pictures again.
  case captureRecovery
  /// The encoder, the decoder or a thread failed.
  case internalFailure
  /// The call is over.
  case callEnded
  /// The call is over, and the other side sends no more.
  case remoteOffline
}
