public import LastMile
public import Primitives

/// What stands between this host and others in one family, as far as it is proven.
public struct TranslatorFacts: Sendable, Equatable {
  /// IPv4 or IPv6.
  public var family: SocketAddress.Family
  /// How it maps (RFC 4787 §4.1); `none` where there is no translator.
  public var mapping: PathFacts.Mapping
  /// The address that others see.
  public var seenAs: SocketAddress
  /// Whether it keeps the port of every socket that was seen (RFC 4787 §4.2.1).
  public var preservesPort: Bool
  /// Whether two sockets of this host were seen at one address (RFC 4787 §4.1, "paired");
  /// `nil` = one socket was seen.
  public var pairsAddresses: Bool?
  /// How many addresses and ports of the rendezvous told.
  public var witnesses: Int

  /// What can be known for certain, one for each family.
  package static func judge(_ sightings: [RendezvousSighting]) -> [TranslatorFacts] {
    [SocketAddress.Family.v4, .v6].compactMap { family in
      TranslatorFacts(sightings.filter { $0.address?.family == family }, family)
    }
  }

  private init?(_ sightings: [RendezvousSighting], _ family: SocketAddress.Family) {
    // Of a rendezvous on this host itself no translator can be seen, if others tell.
    let told = sightings.filter { $0.seenAs != nil && $0.local != nil }
    let outside = told.filter { $0.address?.isLoopback == false }
    let witnesses = outside.isEmpty ? told : outside
    let seen = witnesses.compactMap { sighting in
      sighting.address.flatMap { by in sighting.seenAs.map { SeenAddress(by: by, seen: $0) } }
    }
    guard let first = seen.first,
      let mapping = PathFacts.Mapping(seen, own: witnesses.compactMap(\.local))
    else { return nil }
    self.family = family
    self.mapping = mapping
    seenAs = first.seen
    let pairs =
      witnesses.compactMap { sighting in
        sighting.local.flatMap { own in sighting.seenAs.map { SocketPair(local: own, seenAs: $0) } }
      } + witnesses.compactMap(\.second)
    preservesPort = pairs.allSatisfy { $0.local.port == $0.seenAs.port }
    let second = witnesses.compactMap(\.second).first
    pairsAddresses = second.map { $0.seenAs.isSameHost(as: first.seen) }
    self.witnesses = seen.count
  }
}
