package import Primitives

/// Decides whether a request for a key frame gets one.
///
/// Not while one is on its way, and not more often than every 300 ms; that interval doubles with
/// each one made on request, up to 5 s, and is short again after 10 s without a request: a
/// receiver on a bad path must not take the bitrate of everything else.
package struct KeyFrameGate: Sendable {
  private var lastMade: Instant?
  private var lastNumber: UInt16?
  private var interval = Self.shortest
  /// A request that came too early and waits.
  private var isOwed = false

  package init() {}

  /// A request arrived.
  ///
  /// - Parameter newest: the newest frame number that the receiver has seen.
  package mutating func handleRequest(newest: UInt16?, now: Instant) {
    if let lastMade, now - lastMade < Self.underWay, let lastNumber {
      // Newer than all the receiver has seen: on its way, unless it is lost, which takes longer.
      let isAhead = newest.map { Int16(truncatingIfNeeded: Int(lastNumber) - Int($0)) > 0 } ?? true
      if isAhead { return }
    }
    isOwed = true
  }

  /// Whether the next frame is to be a key frame because of a request.
  package mutating func poll(now: Instant) -> Bool {
    guard isOwed else { return false }
    if let lastMade {
      if now - lastMade >= Self.calm { interval = Self.shortest }
      guard now - lastMade >= interval else { return false }
      interval = min(interval + interval, Self.longest)
    }
    isOwed = false
    return true
  }

  /// A key frame was made, for whatever reason.
  package mutating func handleMade(number: UInt16, now: Instant) {
    lastMade = now
    lastNumber = number
    isOwed = false
  }

  private static let shortest = Duration.milliseconds(300)
  private static let longest = Duration.seconds(5)
  private static let calm = Duration.seconds(10)
  private static let underWay = Duration.seconds(1)
}
