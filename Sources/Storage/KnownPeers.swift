package import Primitives
internal import SecureSession
package import Wire

/// How far an identity behind a name, or a rendezvous behind an address, is to be believed.
package enum Trust: String, Sendable {
  /// A person compared the codes, or gave the ID beforehand.
  case verified
  /// The same as the first time.
  case pinned
  /// Seen for the first time.
  case new
  /// Another one than before: somebody's new identity, or somebody in between.
  case changed
}

/// What was found where, the first time: the memory behind first-seen pinning.
package struct KnownPeers: Equatable, Sendable {
  package enum Place: Hashable, Sendable {
    case name(PeerName)
    /// `host:port`, as the user writes it.
    case rendezvous(String)
  }

  package struct Entry: Equatable, Sendable {
    package var id: PeerID
    package var isVerified: Bool
    /// Seconds since 1970 UTC.
    package var firstSeen: UInt64
    package var lastSeen: UInt64
    /// The last card of a rendezvous, so that a handshake needs no CARD_REQUEST; of a peer one
    /// with its newest device key. Empty before one was seen.
    package var card: [UInt8]
  }

  /// Who dials more people than this keeps contact cards elsewhere.
  package static let limit = 10_000

  /// In the order of first sight.
  private var places: [Place] = []
  private var entries: [Place: Entry] = [:]

  package init() {}

  package var count: Int { places.count }

  package subscript(place: Place) -> Entry? { entries[place] }

  /// All of them, in the order of first sight.
  package var all: [(place: Place, entry: Entry)] {
    places.compactMap { place in entries[place].map { (place, $0) } }
  }

  /// What `id` at `place` is worth, without remembering anything.
  package func trust(in id: PeerID, at place: Place) -> Trust {
    guard let entry = entries[place] else { return .new }
    guard entry.id == id else { return .changed }
    return entry.isVerified ? .verified : .pinned
  }

  /// Remembers the first sight of `id` at `place`, or that it was seen again. One that changed is
  /// not remembered: that takes `verify` or `forget`, which are a person's decisions.
  package mutating func see(
    _ id: PeerID, at place: Place, card: [UInt8] = [], now: UInt64
  ) -> Trust {
    let trust = trust(in: id, at: place)
    switch trust {
    case .changed: break
    case .new:
      insert(
        Entry(id: id, isVerified: false, firstSeen: now, lastSeen: now, card: card), at: place)
    case .verified, .pinned:
      entries[place]?.lastSeen = now
      if !card.isEmpty { entries[place]?.card = card }
    }
    return trust
  }

  /// Remembers that a person vouches for `id` at `place`, whatever was there before.
  package mutating func verify(_ id: PeerID, at place: Place, now: UInt64) {
    var entry =
      entries[place]
      ?? Entry(
        id: id, isVerified: true, firstSeen: now, lastSeen: now, card: [])
    if entry.id != id {
      entry = Entry(id: id, isVerified: true, firstSeen: now, lastSeen: now, card: [])
    }
    entry.isVerified = true
    entry.lastSeen = now
    insert(entry, at: place)
  }

  /// Where `id` was found.
  package func places(of id: PeerID) -> [Place] { places.filter { entries[$0]?.id == id } }

  /// Keeps the card of a peer that is pinned by a name, where it has another device key than the
  /// one that is kept, unless that key was given up.
  ///
  /// - Returns: whether anything changed.
  package mutating func renew(_ card: ContactCard) -> Bool {
    var hasChanged = false
    for (place, entry) in all where entry.id == card.id && entry.isOutdated(by: card) {
      guard case .name = place else { continue }
      entries[place]?.card = card.bytes
      hasChanged = true
    }
    return hasChanged
  }

  /// The first name that `id` is pinned by.
  package func name(of id: PeerID) -> PeerName? {
    for place in places where entries[place]?.id == id {
      if case .name(let name) = place { return name }
    }
    return nil
  }

  /// Gives the pin of one name another name; `false` where there is none, or the other is taken.
  package mutating func rename(_ name: PeerName, to other: PeerName) -> Bool {
    guard entries[.name(other)] == nil, let entry = entries.removeValue(forKey: .name(name)),
      let index = places.firstIndex(of: .name(name))
    else { return false }
    places[index] = .name(other)
    entries[.name(other)] = entry
    return true
  }

  package mutating func forget(_ place: Place) {
    guard entries.removeValue(forKey: place) != nil else { return }
    places.removeAll { $0 == place }
  }

  /// Also for reading a file back. At the limit, the one not verified and seen longest ago goes.
  mutating func insert(_ entry: Entry, at place: Place) {
    if entries[place] == nil {
      if places.count >= Self.limit { forgetOldest() }
      places.append(place)
    }
    entries[place] = entry
  }

  private mutating func forgetOldest() {
    var oldest: (place: Place, entry: Entry)?
    for candidate in all {
      guard let best = oldest else {
        oldest = candidate
        continue
      }
      let isLess =
        candidate.entry.isVerified == best.entry.isVerified
        ? candidate.entry.lastSeen < best.entry.lastSeen : !candidate.entry.isVerified
      if isLess { oldest = candidate }
    }
    if let oldest { forget(oldest.place) }
  }
}

extension KnownPeers.Entry {
  fileprivate func isOutdated(by newer: ContactCard) -> Bool {
    do throws(WireError) {
      let kept = try ContactCard(parsing: card)
      return kept.staticKey != newer.staticKey && !kept.content.supersedes(newer.content)
    } catch {
      return true  // None was kept.
    }
  }
}
