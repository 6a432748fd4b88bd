internal import Synchronization

/// Tells the queue that a source has ended, also when the one is there before the other.
package final class SourceEnd: Sendable {
  private struct State {
    var feed: AsyncStream<SessionInput>.Continuation?
    var hasEnded = false
  }
  private let state = Mutex(State())

  package init() {}

  package func connect(to feed: AsyncStream<SessionInput>.Continuation) {
    let isLate = state.withLock { state in
      state.feed = feed
      return state.hasEnded
    }
    if isLate { feed.yield(.sourceEnded) }
  }

  /// From the media thread.
  package func report() {
    let feed = state.withLock { state in
      state.hasEnded = true
      return state.feed
    }
    feed?.yield(.sourceEnded)
  }
}
