package import Earshot
internal import Primitives
internal import Reactor

/// What the members of a channel are called in sentences: by the name that their identity is pinned
/// under, and by their uid.
package struct RoomNames {
  /// Who has or had a uid.
  private struct Entry {
    let id: PeerID
    let name: String?
  }

  private let own: PeerID?
  private let pins: () -> [PeerID: String]
  private var entries: [UInt32: Entry] = [:]
  /// The pins, and when they were read.
  private var known: (names: [PeerID: String], at: Instant)?

  /// - Parameters:
  ///   - own: The own identity.
  ///   - pins: Reads which name each identity is pinned under.
  package init(own: PeerID? = nil, pins: @escaping () -> [PeerID: String] = { [:] }) {
    self.own = own
    self.pins = pins
  }

  // MARK: - Inputs

  /// Somebody is there.
  package mutating func add(_ user: ChannelUser, now: Instant = SystemClock.now) {
    let name = user.id == own ? nil : names(now: now)[user.id]
    guard entries.count < Self.most || entries[user.uid] != nil else { return }
    entries[user.uid] = Entry(id: user.id, name: name)
  }

  /// It is there no more, and that was told.
  package mutating func remove(_ uid: UInt32) { entries[uid] = nil }

  // MARK: - Getters

  /// Whether it is another stay of the own identity.
  package func isOwn(_ uid: UInt32) -> Bool { own != nil && entries[uid]?.id == own }

  /// `alice`; `nil` for whom nobody is pinned.
  package func pinned(_ uid: UInt32) -> String? { entries[uid]?.name }

  /// `alice (5)`, or `5`.
  package func name(_ uid: UInt32) -> String { pinned(uid).map { "\($0) (\(uid))" } ?? "\(uid)" }

  /// `alice (5)`, or `Host 5`.
  package func host(_ uid: UInt32) -> String { pinned(uid) == nil ? "Host \(uid)" : name(uid) }

  // MARK: - Parts

  private mutating func names(now: Instant) -> [PeerID: String] {
    if let known, now < known.at + Self.pace { return known.names }
    let names = pins()
    known = (names, now)
    return names
  }

  /// As many as a channel has members.
  private static let most = 4096
  /// The pins are read no more often: a thousand may come at once.
  private static let pace = Duration.seconds(2)
}
