public import Primitives
internal import Reactor

/// Which network this host sends over (`EndpointEvent.networkChanged`).
public struct NetworkState: Sendable, Equatable {
  /// Of what kind it is.
  public enum Kind: String, Sendable {
    /// There is none.
    case disconnected
    /// A cable.
    case lan
    /// Wi-Fi.
    case wifi
    /// A tunnel or a bridge, or the system does not say.
    case unknown
  }

  /// Of what kind it is.
  public var kind: Kind
  /// The own address that packets to the rendezvous leave from, before any address translator;
  /// `nil` without one.
  public var address: SocketAddress?

  package init(_ kind: Kind, address: SocketAddress?) {
    self.kind = kind
    self.address = address
  }

  /// What packets to `remote` leave from now.
  init(toward remote: SocketAddress) {
    self.init(source: NetworkInterfaces.address(toward: remote, port: 0))
  }

  /// Whether this host has an address besides its loopback ones, as far as the kernel lists them.
  static var hasAddress: Bool {
    do throws(ReactorError) {
      return try !NetworkInterfaces.hostAddresses(port: 0).isEmpty
    } catch {
      return true
    }
  }

  /// The network that has `source`.
  init(source: SocketAddress?) {
    address = source
    guard let source else {
      kind = .disconnected
      return
    }
    do throws(ReactorError) {
      let found = try NetworkInterfaces.addresses(port: source.port).first { $0.address == source }
      kind =
        switch found.map({ NetworkInterfaces.medium(of: $0.name) }) {
        case .cable: .lan
        case .radio: .wifi
        case .other, nil: .unknown
        }
    } catch {
      kind = .unknown  // The kernel does not list them now.
    }
  }
}
