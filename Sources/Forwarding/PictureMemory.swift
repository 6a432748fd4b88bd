import Primitives

/// The memory for pictures of all channels of a relay. A store takes over a megabyte, and belongs
/// to who sends pictures now: idle ones are given back, no part of the address space has more than
/// its share, and where all are taken, who has most makes room for who has fewest.
final class PictureMemory {
  /// A store's part of it, given back with the store.
  final class Part {
    private let memory: PictureMemory
    fileprivate let slot: UInt32
    fileprivate let origin: SeatOrigin
    fileprivate var usedAt: Instant
    private let place: Place

    fileprivate init(_ memory: PictureMemory, _ slot: UInt32, _ origin: SeatOrigin, now: Instant) {
      (self.memory, self.slot, self.origin, usedAt) = (memory, slot, origin, now)
      place = Place()
      place.part = self
      memory.places.append(place)
      origin.add(1, to: .stores)
    }

    /// A fragment has come.
    func touch(now: Instant) { usedAt = now }

    deinit {
      origin.add(-1, to: .stores)
      memory.places.removeAll { [place] in $0 === place }
    }
  }

  fileprivate final class Place {
    weak var part: Part?
  }

  private let limit: Int
  private let shares: PrefixShares
  private let idle: Duration
  private var places: [Place] = []
  /// No store is idle before.
  private(set) var nextIdle: Instant?

  init(_ limits: ForwardingLimits) {
    limit = limits.pictureStores
    shares = limits.pictureStoresPerPrefix
    idle = limits.pictureIdle
  }

  /// Stores that there are.
  var count: Int { places.count }

  /// Whether a newcomer's part of the address space may have one more.
  func allows(_ origin: SeatOrigin) -> Bool { origin.allows(.stores, shares) }

  var isFull: Bool { count >= limit }

  /// Room for one store more; `nil` if there is none.
  func makePart(_ slot: UInt32, _ origin: SeatOrigin, now: Instant) -> Part? {
    guard !isFull, allows(origin) else { return nil }
    nextIdle = earliest(nextIdle, now + idle)
    return Part(self, slot, origin, now: now)
  }

  /// The slots of hosts that have sent nothing for a while.
  func idleSlots(now: Instant) -> [UInt32] {
    guard let due = nextIdle, due <= now else { return [] }
    nextIdle = nil
    var slots: [UInt32] = []
    for case .some(let part) in places.lazy.map(\.part) {
      let end = part.usedAt + idle
      if end <= now { slots.append(part.slot) } else { nextIdle = earliest(nextIdle, end) }
    }
    return slots
  }

  /// Who makes room for a newcomer where all is taken: of the network that has most, if that stays
  /// no smaller than the newcomer's, the site and host that have most, and of these the idlest.
  func slotToDisplace(for origin: SeatOrigin) -> UInt32? {
    guard let network = origin.network, allows(origin) else { return nil }
    var most: Part?
    for case .some(let part) in places.lazy.map(\.part)
    where part.origin.network != nil && (most.map { part.isBefore($0) } ?? true) {
      most = part
    }
    guard let most, let count = most.origin.network?.count(of: .stores),
      network.count(of: .stores) + 1 < count
    else { return nil }
    return most.slot
  }
}

extension PictureMemory.Part {
  /// Whether this one makes room rather than another.
  fileprivate func isBefore(_ other: PictureMemory.Part) -> Bool {
    let counts = [\SeatOrigin.network, \.site, \.host].map { part in
      (
        origin[keyPath: part]?.count(of: .stores) ?? 0,
        other.origin[keyPath: part]?.count(of: .stores) ?? 0
      )
    }
    if let differing = counts.first(where: { $0.0 != $0.1 }) { return differing.0 > differing.1 }
    return usedAt < other.usedAt
  }
}
