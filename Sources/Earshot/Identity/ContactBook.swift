public import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// The pins beside an identity file, for a person who looks after them: who has which name, and
/// which rendezvous has which key. An endpoint that runs takes a change over before it decides on
/// the next call.
public struct ContactBook: Sendable {
  /// What a pin is about.
  public enum Place: Sendable, Equatable {
    /// A name that was dialled, or accepted from.
    case name(String)
    /// `HOST:PORT` of a rendezvous.
    case rendezvous(String)
    /// An identity that was dialled, or accepted, and has no name here.
    case id(PeerID)
  }

  /// One pin.
  public struct Entry: Sendable, Equatable {
    /// What it is about.
    public let place: Place
    /// The identity that is pinned.
    public let id: PeerID
    /// `pinned` or `verified`.
    public let trust: Trust
    /// Seconds since 1970 UTC.
    public let firstSeen: UInt64
    /// Seconds since 1970 UTC.
    public let lastSeen: UInt64
  }

  /// Where the pins are.
  public let path: String
  /// The command lines that change them.
  package let commands: ContactCommands
  private let file: PinFile

  /// - Parameter identityFile: `nil` means `$XDG_CONFIG_HOME/earshot/identity`. It need not exist.
  public init(identityFile: String? = nil) throws(EarshotError) {
    let identity = try LocalIdentityFile.path(identityFile)
    file = PinFile(besideIdentity: identity)
    path = file.path
    commands = ContactCommands(identityFile: identity)
  }

  /// All pins, in the order of first sight; none when there is no file yet.
  ///
  /// - Throws: When the file cannot be read, or is damaged; it is left as it is.
  public func entries() throws(EarshotError) -> [Entry] {
    do throws(StorageError) {
      return try file.read().all.map { Entry($0.place, $0.entry) }
    } catch {
      throw EarshotError(pins: error)
    }
  }

  /// Forgets a name, a rendezvous (`HOST:PORT`), or every pin of an ID; what was forgotten.
  ///
  /// - Throws: When the file cannot be read or written, or is damaged; it is left as it is.
  public func forget(_ target: String) throws(EarshotError) -> [Entry] {
    let id = PeerID(target)
    return try update { peers in
      let places =
        id.map { peers.places(of: $0) } ?? [
          PeerName(target).map(KnownPeers.Place.name) ?? .rendezvous(target)
        ]
      return places.compactMap { place in
        let entry = peers[place].map { Entry(place, $0) }
        peers.forget(place)
        return entry
      }
    }
  }

  /// Marks the pin of a name, or all pins of an ID, as verified: a person compared the short code
  /// of a call, or the ID.
  ///
  /// - Parameters:
  ///   - name: whose pin it is; or an ID.
  ///   - id: the ID that was compared; it must be the pinned one.
  /// - Returns: `nil` when the name is not pinned.
  /// - Throws: `identityChanged` when another ID is pinned; nothing has changed then.
  public func verify(_ name: String, as id: PeerID? = nil) throws(EarshotError) -> Entry? {
    if let pinned = PeerID(name) {
      guard let id, id != pinned else { return try confirm(pinned, makesContact: false).first }
      throw EarshotError(
        .identityChanged, "'\(name)' is an ID, and not \(id).", advice: "Give one of the two.")
    }
    guard let valid = PeerName(name) else { throw .invalidName(name) }
    let place = KnownPeers.Place.name(valid)
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let found: Entry? = try update { peers in
      guard let pinned = peers[place]?.id else { return nil }
      if id == nil || id == pinned { peers.verify(pinned, at: place, now: now) }
      return peers[place].map { Entry(place, $0) }
    }
    if let id, let found, found.id != id {
      throw EarshotError(
        .identityChanged, "'\(name)' is pinned to \(found.id), not to \(id).",
        advice: "Ask them by another way which is theirs; to pin anew: \(commands.forget(name))")
    }
    return found
  }

  /// Marks every pin of an identity as verified: a person compared the short code of a call with
  /// it. Whoever is not pinned is, without a name.
  ///
  /// - Returns: the pins.
  public func confirm(_ id: PeerID) throws(EarshotError) -> [Entry] {
    try confirm(id, makesContact: true)
  }

  private func confirm(_ id: PeerID, makesContact: Bool) throws(EarshotError) -> [Entry] {
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    return try update { peers in
      let places = peers.peerPlaces(of: id)
      if places.isEmpty, makesContact { peers.verify(id, at: .id(id), now: now) }
      // A name that is verified takes the place of the pin without one.
      for place in places where peers[place] != nil { peers.verify(id, at: place, now: now) }
      return peers.peerPlaces(of: id).compactMap { place in peers[place].map { Entry(place, $0) } }
    }
  }

