internal import Glibc
public import Primitives
internal import Reactor
internal import SecureSession
internal import Storage
internal import Wire

/// The file that makes this host somebody (docs/protocol/README.md §3): mode 0600, made on first
/// use, never overwritten when it cannot be understood.
public enum LocalIdentityFile {
  /// Who a file's identity is, and the card to hand to others.
  public struct Summary: Sendable, Equatable {
    /// The address others dial.
    public let id: PeerID
    /// The contact card as text, `earshot:...`.
    public let card: String
    /// Where the file is.
    public let path: String
    /// Whether it was made just now.
    public let isNew: Bool
  }

  /// Reads the identity, or makes it.
  ///
  /// - Parameters:
  ///   - replacesKey: Give it a new device key first: the one before may have been copied.
  ///     Programs that run with it must be started anew. There must be an identity.
  ///   - path: `nil` means `$XDG_CONFIG_HOME/earshot/identity`.
  ///   - name: The name to put on the card; must be a valid one.
  ///   - rendezvous: `HOST[:PORT]#ID` to put on the card; the ID is needed for it to be there.
  public static func open(
    at path: String? = nil, name: String? = nil, rendezvous: String? = nil,
    replacesKey: Bool = false
  ) throws(EarshotError) -> Summary {
    let path = try self.path(path)
    let isNew = unsafe access(path, F_OK) != 0
    var identity = replacesKey ? try openWithNewKey(path) : try open(path)
    var owner: PeerName?
    if let name {
      guard let valid = PeerName(name) else { throw .invalidName(name) }
      owner = valid
    }
    let home = try rendezvous.map { text throws(EarshotError) in try RendezvousTarget(text).home }
    do throws(WireError) {
      let card = try identity.makeCard(
        home: home ?? nil, name: owner,
        unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000)
      return Summary(id: identity.id, card: card.text, path: path, isNew: isNew)
    } catch {
      throw .invalidArgument(
        "The rendezvous does not fit on a card.", advice: "Use a host name of at most 64 bytes.")
    }
  }

  /// Where the identity file is, given or not.
  package static func path(_ given: String?) throws(EarshotError) -> String {
    guard let path = given ?? defaultPath else {
      throw .invalidArgument(
        "There is no home directory to keep the identity in.", advice: "Pass --identity FILE.")
    }
    return path
  }

  static var defaultPath: String? {
    var environment: [String: String] = [:]
    for name in ["XDG_CONFIG_HOME", "HOME"] {
      if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
    }
    return IdentityFile.defaultPath(environment: environment)
  }

  /// Refuses a file that somebody named in a folder that is not there: a misspelt name is likelier
  /// than a folder to be made. Those of the default path are made.
  package static func requireFolder(of path: String?) throws(EarshotError) {
    guard let path, let slash = path.lastIndex(of: "/"), slash > path.startIndex,
      path != defaultPath
    else {
      return
    }
    let folder = String(path[..<slash])
    guard unsafe access(folder, F_OK) != 0, errno == ENOENT else { return }
    throw EarshotError(
      .fileUnusable, "There is no folder \(folder) to keep the identity in.",
      advice: "Make it with mkdir -p '\(folder)', or name another file.")
  }

  private static func openWithNewKey(_ path: String) throws(EarshotError) -> LocalIdentity {
    var random = RandomSource.system
    do throws(StorageError) {
      let identity = try IdentityFile(path: path).replaceStaticKey(
        unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000, random: &random)
      if let identity { return identity }
    } catch {
      throw EarshotError(error)
    }
    throw EarshotError(
      .fileUnusable, "There is no identity in \(path) whose device key could be replaced.",
      advice: "Name the right file with --identity FILE.")
  }

  /// An identity that no file has.
  static func ephemeral() -> LocalIdentity {
    var random = RandomSource.system
    return LocalIdentity(
      kind: .peer, unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000, random: &random)
  }

  static func open(_ path: String) throws(EarshotError) -> LocalIdentity {
    var random = RandomSource.system
    do throws(StorageError) {
      return try IdentityFile(path: path).readOrCreate(
        .peer, unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000, random: &random)
    } catch {
      throw EarshotError(error)
    }
  }
}

extension EarshotError {
  init(_ error: StorageError) {
    let code: Code =
      switch error.code {
      case .exposed: .identityFileMode
      case .truncated, .foreign, .corrupt, .newerVersion: .identityFileDamaged
      case .notReadable, .notWritable, .inUse, .diskFull, .readOnly, .notDirectory, .tooMany:
        .fileUnusable
      }
    self.init(code, error.message, advice: error.advice)
  }
}

extension RendezvousTarget {
  /// For a contact card; `nil` when the ID is not known.
  var home: ContactCard.Home? {
    guard let id, let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    return ContactCard.Home(id: id, host: String(text[..<colon]), port: port)
  }
}
