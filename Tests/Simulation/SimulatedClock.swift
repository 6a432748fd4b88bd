package import Primitives

/// A host's own monotonic clock: another origin than the world's, and a quartz of its own.
package struct SimulatedClock: Sendable, BitwiseCopyable {
  /// What the host's clock shows when the world begins.
  package var origin: UInt64
  /// How much too fast it runs, in parts per million.
  package var partsPerMillion: Int64

  package init(origin: Instant = .zero, partsPerMillion: Int64 = 0) {
    self.origin = origin.nanoseconds
    self.partsPerMillion = partsPerMillion
  }

  package func local(_ world: Instant) -> Instant {
    let drift = Int64(clamping: world.nanoseconds) / 1_000 * partsPerMillion / 1_000
    return Instant(nanoseconds: UInt64(Int64(clamping: origin &+ world.nanoseconds) + drift))
  }

  /// A moment of the world at which the host's clock shows `local` or up to 1 µs more, never less.
  package func world(_ local: Instant) -> Instant {
    let elapsed = Int64(clamping: local.nanoseconds) - Int64(clamping: origin)
    guard elapsed > 0 else { return .zero }
    var guess = elapsed - elapsed / 1_000 * partsPerMillion / 1_000
    while self.local(Instant(nanoseconds: UInt64(max(0, guess)))) < local { guess += 1_000 }
    return Instant(nanoseconds: UInt64(max(0, guess)))
  }
}