  /// Keeps the identity of a contact card under a name, as verified: whoever took the card from
  /// its owner need not compare a code.
  ///
  /// - Parameters:
  ///   - card: The card that its owner gave.
  ///   - name: `nil` = the one on the card. Another one is this host's own: a call to it goes to
  ///     the identity.
  /// - Throws: `identityChanged` when another identity is pinned by that name, `invalidArgument`
  ///   when there is no name; nothing has changed then.
  public func keep(_ card: PeerCard, as name: String? = nil) throws(EarshotError) -> Entry {
    guard let text = name ?? card.name else {
      throw .invalidArgument("There is no name on the card.", advice: "Add one: --as NAME")
    }
    guard let valid = PeerName(text) else { throw .invalidName(text) }
    let place = KnownPeers.Place.name(valid)
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let found: KnownPeers.Entry? = try update { peers in
      if let pinned = peers[place], pinned.id != card.id { return pinned }
      if peers[place]?.card.isEmpty ?? true {
        _ = peers.see(card.id, at: place, card: card.content.bytes, now: now)
      }
      peers.verify(card.id, at: place, now: now)
      _ = peers.renew(card.content)
      return peers[place]
    }
    guard let found else { throw .invalidName(text) }
    guard found.id == card.id else {
      throw EarshotError(
        .identityChanged, "'\(text)' is pinned to \(found.id), and the card is of \(card.id).",
        advice: "Add --as with another name; to pin anew: \(commands.forget(text))")
    }
    return Entry(place, found)
  }

  /// Pins an identity by a name of this host's own: one that calls without a name has no other. It
  /// is not verified: an ID that a call has shown is what whoever called has. One that is pinned
  /// without a name is given this one, and stays as far known as it is.
  ///
  /// Its card is kept when it calls, or is called by its ID; from then on a call to the name goes
  /// to the identity.
  ///
  /// - Throws: `identityChanged` when another identity is pinned by that name; nothing has changed
  ///   then.
  public func keep(_ id: PeerID, as name: String) throws(EarshotError) -> Entry {
    guard let valid = PeerName(name) else { throw .invalidName(name) }
    let place = KnownPeers.Place.name(valid)
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let found: KnownPeers.Entry? = try update { peers in
      if let pinned = peers[place], pinned.id != id { return pinned }
      _ = peers.rename(.id(id), to: valid)
      _ = peers.see(id, at: place, card: [], now: now)
      return peers[place]
    }
    guard let found else { throw .invalidName(name) }
    guard found.id == id else {
      throw EarshotError(
        .identityChanged, "'\(name)' is pinned to \(found.id), not to \(id).",
        advice: "Add --as with another name; to pin anew: \(commands.forget(name))")
    }
    return Entry(place, found)
  }

  /// Gives a pinned name another one on this host, or one to an identity that has none. A call to
  /// the new name goes to the identity, whatever name that has at its rendezvous.
  ///
  /// - Parameters:
  ///   - name: or an ID.
  ///   - other: The new name.
  /// - Returns: `nil` when the name is not pinned.
  /// - Throws: `invalidArgument` when the other name is pinned, or no card is kept by which the
  ///   new name could be told from one at a rendezvous; nothing has changed then.
  public func rename(_ name: String, to other: String) throws(EarshotError) -> Entry? {
    let id = PeerID(name)
    let valid = PeerName(name).map(KnownPeers.Place.name)
    guard id != nil || valid != nil else { throw .invalidName(name) }
    guard let new = PeerName(other) else { throw .invalidName(other) }
    let found: (entry: Entry?, hasCard: Bool, isTaken: Bool) = try update { peers in
      let place = id.flatMap { peers.peerPlaces(of: $0).last } ?? valid
      guard let place, let pinned = peers[place] else { return (nil, false, false) }
      let hasCard = !pinned.card.isEmpty
      let isTaken = !hasCard || !peers.rename(place, to: new)
      return (Entry(.name(new), pinned), hasCard, isTaken)
    }
    guard let entry = found.entry else { return nil }
    guard found.hasCard else {
      throw .invalidArgument(
        "Nothing is kept of \(name)'s contact card.", advice: "Call \(name) once, then rename.")
    }
    guard !found.isTaken else {
      throw .invalidArgument(
        "'\(other)' is pinned already.", advice: "Choose another name, or forget that one first.")
    }
    return entry
  }

  /// `HOST:PORT#ID` of the rendezvous on the card that is kept of a name or an ID.
  public func rendezvous(of target: String) throws(EarshotError) -> String? {
    try entries(of: target).lazy.compactMap { PeerCard.rendezvous(ofKept: $0.card) }.first
  }

  private func entries(of target: String) throws(EarshotError) -> [KnownPeers.Entry] {
    do throws(StorageError) {
      let peers = try file.read()
      let places =
        PeerID(target).map { peers.places(of: $0) }
        ?? PeerName(target).map { [KnownPeers.Place.name($0)] } ?? []
      return places.compactMap { peers[$0] }
    } catch {
      throw EarshotError(pins: error)
    }
  }

  private func update<Result>(
    _ change: (inout KnownPeers) -> Result
  ) throws(EarshotError) -> Result {
    do throws(StorageError) {
      return try file.update(change)
    } catch {
      throw EarshotError(pins: error)
    }
  }
}

extension ContactBook.Entry {
  init(_ place: KnownPeers.Place, _ entry: KnownPeers.Entry) {
    self.place =
      switch place {
      case .name(let name): .name(name.description)
      case .rendezvous(let address): .rendezvous(address)
      case .id(let id): .id(id)
      }
    id = entry.id
    trust = entry.isVerified ? .verified : .pinned
    firstSeen = entry.firstSeen
    lastSeen = entry.lastSeen
  }
}

extension EarshotError {
  /// A fault of the file of pins.
  init(pins error: StorageError) {
    self.init(.fileUnusable, error.message, advice: error.advice)
  }
}
