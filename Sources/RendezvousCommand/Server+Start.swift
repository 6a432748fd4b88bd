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
