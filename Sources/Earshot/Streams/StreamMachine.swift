internal import Primitives

/// The state of one stream, and since when. Pure.
struct StreamMachine {
  let kind: StreamKind
  private(set) var state: StreamState
  private(set) var reason: StreamReason
  private var since: Instant

  /// - Parameter now: when the call was made or came in.
  init(_ kind: StreamKind, now: Instant) {
    self.kind = kind
    switch kind {
    case .localAudio, .localVideo, .remoteAudio, .remoteVideo: state = .stopped
    case .audioPublish, .videoPublish, .audioSubscribe, .videoSubscribe: state = .idle
    }
    reason = .started
    since = now
  }

  /// - Returns: `nil` when it is in that state already, for whatever reason; only a failure of the
  ///   source is told within a state.
  mutating func enter(
    _ new: StreamState, _ reason: StreamReason, now: Instant
  ) -> StreamChange? {
    let isCapture = reason == .captureFailure || reason == .captureRecovery
    let tells = new != state || (isCapture && reason != self.reason)
    guard tells else { return nil }
    let change = StreamChange(kind, from: state, to: new, reason, elapsed: now - since)
    state = new
    self.reason = reason
    since = now
    return change
  }
}
