import Congestion
import Primitives
import Wire

/// What this side wants of the other side's video: what its user says, and which pictures the path
/// carries. Pure.
package struct VideoWish: Sendable {
  /// Which pictures are asked for as the path is.
  package enum Level: Sendable, Equatable { case usual, small, none }
  /// What a change of the path led to.
  enum Step: Equatable { case small, none, usual, stays }

  /// The user does not want any.
  package var isRefused = false
  /// The user wants the small ones.
  package var wantsSmall = false
  var level = Level.usual
  private var told: MediaState = [.audio, .video]
  /// Since when the small ones are asked for, and how long the usual ones wait after that.
  private var smallSince: Instant?
  private var lastRise: Instant?
  private var patience = Self.firstPatience

  package init() {}

  /// What the other side is to send.
  var wanted: MediaState {
    var wanted = MediaState.audio
    if !isRefused, level != .none { wanted.insert(.video) }
    if wantsSmall || level == .small { wanted.insert(.smallVideo) }
    return wanted
  }

  /// The same, where the other side does not know it yet.
  mutating func takeWanted() -> MediaState? {
    guard wanted != told else { return nil }
    told = wanted
    return wanted
  }

  /// What arrives calls for less than there is, or shows that more fits.
  ///
  /// - Parameters:
  ///   - hasSmall: The other side offers small pictures.
  ///   - mayEnd: Pictures may be left out altogether.
  mutating func handle(
    _ mode: FallbackMachine.Mode, hasSmall: Bool, mayEnd: Bool, now: Instant
  ) -> Step {
    switch mode {
    case .audioOnly where hasSmall && level == .usual:
      enterSmall(now: now)
      return .small
    case .audioOnly where mayEnd:
      level = .none
      return .none
    case .audioOnly: return .stays
    case .audioAndVideo where hasSmall:
      enterSmall(now: now)
      return .small
    case .audioAndVideo:
      level = .usual
      return .usual
    }
  }

  private mutating func enterSmall(now: Instant) {
    if let lastRise, now - lastRise < Self.relapse {
      patience = min(patience * 2, Self.longestPatience)
    }
    lastRise = nil
    level = .small
    smallSince = now
  }

  /// The usual pictures are tried again after a while with the small ones: only they show whether
  /// they fit.
  ///
  /// - Returns: Whether that is now.
  mutating func riseIfQuiet(hasSmall: Bool, now: Instant) -> Bool {
    if let lastRise, now - lastRise >= Self.relapse { patience = Self.firstPatience }
    guard level == .small, let smallSince, !hasSmall || now - smallSince >= patience else {
      return false
    }
    level = .usual
    lastRise = now
    return true
  }

  private static let firstPatience = Duration.seconds(8)
  private static let longestPatience = Duration.seconds(64)
  /// So soon after a rise, small pictures again mean that it was a mistake.
  private static let relapse = Duration.seconds(30)
}
