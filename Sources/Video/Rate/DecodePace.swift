package import Primitives

/// How many pictures of a peer enter the decoder: who sends more than anybody watches takes a core
/// of this host. A picture that is left out takes those after it along, up to a key frame.
package struct DecodePace: Sendable {
  /// Pictures in a second, and at once. Our choice: twice what a sender makes at the most.
  package static let perSecond = 120

  /// Pictures that may enter now.
  private var allowed = Double(Self.perSecond)
  private var counted: Instant?
  private var isSkipping = false

  package init() {}

  /// Whether the next picture enters the decoder.
  package mutating func admits(isKeyFrame: Bool, now: Instant) -> Bool {
    let limit = Double(Self.perSecond)
    if let counted, now > counted {
      allowed = min(limit, allowed + Double(now.nanoseconds(since: counted)) / 1e9 * limit)
    }
    counted = max(counted ?? now, now)
    guard allowed >= 1, isKeyFrame || !isSkipping else {
      isSkipping = true
      return false
    }
    isSkipping = false
    allowed -= 1
    return true
  }
}
