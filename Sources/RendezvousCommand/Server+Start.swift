import Arguments
import Glibc
import Primitives
import Reactor
import Relay
import Rendezvous
import SecureSession
import Storage
import Tokens
import Wire

/// What a server is made of, from its options.
extension Server {
  static func resolve(
    _ text: String, _ option: String, defaultPort: UInt16
  ) throws(ServeError) -> SocketAddress {
    do throws(ReactorError) {
      let addresses = try Resolver.resolveBlocking(text, defaultPort: defaultPort)
      if let address = addresses.first { return address }
    } catch {
      throw .usage(
        UsageError(
          "\(option) wants an address like 192.0.2.1:7400, not '\(text)' (\(error.reason)).",
          advice: "IPv6 addresses stand in brackets: [::]:7400."))
    }
    throw .usage(UsageError("\(option): '\(text)' has no address."))
  }

  static func limits(_ options: ServeOptions) -> ServerLimits {
    var limits = options.isMeasurement ? .measurement : ServerLimits()
    if let clients = options.clientLimit { limits.sessions = clients }
    limits.channelHosts = options.channelHosts ?? limits.channelHosts
    return limits
  }

  static func openSocket(at address: SocketAddress) throws(ReactorError) -> UDPSocket {
    var options = UDPSocket.Options()
    options.slotCount = 64
    options.kernelBufferByteCount = 4 << 20
    let socket = try UDPSocket(binding: address, options)
    socket.sendECNCapable()
    return socket
  }

  /// The identity in the file, made on first use, with a fresh key when its time has come.
  static func identity(
    _ file: IdentityFile, random: inout RandomSource
  ) throws(ServeError) -> LocalIdentity {
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    do throws(StorageError) {
      var identity = try file.readOrCreate(.rendezvous, unixSeconds: seconds, random: &random)
      if identity.rotateIfDue(unixSeconds: seconds, random: &random) {
        try file.replace(with: identity)
      }
      return identity
    } catch {
      throw .file(error)
    }
  }

  /// A card for the identity's present key; its serial is written down, never to be taken again.
  static func card(
    of identity: inout LocalIdentity, _ file: IdentityFile
  ) throws(StorageError) -> ContactCard {
    let card: ContactCard
    do throws(WireError) {
      card = try identity.makeCard(unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000)
    } catch {
      preconditionFailure("a card without a home always fits")
    }
    try file.replace(with: identity)
    return card
  }

  static func startCard(
    of identity: inout LocalIdentity, _ file: IdentityFile
  ) throws(ServeError) -> ContactCard {
    do throws(StorageError) { return try card(of: &identity, file) } catch { throw .file(error) }
  }

