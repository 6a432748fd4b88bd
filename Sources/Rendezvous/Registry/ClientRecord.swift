import Cryptography
import Messaging
import Primitives
import Wire

/// Everything the server keeps of one registered client that is not busy: 296 bytes, plain values,
/// so that 20 000 of them are 6 MB and no object.
///
/// What a client has under way lives in an `Exchange`; its card lives in the store, and its name
/// there and in the `ClientRegistry`.
struct ClientRecord: BitwiseCopyable, Sendable {
  var receiveKeys: PacketKeys
  var sendKeys: PacketKeys
  /// Numbers seen (docs/protocol/session.md §6).
  var window = NumberWindow()
  /// Our connection ID, and the client's.
  let local: ConnectionID
  let remote: ConnectionID
  /// Number of the next packet to the client.
  var sendNumber: UInt32 = 0
  /// Index of the exchange plus one; 0 when nothing is under way.
  var exchange: UInt32 = 0
  var lookUps: CompactRateMeter
  var forwards: CompactRateMeter
  /// Whole seconds of the clock, mod 65 536: when it was last heard of, when the session began.
  var heard: UInt16
  let born: UInt16
  let id: PeerID
  private let presenceID: PresenceID
  /// The TAI64N of its INIT in 64 bits: seconds mod 2^34, then nanoseconds.
  let initiated: UInt64
  var resting: RestingState
  private var packedPath: PackedPath
  var flags: Flags
  /// Frames and messages that did not parse.
  var strikes: UInt8 = 0

  struct Flags: OptionSet, BitwiseCopyable, Sendable {
    let rawValue: UInt8
    /// The first DATA packet has come.
    static let isConfirmed = Flags(rawValue: 1)
    /// Waits in the queue of those who have something to send.
    static let isQueued = Flags(rawValue: 2)
    /// The place in the slab is in use.
    static let isUsed = Flags(rawValue: 4)
    /// A sealed packet has come from the address: who sent INIT may have written another's there.
    static let isHeard = Flags(rawValue: 8)
    /// The program answers calls, or makes one; a guest does neither.
    static let isAnswering = Flags(rawValue: 16)
    static let isCalling = Flags(rawValue: 32)
    /// It understands the sender's name in FORWARDED.
    static let wantsNames = Flags(rawValue: 64)
    /// It takes RELAYS.
    static let wantsRelays = Flags(rawValue: 128)
  }

  init(
    keys: (receive: PacketKeys, send: PacketKeys), local: ConnectionID, remote: ConnectionID,
    id: PeerID, presence: Presence = .unnamed, address: SocketAddress,
    askedAt: LocalAddressID = .unspecified, initiated: UInt64,
    abilities: ClientAbilities = [], now: Instant
  ) {
    receiveKeys = keys.receive
    sendKeys = keys.send
    self.local = local
    self.remote = remote
    self.id = id
    presenceID = presence.id
    self.initiated = initiated
    packedPath = PackedPath(DatagramPath(address, local: askedAt))
    lookUps = CompactRateMeter(nowMilliseconds: now.millisecond)
    forwards = lookUps
    heard = UInt16(truncatingIfNeeded: now.second)
    born = heard
    resting = .fresh
    flags = abilities.contains(.senderNames) ? [.isUsed, .wantsNames] : .isUsed
    if abilities.contains(.relays) { flags.insert(.wantsRelays) }
    switch presence.kind {
    case .guest: break
    case .answering: flags.insert(.isAnswering)
    case .calling: flags.insert(.isCalling)
    }
  }

  /// Which program of its identity the client is, and what for.
  var presence: Presence {
    let isGuest = flags.isDisjoint(with: [.isAnswering, .isCalling])
    let kind: PresenceKind =
      isGuest ? .guest : flags.contains(.isAnswering) ? .answering : .calling
    return Presence(presenceID, kind)
  }

  /// The address that has been proven: where everything to this client goes.
  var address: SocketAddress { packedPath.path.remote }

  /// The same, and our own address that the client talks to.
  var path: DatagramPath {
    get { packedPath.path }
    set { packedPath = PackedPath(newValue) }
  }

  /// Our own address that the client's newest packet from its proven address came to.
  var ownAddress: LocalAddressID {
    get { packedPath.local }
    set { packedPath.local = newValue }
  }

  var isHeard: Bool { flags.contains(.isHeard) }
  var isConfirmed: Bool { flags.contains(.isConfirmed) }

  /// Seconds since the client was last heard of.
  func silence(now: Instant) -> UInt16 { UInt16(truncatingIfNeeded: now.second) &- heard }
  /// Seconds since the session began.
  func age(now: Instant) -> UInt16 { UInt16(truncatingIfNeeded: now.second) &- born }

  /// Wipes the keys.
  mutating func erase() {
    receiveKeys.erase()
    sendKeys.erase()
    flags = []
  }
}

/// A `DatagramPath` without what `SocketAddress` has for others: 21 bytes.
private struct PackedPath: BitwiseCopyable, Sendable {
  private let high: UInt64
  private let low: UInt64
  private let port: UInt16
  var local: LocalAddressID
  private let family: SocketAddress.Family

  init(_ path: DatagramPath) {
    high = path.remote.high
    low = path.remote.low
    port = path.remote.port
    family = path.remote.family
    local = path.local
  }

  var path: DatagramPath {
    DatagramPath(SocketAddress(family: family, high: high, low: low, port: port), local: local)
  }
}

extension RestingState {
  /// Of a channel that has not been used yet.
  static let fresh: RestingState = {
    guard let state = MessageChannel(limits: .rendezvous).resting else {
      preconditionFailure("an unused channel is at rest")
    }
    return state
  }()
}
