package import Primitives

/// RELAY_PAIRS: a relay's own word to its rendezvous (docs/protocol/relay.md §6).
package struct PairOffer: Hashable, Sendable {
  /// Where it listens, as in RELAY_HERE.
  package var address: SocketAddress
  /// What the keys of tickets are made of.
  package var secret: Bytes32

  package init(address: SocketAddress, secret: Bytes32) {
    self.address = address
    self.secret = secret
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    address = try SocketAddress(parsing: &reader)
    secret = try Bytes32(parsing: &reader, "secret")
  }

  func writeFields(to bytes: inout [UInt8]) {
    address.write(to: &bytes)
    bytes.append(secret)
  }
}

/// PAIR: a client asks for a relay for one call (docs/protocol/relay.md §6).
package struct PairRequest: Hashable, Sendable {
  package var peer: PeerID
  package var call: CallID
  /// The callee's.
  package var program: PresenceID

  package init(peer: PeerID, call: CallID, program: PresenceID) {
    self.peer = peer
    self.call = call
    self.program = program
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    peer = try PeerID(parsing: &reader)
    call = try CallID(parsing: &reader)
    program = try PresenceID(parsing: &reader)
  }

  func writeFields(to bytes: inout [UInt8]) {
    peer.write(to: &bytes)
    call.write(to: &bytes)
    program.write(to: &bytes)
  }
}

/// What one end of a pair needs to bind its address at a relay.
package struct PairTicket: Hashable, Sendable {
  package var address: SocketAddress
  package var pair: Bytes16
  /// Milliseconds since 1970 UTC.
  package var until: UInt64
  package var side: PairSide
  package var key: Bytes32

  package init(
    address: SocketAddress, pair: Bytes16, until: UInt64, side: PairSide, key: Bytes32
  ) {
    self.address = address
    self.pair = pair
    self.until = until
    self.side = side
    self.key = key
  }
}

/// PAIR_RESULT (docs/protocol/relay.md §6).
package struct PairResult: Hashable, Sendable {
  package enum Answer: Hashable, Sendable {
    case granted(PairTicket)
    case noRelay
    /// The two have not both written to each other.
    case notKnown
    case tooMany
  }

  package var call: CallID
  package var program: PresenceID
  package var answer: Answer

  package init(call: CallID, program: PresenceID, _ answer: Answer) {
    self.call = call
    self.program = program
    self.answer = answer
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    call = try CallID(parsing: &reader)
    program = try PresenceID(parsing: &reader)
    let at = reader.offset
    switch try reader.readUInt8("status") {
    case 0:
      let address = try SocketAddress(parsing: &reader)
      let pair = try Bytes16(parsing: &reader, "pair")
      let until = try reader.readUInt64("end of the ticket")
      guard let side = PairSide(rawValue: try reader.readUInt8("side")) else {
        throw .invalid("side", at: at)
      }
      answer = .granted(
        PairTicket(
          address: address, pair: pair, until: until, side: side,
          key: try Bytes32(parsing: &reader, "key")))
    case 1: answer = .noRelay
    case 2: answer = .notKnown
    case 3: answer = .tooMany
    default: throw .invalid("status", at: at)
    }
  }

  func writeFields(to bytes: inout [UInt8]) {
    call.write(to: &bytes)
    program.write(to: &bytes)
    switch answer {
    case .granted(let ticket):
      bytes.append(0)
      ticket.address.write(to: &bytes)
      bytes.append(ticket.pair)
      bytes.append(littleEndian: ticket.until)
      bytes.append(ticket.side.rawValue)
      bytes.append(ticket.key)
    case .noRelay: bytes.append(1)
    case .notKnown: bytes.append(2)
    case .tooMany: bytes.append(3)
    }
  }
}
