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

  /// Marks the pin of a name as verified: a person compared the short code of a call, or the ID.
  ///
  /// - Parameters:
  ///   - name: whose pin it is.
  ///   - id: the ID that was compared; it must be the pinned one.
  /// - Returns: `nil` when the name is not pinned.
  /// - Throws: `identityChanged` when another ID is pinned; nothing has changed then.
  public func verify(_ name: String, as id: PeerID? = nil) throws(EarshotError) -> Entry? {
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
