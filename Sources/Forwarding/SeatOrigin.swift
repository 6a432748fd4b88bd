import Primitives

/// The parts of a member's address that are counted together (docs/protocol/session.md §9), each
/// as a hash that is not 0.
package struct SeatPrefixes: Sendable {
  let host: UInt64
  /// `nil` where the family has none.
  fileprivate let site: UInt64?
  fileprivate let network: UInt64

  package init(host: UInt64, site: UInt64?, network: UInt64) {
    (self.host, self.site, self.network) = (host, site, network)
  }
}

/// What the hosts, sites and networks of members may have together.
package struct PrefixShares: Sendable {
  package var host: Int
  package var site: Int
  package var network: Int
}

/// One part of an address from which members come, and what they have together.
final class OriginPart {
  fileprivate let key: UInt64
  fileprivate var seatCount = 0
  fileprivate var pictureMeter = PaceMeter()
  /// Of what ends of pairs send.
  fileprivate var byteMeter = PaceMeter()
  private var counts: InlineArray<6, Int> = [0, 0, 0, 0, 0, 0]

  /// What is counted.
  enum Share: Int {
    /// Stores of pictures.
    case stores
    /// Lines of members that get pictures.
    case downlinks
    /// Fragments that wait for those lines.
    case fragments
    /// Lines of members that get sound alone.
    case soundLines
    /// Bound ends of pairs.
    case ends
    /// These, and ends that are no more bound and not forgotten.
    case keptEnds
  }

  fileprivate init(_ key: UInt64) { self.key = key }

  func count(of share: Share) -> Int { counts[share.rawValue] }

  fileprivate func add(_ count: Int, to share: Share) { counts[share.rawValue] += count }
}

/// Where a member's session was opened from; nothing where that does not count.
struct SeatOrigin {
  fileprivate(set) var host: OriginPart?
  fileprivate(set) var site: OriginPart?
  fileprivate(set) var network: OriginPart?

  /// Whether one packet more with a picture may go there; if so it is counted in all parts.
  func admitPicture(_ perSecond: PrefixShares, now: Instant) -> Bool {
    guard Self.allows(host, perSecond.host, now: now),
      Self.allows(site, perSecond.site, now: now),
      Self.allows(network, perSecond.network, now: now)
    else { return false }
    Self.count(host, perSecond.host, now: now)
    Self.count(site, perSecond.site, now: now)
    Self.count(network, perSecond.network, now: now)
    return true
  }

  /// Whether one more is within all shares.
  func allows(_ share: OriginPart.Share, _ most: PrefixShares) -> Bool {
    (host?.count(of: share) ?? 0) < most.host && (site?.count(of: share) ?? 0) < most.site
      && (network?.count(of: share) ?? 0) < most.network
  }

  func add(_ count: Int, to share: OriginPart.Share) {
    host?.add(count, to: share)
    site?.add(count, to: share)
    network?.add(count, to: share)
  }

  /// Whether its ends may send more now.
  func allowsBytes(_ perSecond: PrefixShares, now: Instant) -> Bool {
    Self.allowsBytes(host, perSecond.host, now: now)
      && Self.allowsBytes(site, perSecond.site, now: now)
      && Self.allowsBytes(network, perSecond.network, now: now)
  }

  func countBytes(_ byteCount: Int, _ perSecond: PrefixShares, now: Instant) {
    Self.countBytes(byteCount, host, perSecond.host, now: now)
    Self.countBytes(byteCount, site, perSecond.site, now: now)
    Self.countBytes(byteCount, network, perSecond.network, now: now)
  }

  private static func allowsBytes(
    _ part: OriginPart?, _ perSecond: Int, now: Instant
  ) -> Bool {
    guard let part else { return true }
    return part.byteMeter.allows(
      perSecond: UInt64(perSecond), burst: UInt64(perSecond / burstShare), now: now)
  }

  private static func countBytes(
    _ byteCount: Int, _ part: OriginPart?, _ perSecond: Int, now: Instant
  ) {
    guard let part else { return }
    _ = part.byteMeter.admit(
      UInt64(byteCount), perSecond: UInt64(perSecond), burst: UInt64(perSecond / burstShare),
      now: now)
  }

  private static func allows(_ part: OriginPart?, _ perSecond: Int, now: Instant) -> Bool {
    guard let part else { return true }
    return part.pictureMeter.allows(
      perSecond: UInt64(perSecond), burst: UInt64(perSecond / burstShare), now: now)
  }

  private static func count(_ part: OriginPart?, _ perSecond: Int, now: Instant) {
    guard let part else { return }
    _ = part.pictureMeter.admit(
      perSecond: UInt64(perSecond), burst: UInt64(perSecond / burstShare), now: now)
  }

  /// A quarter of a second at once: a key frame for all.
  private static let burstShare = 4
}

/// The parts of addresses of all members that are there.
struct OriginTable {
  private var parts: [UInt64: OriginPart] = [:]

  mutating func add(_ prefixes: SeatPrefixes?) -> SeatOrigin {
    guard let prefixes else { return SeatOrigin() }
    return SeatOrigin(
      host: add(prefixes.host), site: prefixes.site.map { add($0) },
      network: add(prefixes.network))
  }

  mutating func remove(_ origin: SeatOrigin) {
    for case .some(let part) in [origin.host, origin.site, origin.network] {
      part.seatCount -= 1
      if part.seatCount == 0 { parts[part.key] = nil }
    }
  }

  private mutating func add(_ key: UInt64) -> OriginPart {
    let part = parts[key] ?? OriginPart(key)
    part.seatCount += 1
    parts[key] = part
    return part
  }
}
