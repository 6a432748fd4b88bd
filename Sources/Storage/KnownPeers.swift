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
    /// Somebody who has no name here: the ID stands for itself.
    case id(PeerID)
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
  /// Of those within `limit` the ones without a name that nobody verified. Half of the contacts
  /// that a presence for contacts alone can have (`Audience.limit`).
  package static let namelessLimit = 256

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

  /// The peers, each once, with a card that is kept of it. Those that have no name and were
  /// verified by nobody come last, the ones seen longest ago at the end.
  package var familiars: [(id: PeerID, card: [UInt8])] {
    let others = all.filter { place, entry in
      if case .rendezvous = place { false } else { !Self.isNameless(place, entry) }
    }
    let rest = nameless.sorted { $0.entry.lastSeen > $1.entry.lastSeen }
    var cards: [PeerID: [UInt8]] = [:]
    for (_, entry) in others where !entry.card.isEmpty { cards[entry.id] = entry.card }
    var met: Set<PeerID> = []
    return (others + rest).compactMap { _, entry in
      met.insert(entry.id).inserted ? (entry.id, cards[entry.id] ?? entry.card) : nil
    }
  }

  /// How many of `familiars` come last.
  package var namelessCount: Int { nameless.count }

  /// What `id` at `place` is worth, without remembering anything.
  package func trust(in id: PeerID, at place: Place) -> Trust {
    guard let entry = entries[place] else { return .new }
    guard entry.id == id else { return .changed }
    return entry.isVerified ? .verified : .pinned
  }

  /// Remembers the first sight of `id` at `place`, or that it was seen again. One that changed is
  /// not remembered: that takes `verify` or `forget`, which are a person's decisions. Whoever has a
  /// name needs no pin without one, and is seen by that name. So is one that was renamed here, by
  /// the name on its card.
  package mutating func see(
    _ id: PeerID, at place: Place, card: [UInt8] = [], now: UInt64
  ) -> Trust {
    var place = place
    if entries[place] == nil {
      switch place {
      case .id: place = name(of: id).map(Place.name) ?? place
      case .name(let name): place = renamed(id, from: name) ?? place
      case .rendezvous: break
      }
    }
    let trust = trust(in: id, at: place)
    switch trust {
    case .changed: break
    case .new:
      insert(
        Entry(id: id, isVerified: false, firstSeen: now, lastSeen: now, card: card), at: place)
      if case .name = place, entries[.id(id)]?.isVerified == false { giveName(id, at: place) }
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
    if case .name = place { giveName(id, at: place) }
  }

  /// Where `id` was found.
  package func places(of id: PeerID) -> [Place] { places.filter { entries[$0]?.id == id } }

  /// The same without rendezvous; a pin without a name is the last.
  package func peerPlaces(of id: PeerID) -> [Place] {
    var names = places(of: id).filter { if case .name = $0 { true } else { false } }
    if entries[.id(id)] != nil { names.append(.id(id)) }
    return names
  }

  /// Keeps the card of a peer that is pinned, where it has another device key than the one that is
  /// kept, unless that key was given up.
  ///
  /// - Returns: whether anything changed.
  package mutating func renew(_ card: ContactCard) -> Bool {
    var hasChanged = false
    for (place, entry) in all where entry.id == card.id && entry.isOutdated(by: card) {
      if case .rendezvous = place { continue }
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

  /// Where `id` is pinned by a name of this host's own, while its card says `name`.
  private func renamed(_ id: PeerID, from name: PeerName) -> Place? {
    places.first { place in
      guard case .name = place, let entry = entries[place], entry.id == id else { return false }
      return entry.cardName == name
    }
  }

  /// Gives the pin at one place another name; `false` where there is none, or the name is taken.
  package mutating func rename(_ place: Place, to other: PeerName) -> Bool {
    guard entries[.name(other)] == nil, let entry = entries.removeValue(forKey: place),
      let index = places.firstIndex(of: place)
    else { return false }
    places[index] = .name(other)
    entries[.name(other)] = entry
    return true
  }

  package mutating func forget(_ place: Place) {
    guard entries.removeValue(forKey: place) != nil else { return }
    places.removeAll { $0 == place }
  }

  /// Also for reading a file back. At a limit the one seen longest ago goes: of those without a
  /// name that nobody verified, then of the others that nobody verified. One without a name takes
  /// no other's place than such a one's.
  mutating func insert(_ entry: Entry, at place: Place) {
    if entries[place] == nil {
      let isNameless = Self.isNameless(place, entry)
      let isFull =
        places.count >= Self.limit || isNameless && nameless.count >= Self.namelessLimit
      if isFull, !forgetOldest(amongNameless: isNameless) { return }
      places.append(place)
    }
    entries[place] = entry
  }

  /// Those that have no name and were verified by nobody.
  private var nameless: [(place: Place, entry: Entry)] {
    all.filter { Self.isNameless($0.place, $0.entry) }
  }

  private static func isNameless(_ place: Place, _ entry: Entry) -> Bool {
    if case .id = place { !entry.isVerified } else { false }
  }

  /// - Returns: whether there was one.
  private mutating func forgetOldest(amongNameless: Bool) -> Bool {
    let nameless = nameless
    let candidates = nameless.isEmpty && !amongNameless ? all : nameless
    let oldest = candidates.min { one, other in
      one.entry.isVerified == other.entry.isVerified
        ? one.entry.lastSeen < other.entry.lastSeen : !one.entry.isVerified
    }
    if let oldest { forget(oldest.place) }
    return oldest != nil
  }

  /// The pin without a name has no use beside one with a name that is worth as much.
  private mutating func giveName(_ id: PeerID, at place: Place) {
    guard let former = entries[.id(id)] else { return }
    if entries[place]?.card.isEmpty == true { entries[place]?.card = former.card }
    forget(.id(id))
  }
}

extension KnownPeers.Entry {
  /// On the card that is kept.
  fileprivate var cardName: PeerName? {
    do throws(WireError) { return try ContactCard(parsing: card).content.name } catch { return nil }
  }

  fileprivate func isOutdated(by newer: ContactCard) -> Bool {
    do throws(WireError) {
      let kept = try ContactCard(parsing: card)
      return kept.staticKey != newer.staticKey && !kept.content.supersedes(newer.content)
    } catch {
      return true  // None was kept.
    }
  }
}
