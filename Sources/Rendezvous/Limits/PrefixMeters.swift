import Channels
import Primitives

/// The parts of a source address that are counted together (docs/protocol/session.md §9): whoever
/// has one address of a part usually has all of it.
enum PrefixLevel: UInt64, CaseIterable, Sendable {
  /// One address and port.
  case endpoint = 1
  /// An IPv4 address, or an IPv6 /64.
  case host
  /// An IPv6 /56: what a household is given. IPv4 has none.
  case site
  /// An IPv4 /24, or an IPv6 /48.
  case network
}

extension SocketAddress {
  /// A hash of the part of the address that `level` counts together, never 0; `nil` where the
  /// family has none.
  func key(_ level: PrefixLevel, _ hash: KeyedHash) -> UInt64? {
    let kind = level.rawValue << 8 | UInt64(family.rawValue)
    switch (level, family) {
    case (.endpoint, _): return hash.hash(hash.hash(high, low), kind << 16 | UInt64(port)) | 1
    case (.host, _): return hash.hash(high, kind) | 1
    case (.site, .v4): return nil
    case (.site, .v6): return hash.hash(high & ~0xFF, kind) | 1
    case (.network, .v4): return hash.hash(high & 0xFFFF_FF00_0000_0000, kind) | 1
    case (.network, .v6): return hash.hash(high & ~0xFFFF, kind) | 1
    }
  }
}

/// The rates of a source by the parts of its address. A wider part may do more, but not as much as
/// all the narrower ones in it.
package struct PrefixRates: Sendable {
  /// `nil`: not counted.
  var endpoint: Rate?
  var host: Rate
  var site: Rate
  var network: Rate

  package init(endpoint: Rate? = nil, host: Rate, site: Rate, network: Rate) {
    self.endpoint = endpoint
    self.host = host
    self.site = site
    self.network = network
  }

  subscript(level: PrefixLevel) -> Rate? {
    switch level {
    case .endpoint: endpoint
    case .host: host
    case .site: site
    case .network: network
    }
  }
}

/// Meters by key, in a table of fixed size: 16 bytes each, eight places for each key. When all are
/// taken, the one that owes least makes room.
struct MeterTable {
  private static let ways = 8
  private var keys: [UInt64]
  private var meters: [RateMeter]
  private let mask: Int

  /// - Parameter limit: Places; rounded up to a power of two.
  init(limit: Int) {
    var sets = 1
    while sets * Self.ways < limit { sets *= 2 }
    keys = Array(repeating: 0, count: sets * Self.ways)
    meters = Array(repeating: RateMeter(), count: sets * Self.ways)
    mask = sets - 1
  }

  /// The meter of a key that is not 0; a fresh one where none is kept.
  func meter(of key: UInt64) -> RateMeter {
    let start = place(of: key)
    for index in start..<(start + Self.ways) where keys[index] == key { return meters[index] }
    return RateMeter()
  }

  mutating func admit(_ key: UInt64, _ rate: Rate, now: Instant) -> Bool {
    let start = place(of: key)
    var least = start
    for index in start..<(start + Self.ways) {
      if keys[index] == key { return meters[index].admit(rate, now: now) }
      if meters[index].owes(lessThan: meters[least]) { least = index }
    }
    keys[least] = key
    meters[least] = RateMeter()
    return meters[least].admit(rate, now: now)
  }

  private func place(of key: UInt64) -> Int {
    (Int(truncatingIfNeeded: key >> 32) & mask) &* Self.ways
  }
}

/// Counts sources against `PrefixRates`.
struct PrefixMeters {
  private var table: MeterTable
  private let hash: KeyedHash

  init(limit: Int, hash: KeyedHash) {
    table = MeterTable(limit: limit)
    self.hash = hash
  }

  /// Whether one more fits at every level.
  func allows(_ source: SocketAddress, _ rates: PrefixRates, now: Instant) -> Bool {
    for level in PrefixLevel.allCases {
      guard let rate = rates[level], let key = source.key(level, hash) else { continue }
      guard table.meter(of: key).allows(rate, now: now) else { return false }
    }
    return true
  }

  /// Whether one more fits at every level; if so it is counted at every level.
  mutating func admit(_ source: SocketAddress, _ rates: PrefixRates, now: Instant) -> Bool {
    guard allows(source, rates, now: now) else { return false }
    for level in PrefixLevel.allCases {
      guard let rate = rates[level], let key = source.key(level, hash) else { continue }
      _ = table.admit(key, rate, now: now)
    }
    return true
  }

  /// The same of what `source` sends to one identity.
  mutating func admit(
    _ source: SocketAddress, to id: PeerID, _ rates: PrefixRates, now: Instant
  ) -> Bool {
    let target = hash.key(of: id)
    let due = PrefixLevel.allCases.compactMap { level -> (key: UInt64, rate: Rate)? in
      guard let rate = rates[level], let key = source.key(level, hash) else { return nil }
      return (hash.hash(key, target) | 1, rate)
    }
    guard due.allSatisfy({ table.meter(of: $0.key).allows($0.rate, now: now) }) else {
      return false
    }
    for (key, rate) in due { _ = table.admit(key, rate, now: now) }
    return true
  }

  /// The meter of the source's host.
  func hostMeter(of source: SocketAddress) -> RateMeter {
    source.key(.host, hash).map { table.meter(of: $0) } ?? RateMeter()
  }
}

/// Counts memberships that ended against `PrefixRates`, by the keys of their sources.
struct EndingMeters {
  private var table: MeterTable
  private let rates: PrefixRates

  init(limit: Int, _ rates: PrefixRates) {
    table = MeterTable(limit: limit)
    self.rates = rates
  }

  func allows(_ source: ChannelSource, now: Instant) -> Bool {
    table.meter(of: source.host).allows(rates.host, now: now)
      && table.meter(of: source.network).allows(rates.network, now: now)
  }

  /// Whether one more fits; if so it is counted.
  mutating func admit(_ source: ChannelSource, now: Instant) -> Bool {
    guard allows(source, now: now) else { return false }
    _ = table.admit(source.host, rates.host, now: now)
    return table.admit(source.network, rates.network, now: now)
  }
}
