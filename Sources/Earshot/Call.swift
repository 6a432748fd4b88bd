/// One call of an endpoint: a name for it, not a state of its own. Its events are the endpoint's.
public struct Call: Sendable, Identifiable {
  /// The same 16 bytes on both sides.
  public let id: CallID
  let endpoint: Endpoint

  /// Answers an incoming call: from here on this side can send.
  public func accept(_ options: CallOptions) async throws(EarshotError) {
    try await endpoint.accept(id, options)
  }

  /// Says no, with words for the caller; at most 128 bytes of them arrive.
  public func reject(reason: String = "") async throws(EarshotError) {
    try await endpoint.reject(id, reason)
  }

  /// Ends the call: cancels or rejects it before an answer, hangs up after. Harmless when it is
  /// over.
  public func hangUp(reason: String = "") async {
    await endpoint.hangUp(id, reason)
  }

  /// Stops or resumes sending audio; the other side is told.
  ///
  /// - Throws: `callState` when the call is over, or has no source to resume.
  public func setAudioMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.setAudioMuted(id, isMuted)
  }

  /// Stops or resumes sending video; the other side is told. Nothing is encoded meanwhile.
  public func setVideoMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.setVideoMuted(id, isMuted)
  }

  /// Stops or resumes showing the other side's video; the other side is asked not to send it.
  public func setRemoteVideoMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.setRemoteVideoMuted(id, isMuted)
  }

  /// Stops or resumes playing the other side's audio: the sink gets silence meanwhile.
  public func setRemoteAudioMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.setRemoteAudioMuted(id, isMuted)
  }

  /// Switches the whole of video: nothing is sent and nothing shown while it is off.
  public func setVideoEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.setVideoEnabled(id, isEnabled)
  }

  /// Switches the whole of audio: nothing is sent and nothing played while it is off.
  public func setAudioEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.setAudioEnabled(id, isEnabled)
  }

  /// Sends a reliable, ordered message of at most 65 536 bytes on a stream of the application.
  ///
  /// - Parameters:
  ///   - message: its bytes.
  ///   - stream: 8...127.
  /// - Returns: What `CallProgress.messageDelivery` will name.
  @discardableResult
  public func send(_ message: [UInt8], stream: UInt8 = 8) async throws(EarshotError) -> UInt64 {
    try await endpoint.send(id, message, stream: stream)
  }

  /// Who the other side is, as far as that is known by now: all of it since the answer
  /// (`CallProgress.answered`) at the caller, since the ring at the callee. `nil` before a dialled
  /// name was found, and when the call is over.
  public var peer: CallPeer? {
    get async { await endpoint.peer(of: id) }
  }

  /// The numbers since the beginning of the call; `nil` when there is no such call any more.
  public func statistics() async -> CallStatistics? { await endpoint.statistics(of: id) }
}