  static func events(_ options: ServeOptions) throws(ServeError) -> EventLines? {
    guard let path = options.events else { return nil }
    let output = path == "-" ? LineOutput.standardOutput : LineOutput(appendingTo: path)
    guard let output else {
      throw .unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    return EventLines(
      to: output, logsIdentities: options.logsIdentities,
      wallNanoseconds: SystemClock.wallNanoseconds)
  }

  static func admission(_ options: ServeOptions) throws(ServeError) -> Admission {
    guard let path = options.allow else { return .everyone }
    let text: String?
    do throws(StorageError) {
      text = try TextFile.read(path)
    } catch { throw .file(error) }
    guard let text else { throw .unreadable(path: path, reason: "no such file") }
    do throws(UsageError) {
      return try AllowList.parse(text, path: path)
    } catch { throw .usage(error) }
  }

  /// The relays for channels that may register.
  static func relayIDs(_ options: ServeOptions) throws(ServeError) -> Set<PeerID> {
    var wanted = options
    wanted.allow = options.relayKey
    guard options.relayKey != nil, case .only(let ids, _) = try admission(wanted) else { return [] }
    return ids
  }

  /// The list of the nodes that this server is one of.
  ///
  /// - Parameters:
  ///   - present: The list that it has. One that is read again is of the same root and no older. It
  ///     may leave this node out: its clients go to the others when they learn of that.
  ///   - isShared: The node shares its memory with others.
  static func nodes(
    _ options: ServeOptions, of id: PeerID, after present: NodeList? = nil, isShared: Bool
  ) throws(ServeError) -> NodeList? {
    guard let path = options.nodes else { return nil }
    let list: NodeList
    do throws(StorageError) { list = try RootFiles.list(at: path) } catch { throw .file(error) }
    guard list.root == present?.root || list.nodes.contains(where: { $0.id == id }) else {
      throw .usage(
        UsageError(
          "This node is not on the list in \(path): its ID is \(id).",
          advice: "Add it, and sign the list: earshot-rendezvous help root."))
    }
    guard list.nodes.count == 1 || isShared else {
      throw .usage(
        UsageError(
          "The list in \(path) has \(list.nodes.count) nodes, and this node shares no memory with "
            + "them: each would give the same names.",
          advice: "Give it --redis and --cluster-secret, as the others have."))
    }
    do throws(NodeListFault) {
      try list.verify(
        root: present?.root ?? list.root, after: present?.serial ?? 0,
        unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000)
    } catch {
      // Clients that pin this node alone are served all the same.
      if error == .expired { return list }
      throw .usage(error.refusal(of: path))
    }
    return list
  }

  static func tokenKey(_ options: ServeOptions) throws(ServeError) -> TokenPublicKey? {
    guard let path = options.requireToken else { return nil }
    do throws(StorageError) { return try TokenFiles.publicKey(at: path) } catch {
      throw .file(error)
    }
  }

  /// The TURN servers for clients, with the secret from its file.
  static func relays(_ options: ServeOptions) throws(ServeError) -> RelayService? {
    guard let path = options.relaySecret else { return nil }
    do throws(StorageError) {
      let secret = try SecretTextFile.read(path) { RelaySecret($0) }
      return RelayService(uris: options.relays, secret: secret)
    } catch {
      throw .file(error)
    }
  }
}

extension NodeListFault {
  /// What is wrong with a list of nodes, and what to do.
  fileprivate func refusal(of path: String) -> UsageError {
    switch self {
    case .notYetValid:
      UsageError(
        "The list in \(path) holds from later on.",
        advice: "Set this host's clock, or that of the host where it was signed.")
    case .older:
      UsageError(
        "The list in \(path) is older than the one that this node has.",
        advice: "Give it the list that was signed last.")
    case .wrongRoot:
      UsageError(
        "The list in \(path) is of another root than the one that this node has.",
        advice: "Start the node anew where that is meant.")
    case .wrongSignature, .expired:
      UsageError(
        "The list in \(path) was changed.", advice: "Sign it anew: earshot-rendezvous help root.")
    }
  }
}

extension Log {
  /// Says when the list must be signed anew: clients that pin the root believe it no longer. Says
  /// as well when a node is not on it any more.
  mutating func warn(of list: NodeList, for node: PeerID) {
    if !list.nodes.contains(where: { $0.id == node }) {
      let text = "this node is not on the list of nodes any more: end it in an hour"
      write(.warning, "node", text, now: SystemClock.now)
    }
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    let end = Timestamp.text(wallNanoseconds: list.content.notAfter &* 1_000_000_000)
    let advice = "Sign it anew, and send SIGHUP: earshot-rendezvous help root"
    if list.hasExpired(at: seconds) {
      write(
        .error, "nodes", "clients refuse the list of nodes since \(end). \(advice)",
        now: SystemClock.now)
    } else if list.hasExpired(at: seconds + Self.warnedBefore) {
      write(
        .warning, "nodes", "clients refuse the list of nodes from \(end) on. \(advice)",
        now: SystemClock.now)
    }
  }

  /// Seconds: two weeks, for an operator who looks once a week.
  private static let warnedBefore: UInt64 = 14 * 86_400
}
