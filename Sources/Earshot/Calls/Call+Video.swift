/// What of video may be changed while a call runs, and which of the other side's pictures come.
extension Call {
  /// Bits a second of the own video at the most, 30 000...20 000 000. What is sent follows the line
  /// below that.
  public func setMaxVideoBitrate(_ bitsPerSecond: Int) async throws(EarshotError) {
    try await change(#function) { $0.maxVideoBitrate = bitsPerSecond }
  }

  /// What the own pictures are made to fit into: 16x16 to 4096x4096 pixels, `nil` = no limit but
  /// the line's.
  public func setMaxVideoSize(_ size: VideoSize?) async throws(EarshotError) {
    try await change(#function) { $0.maxVideoSize = size }
  }

  /// Own pictures a second at the most, 1...60; `nil` = as many as the source gives.
  public func setMaxVideoFrameRate(_ framesPerSecond: Int?) async throws(EarshotError) {
    try await change(#function) { $0.maxVideoFrameRate = framesPerSecond }
  }

  /// What happens where the way out does not hold the own video. Audio alone ends with `disabled`.
  public func setPublishFallback(
    _ fallback: CallOptions.VideoFallback
  ) async throws(EarshotError) {
    try await change(#function) { $0.fallback = fallback }
  }

  /// What happens where the way here does not hold the other side's video.
  public func setSubscribeFallback(
    _ fallback: CallOptions.SubscribeFallback
  ) async throws(EarshotError) {
    try await change(#function) { $0.subscribeFallback = fallback }
  }

  /// What the other side may have in place of the usual pictures (dual stream); `nil` = nothing. It
  /// is made only while the other side wants it.
  public func setLowVideoStream(_ low: LowVideoStream?) async throws(EarshotError) {
    try await change(#function) { $0.lowVideoStream = low }
  }

  /// Which of the other side's pictures are to come. `low` changes nothing where the other side
  /// offers none (`CallProgress.remoteLowVideoOffered`).
  ///
  /// - Throws: `callState` when the call is over, or has no video sink.
  public func setRemoteVideoStream(_ stream: VideoStreamKind) async throws(EarshotError) {
    try await change(#function) { $0.remoteVideoStream = stream }
  }

  /// Whether other calls' pictures give way before this one's, where the way here does not hold
  /// all. Of the calls of an endpoint one has priority: the one that it was given last.
  public func setRemotePriority(_ priority: RemotePriority) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.setRemotePriority(endpoint, id, priority)
    }
  }

  private func change(
    _ name: StaticString, _ body: @Sendable (inout CallOptions) -> Void
  ) async throws(EarshotError) {
    try await endpoint.traced(name, id) { endpoint throws(EarshotError) in
      try Self.changeVideo(endpoint, id, body)
    }
  }
}
