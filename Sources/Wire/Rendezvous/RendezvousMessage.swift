package import Primitives

/// What a client and a rendezvous say to each other, one reliable message each
/// (docs/protocol/rendezvous.md §3). The type byte comes first.
package enum RendezvousMessage: Hashable, Sendable {
  case lookUp(LookUp)
  case lookUpResult(LookUpResult)
  case forward(Forward)
  case forwarded(Forwarded)
  case forwardResult(ForwardResult)
  case relays(RelayOffer)
  case token(TokenRenewal)
  case tokenResult(TokenResult)
  case audience(Audience)
  case channel(ChannelRequest)
  case channelNotice(ChannelNotice)
  case relayHere(RelayHere)
  case seatsEnded(SeatsEnded)
  case relayPairs(PairOffer)
  case pair(PairRequest)
  case pairResult(PairResult)
  case channelData(SealedChannelMessage)
  case nameReceipt(NameReceiptMessage)

  /// Stream 1, unordered (docs/protocol/frames.md §3).
  package static let stream: UInt8 = 0x81

  /// Whether somebody waits for what these bytes say: a look-up, or a signal of a call.
  package static func isUrgent(_ bytes: [UInt8]) -> Bool {
    switch bytes.first {
    case Code.lookUp, Code.lookUpResult, Code.forward, Code.forwarded: true
    default: false
    }
  }

  /// FORWARDED with the longest body and name: the longest message a server sends.
  package static let maximumByteCount =
    1 + 16 + 32 + 8 + 2 + 2 + Forward.maximumBodyByteCount + 1 + PeerName.maximumByteCount

  /// Reads one message, which is all there is in `bytes`.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    switch try reader.readUInt8("message type") {
    case Code.lookUp: self = .lookUp(try LookUp(fields: &reader))
    case Code.lookUpResult: self = .lookUpResult(try LookUpResult(fields: &reader))
    case Code.forward: self = .forward(try Forward(fields: &reader))
    case Code.forwarded: self = .forwarded(try Forwarded(fields: &reader))
    case Code.forwardResult: self = .forwardResult(try ForwardResult(fields: &reader))
    case Code.relays: self = .relays(try RelayOffer(fields: &reader))
    case Code.token: self = .token(try TokenRenewal(fields: &reader))
    case Code.tokenResult: self = .tokenResult(try TokenResult(fields: &reader))
    case Code.audience: self = .audience(try Audience(fields: &reader))
    case Code.channel: self = .channel(try ChannelRequest(fields: &reader))
    case Code.channelNotice: self = .channelNotice(try ChannelNotice(fields: &reader))
    case Code.relayHere: self = .relayHere(RelayHere(address: try SocketAddress(parsing: &reader)))
    case Code.seatsEnded: self = .seatsEnded(try SeatsEnded(fields: &reader))
    case Code.relayPairs: self = .relayPairs(try PairOffer(fields: &reader))
    case Code.pair: self = .pair(try PairRequest(fields: &reader))
    case Code.pairResult: self = .pairResult(try PairResult(fields: &reader))
    case Code.channelData: self = .channelData(try SealedChannelMessage(fields: &reader))
    case Code.nameReceipt: self = .nameReceipt(try NameReceiptMessage(fields: &reader))
    default: throw .invalid("message type", at: 0)
    }
    try reader.expectEnd("end of message")
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(code)
    switch self {
    case .lookUp(let message): message.writeFields(to: &bytes)
    case .lookUpResult(let message): message.writeFields(to: &bytes)
    case .forward(let message): message.writeFields(to: &bytes)
    case .forwarded(let message): message.writeFields(to: &bytes)
    case .forwardResult(let message): message.writeFields(to: &bytes)
    case .relays(let message): message.writeFields(to: &bytes)
    case .token(let message): message.writeFields(to: &bytes)
    case .tokenResult(let message): message.writeFields(to: &bytes)
    case .audience(let message): message.writeFields(to: &bytes)
    case .channel(let message): message.writeFields(to: &bytes)
    case .channelNotice(let message): message.writeFields(to: &bytes)
    case .relayHere(let message): message.address.write(to: &bytes)
    case .seatsEnded(let message): message.writeFields(to: &bytes)
    case .relayPairs(let message): message.writeFields(to: &bytes)
    case .pair(let message): message.writeFields(to: &bytes)
    case .pairResult(let message): message.writeFields(to: &bytes)
    case .channelData(let message): message.writeFields(to: &bytes)
    case .nameReceipt(let message): message.writeFields(to: &bytes)
    }
  }

  private var code: UInt8 {
    switch self {
    case .lookUp: Code.lookUp
    case .lookUpResult: Code.lookUpResult
    case .forward: Code.forward
    case .forwarded: Code.forwarded
    case .forwardResult: Code.forwardResult
    case .relays: Code.relays
    case .token: Code.token
    case .tokenResult: Code.tokenResult
    case .audience: Code.audience
    case .channel: Code.channel
    case .channelNotice: Code.channelNotice
    case .relayHere: Code.relayHere
    case .seatsEnded: Code.seatsEnded
    case .relayPairs: Code.relayPairs
    case .pair: Code.pair
    case .pairResult: Code.pairResult
    case .channelData: Code.channelData
    case .nameReceipt: Code.nameReceipt
    }
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private enum Code {
    static let lookUp: UInt8 = 1
    static let lookUpResult: UInt8 = 2
    static let forward: UInt8 = 3
    static let forwarded: UInt8 = 4
    static let forwardResult: UInt8 = 5
    static let relays: UInt8 = 6
    static let token: UInt8 = 7
    static let tokenResult: UInt8 = 8
    static let channel: UInt8 = 9
    static let channelNotice: UInt8 = 10
    static let audience: UInt8 = 11
    static let relayHere: UInt8 = 12
    static let seatsEnded: UInt8 = 13
    static let relayPairs: UInt8 = 14
    static let pair: UInt8 = 15
    static let pairResult: UInt8 = 16
    static let channelData: UInt8 = 17
    static let nameReceipt: UInt8 = 18
  }
}
