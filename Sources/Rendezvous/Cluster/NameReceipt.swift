package import Primitives
import Wire

/// Which of two owners of a name goes first where Redis has lost whose it is: the lower one
/// (docs/protocol/cluster.md §9). 33 bits, so that 5 bytes hold it.
package struct NameRank: Comparable, Hashable, Sendable {
  package let rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }

  /// - Parameter seconds: When the name was given, since 1970.
  package init(grantedAt seconds: UInt64) { rawValue = Self.middle + min(seconds, Self.latest) }

  /// Of whoever has got a name that the operator freed: before all who had it until then, also
  /// where Redis does not know any more that it was freed.
  package init(freedAt seconds: UInt64) { rawValue = Self.middle - min(seconds, Self.latest) }

  package static func < (left: NameRank, right: NameRank) -> Bool {
    left.rawValue < right.rawValue
  }

  private static let middle: UInt64 = 1 << 32
  private static let latest: UInt64 = (1 << 32) - 1
}

/// What the nodes of a service know from a receipt that they have given to the owner of a name.
///
///     version 1 = 1 · rank 5 · issued 5, s since 1970 · MAC 16
///
/// It names neither: the MAC is over both, so it is worth nothing for another name or identity.
package struct NameReceipt: Hashable, Sendable {
  package let rank: NameRank
  package let issued: UInt64
  package let mac: Bytes16

  package init(rank: NameRank, issued: UInt64, mac: Bytes16) {
    self.rank = rank
    self.issued = issued
    self.mac = mac
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("version") == Self.version else { throw .invalid("version", at: 0) }
    rank = NameRank(rawValue: Self.number(try reader.readBytes(5, "rank")))
    issued = Self.number(try reader.readBytes(5, "issued"))
    mac = try Bytes16(parsing: &reader, "MAC")
    try reader.expectEnd("receipt")
  }

  package var bytes: [UInt8] { Self.head(rank, issued) + mac.bytes }

  /// All of it but the MAC.
  static func head(_ rank: NameRank, _ issued: UInt64) -> [UInt8] {
    [version] + fiveBytes(rank.rawValue) + fiveBytes(issued)
  }

  /// Whether it counts at that moment, by the clock of the node that looks at it.
  func isInForce(now: UInt64) -> Bool {
    issued <= now + Self.tolerance && now < issued + Self.life
  }

  /// The highest byte first, as numbers in Redis are.
  static func fiveBytes(_ number: UInt64) -> [UInt8] {
    (0..<5).map { UInt8(truncatingIfNeeded: number >> (32 - 8 * $0)) }
  }

  static func number(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  private static let version: UInt8 = 1
  /// A day less than a name lasts without use (`StoreLimits.nameLife`), in seconds: a name that has
  /// lapsed by one clock is never asked for with a receipt that holds by another.
  package static let life: UInt64 = 364 * 86_400
  /// What was issued later than that has a time that no node had.
  private static let tolerance: UInt64 = 86_400
}

/// What a node must know of a name that was asked for, to give it.
struct AskedName {
  let name: PeerName
  /// What its asker has shown; `nil` = nothing that counts.
  let receipt: NameReceipt?
  /// When the operator freed it, if that was within a receipt's life.
  let freed: UInt64?
  /// What the clock of Redis showed, in seconds since 1970.
  let clock: UInt64

  /// - Parameter now: By the node's own clock. That of Redis orders grants of all nodes; one that
  ///   is far off says nothing.
  func rank(now: UInt64) -> NameRank {
    if let receipt { return receipt.rank }
    if let freed { return NameRank(freedAt: freed) }
    return NameRank(grantedAt: Self.time(clock, now: now))
  }

  static func time(_ clock: UInt64, now: UInt64) -> UInt64 {
    max(clock, now) - min(clock, now) <= tolerance ? clock : now
  }

  /// Clocks of nodes differ by some minutes at the most (docs/operating.md).
  private static let tolerance: UInt64 = 600
}

/// A name that Redis has written down as an identity's own.
struct NameBinding {
  let id: PeerID
  let name: PeerName
  /// `nil` = that of a node of a version before.
  let rank: NameRank?
  /// What the clock of Redis showed, in seconds since 1970.
  let clock: UInt64
}
