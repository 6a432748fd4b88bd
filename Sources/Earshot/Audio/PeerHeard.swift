internal import Synchronization

/// When anything of the other side came last, in nanoseconds: from the loop to the media thread,
/// which sees sound only.
final class PeerHeard: Sendable {
  private let nanoseconds = Atomic<UInt64>(0)
  var value: UInt64 { nanoseconds.load(ordering: .relaxed) }
  func set(_ value: UInt64) { nanoseconds.store(value, ordering: .relaxed) }
}
