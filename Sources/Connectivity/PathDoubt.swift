import Primitives

/// Why the selected path may be the wrong one by now (docs/protocol/calling.md §4, "Moving").
struct PathDoubt: Sendable, BitwiseCopyable {
  /// Since when it is doubted; `nil` = it is not.
  private(set) var since: Instant?
  /// When all paths were last checked for it.
  private(set) var lastSearch: Instant?
  /// Since when the peer says that it is elsewhere than where we send to.
  private(set) var renewedAt: Instant?
  /// The peer says that it does not hear us: only an answered challenge refutes that.
  private var isSaidToBeUnheard = false
  /// The address a packet with the highest number came from first, while it races with the
  /// selected one.
  var rival: DatagramPath?

  mutating func begin(now: Instant) { since = since ?? now }

  /// All paths are checked now.
  mutating func search(now: Instant) {
    begin(now: now)
    lastSearch = now
  }

  /// Whether so much time has passed since the last search, or there was none.
  func maySearch(after pause: Duration, now: Instant) -> Bool {
    lastSearch.map { now >= $0 + pause } ?? true
  }

  /// The peer has said anew where it is.
  ///
  /// - Parameter isElsewhere: Whether the selected address is not among those it named.
  mutating func handleRenewal(isElsewhere: Bool, now: Instant) {
    if isElsewhere { renewedAt = now }
    begin(now: now)
    isSaidToBeUnheard = true
  }

  /// The peer was heard from the selected address.
  mutating func handlePacket() {
    if !isSaidToBeUnheard { since = nil }
  }

  /// Nothing is expected to be heard.
  mutating func endSilence() { since = nil }

  /// The selected path has answered, or another was selected.
  mutating func settle() {
    rival = nil
    since = nil
    renewedAt = nil
    isSaidToBeUnheard = false
  }
}
