internal import Audio
internal import Cryptography
public import Primitives
internal import Reactor
internal import Video

/// What the kernel and the libraries of this host tell; nothing is sent.
public struct HostFacts: Sendable, Equatable {
  /// An address of an interface that is up.
  public struct Interface: Sendable, Equatable {
    /// "eth0".
    public var name: String
    /// The address; its port means nothing.
    public var address: SocketAddress

    package init(_ name: String, _ address: SocketAddress) {
      self.name = name
      self.address = address
    }
  }

  /// Addresses that others could use: neither loopback nor link-local of IPv6.
  public var interfaces: [Interface] = []
  /// Whether there is a route to the internet by IPv4.
  public var routesIPv4 = false
  /// Whether there is one by IPv6.
  public var routesIPv6 = false
  /// Whether threads may run in real time (`SCHED_FIFO`); `nil` = not told.
  public var grantsRealTime: Bool?
  /// Whether memory for keys can be locked, so that it is never swapped.
  public var locksMemory: Bool?
  /// Bytes that may be locked (`RLIMIT_MEMLOCK`); `nil` = no limit.
  public var lockedMemoryLimit: UInt64?
  /// Bytes that were asked for as a socket's buffer, each way.
  public var bufferWanted = 0
  /// Bytes of datagrams that the kernel granted to receive; `nil` = not told.
  public var receiveBuffer: Int?
  /// The same to send.
  public var sendBuffer: Int?
  /// "Linux 6.1.0".
  public var kernel = ""
  /// "libopus 1.3.1", "libvpx v1.12.0".
  public var codecs: [String] = []
  /// "libsodium 1.0.18".
  public var cryptography = ""
  /// The version of the protocol that is spoken.
  public var protocolVersion = 1

  /// Nothing known.
  package init() {}

  /// Memory for the keys of a busy endpoint: four slabs of them.
  static let keyByteCount = 65_536
}

extension HostFacts {
  /// Asks the kernel.
  static func examine() throws(EarshotError) -> HostFacts {
    var facts = HostFacts()
    do throws(ReactorError) {
      facts.interfaces = try NetworkInterfaces.addresses()
        .filter { $0.isUp && !$0.address.isLoopback && !$0.address.isLinkLocalV6 }
        .map { Interface($0.name, $0.address) }
      facts.grantsRealTime = try HostResources.grantsRealTime()
    } catch {
      throw .systemFailure("examining this host", detail: "\(error)")
    }
    facts.routesIPv4 = hasRoute(internet)
    facts.routesIPv6 = SocketAddress("[2001:503:ba3e::2:30]:53").map(hasRoute) ?? false
    facts.locksMemory = HostResources.canLock(byteCount: keyByteCount)
    facts.lockedMemoryLimit = HostResources.lockedMemoryLimit
    facts.takeBuffers()
    facts.kernel = HostResources.kernel
    facts.codecs = [OpusLibrary.version, VPXLibrary.version]
    facts.cryptography = "libsodium \(Sodium.version)"
    return facts
  }

  /// A root server of the DNS stands for the internet; nothing is sent to it.
  static let internet = SocketAddress(v4: 198, 41, 0, 4, port: 53)

  private static func hasRoute(_ address: SocketAddress) -> Bool {
    NetworkInterfaces.address(toward: address, port: 0) != nil
  }

  private mutating func takeBuffers() {
    let options = UDPSocket.Options()
    bufferWanted = options.kernelBufferByteCount
    do throws(ReactorError) {
      let socket = try UDPSocket(binding: SocketAddress(v4: 0, 0, 0, 0, port: 0), options)
      let granted = socket.grantedBuffers()
      (receiveBuffer, sendBuffer) = (granted.receive, granted.send)
    } catch {
      return  // A host without IPv4: what it would grant is not known.
    }
  }
}
