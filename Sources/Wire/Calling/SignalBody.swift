package import Primitives

/// What a signalling body is (docs/protocol/calling.md §2).
package enum SignalType: UInt8, CaseIterable, Sendable {
  case invite = 1
  case ringing = 2
  case accept = 3
  case reject = 4
  case cancel = 5
  case timeout = 6
  case hangUp = 7
  case receipt = 8
  case unsupported = 9
  case candidates = 10

  /// Whether a RECEIPT answers it; INVITE is answered by RINGING, ACCEPT or REJECT instead.
  package var isReceipted: Bool {
    switch self {
    case .accept, .reject, .cancel, .timeout, .hangUp: true
    case .invite, .ringing, .receipt, .unsupported, .candidates: false
    }
  }

  /// Whether the last 16 bytes of the body are a MAC.
  package var hasMAC: Bool {
    switch self {
    case .ringing, .cancel, .timeout, .hangUp, .receipt: true
    case .invite, .accept, .reject, .unsupported, .candidates: false
    }
  }
}

/// The 18 bytes that every signalling body begins with, of whatever version.
package struct SignalHeader: Equatable, Sendable {
  package var version: UInt8
  package var type: UInt8
  package var callID: CallID

  /// Reads no further than the call ID: enough to find the call, or to answer UNSUPPORTED.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    version = try reader.readUInt8("signal version")
    type = try reader.readUInt8("signal type")
    callID = try CallID(parsing: &reader)
  }
}

/// A signalling body as it travels: what is sealed inside is still sealed, and the MAC unchecked.
///
///     version 1 · type 1 · call ID 16 · content · MAC 16 (types 2, 5, 6, 7, 8)
///
/// The MAC covers all bytes before it: of a received body `bytes.count - macByteCount`, of one to
/// be sent `bytesBeforeMAC`.
package struct SignalBody: Equatable, Sendable {
  package static let version: UInt8 = 1
  package static let macByteCount = 16
  /// What the rendezvous forwards at most (docs/protocol/session.md §9).
  package static let maximumByteCount = 4096

  package var callID: CallID
  package var content: Content
  /// 16 bytes, or none where the type has no MAC.
  package var mac: [UInt8]

  package enum Content: Equatable, Sendable {
    /// The caller's connection ID of the session to be, and Noise message 1.
    case invite(connectionID: UInt32, noiseMessage: [UInt8])
    case ringing(SealedRingDetails)
    case accept(noiseMessage: [UInt8])
    case reject(noiseMessage: [UInt8])
    /// The callee's program that it is for; `every` = all of them.
    case cancel(CallReason, presence: PresenceID = .every, words: SealedWords? = nil)
    /// From the caller as CANCEL; from the callee with its own program.
    case timeout(CallReason, presence: PresenceID = .every)
    case hangUp(CallReason, ReasonText, words: SealedWords? = nil)
    /// The callee's program that it is for, or from.
    case receipt(of: SignalType, presence: PresenceID = .every)
    case unsupported(lowestVersion: UInt8, highestVersion: UInt8)
    /// Where its sender is now, in a call that stands.
    case candidates(SealedCandidates)
  }

  package init(_ callID: CallID, _ content: Content, mac: [UInt8] = []) {
    self.callID = callID
    self.content = content
    self.mac = mac
  }

  package var type: SignalType {
    switch content {
    case .invite: .invite
    case .ringing: .ringing
    case .accept: .accept
    case .reject: .reject
    case .cancel: .cancel
    case .timeout: .timeout
    case .hangUp: .hangUp
    case .receipt: .receipt
    case .unsupported: .unsupported
    case .candidates: .candidates
    }
  }

  /// Reads a whole body.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw WireError(.tooLong, "signal body", at: Self.maximumByteCount)
    }
    var reader = ByteReader(bytes)
    let header = try SignalHeader(parsing: &reader)
    guard header.version == Self.version else { throw .invalid("signal version", at: 0) }
    guard let type = SignalType(rawValue: header.type) else { throw .invalid("signal type", at: 1) }
    callID = header.callID
    content = try Self.readContent(type, &reader)
    mac = type.hasMAC ? try reader.readBytes(Self.macByteCount, "signal MAC") : []
    try reader.expectEnd("signal body")
  }

  @_lifetime(reader: copy reader)
  private static func readContent(
    _ type: SignalType, _ reader: inout ByteReader
  ) throws(WireError) -> Content {
    switch type {
    case .invite:
      let connectionID = try reader.readNonzeroConnectionID("caller's connection ID")
      return .invite(
        connectionID: connectionID, noiseMessage: try readNoise(&reader, NoiseFloor.message1))
    case .ringing: return .ringing(try SealedRingDetails(parsing: &reader))
    case .accept: return .accept(noiseMessage: try readNoise(&reader, NoiseFloor.message2))
    case .reject: return .reject(noiseMessage: try readNoise(&reader, NoiseFloor.message2))
    case .cancel:
      let reason = CallReason(wire: try reader.readUInt8("reason"))
      let presence = try PresenceID(parsing: &reader)
      let words = try SealedWords.parse(&reader, before: macByteCount)
      return .cancel(reason, presence: presence, words: words)
    case .timeout:
      let reason = CallReason(wire: try reader.readUInt8("reason"))
      return .timeout(reason, presence: try PresenceID(parsing: &reader))
    case .hangUp:
      let reason = CallReason(wire: try reader.readUInt8("reason"))
      let text = try ReasonText(parsing: &reader)
      return .hangUp(
        reason, text, words: try SealedWords.parse(&reader, before: macByteCount))
    case .receipt:
      let start = reader.offset
      guard let receipted = SignalType(rawValue: try reader.readUInt8("receipted type")),
        receipted.isReceipted
      else { throw .invalid("receipted type", at: start) }
      return .receipt(of: receipted, presence: try PresenceID(parsing: &reader))
    case .unsupported:
      let start = reader.offset
      let lowest = try reader.readUInt8("lowest version")
      let highest = try reader.readUInt8("highest version")
      guard lowest <= highest else { throw .invalid("version range", at: start) }
      return .unsupported(lowestVersion: lowest, highestVersion: highest)
    case .candidates: return .candidates(try SealedCandidates(parsing: &reader))
    }
  }

  @_lifetime(reader: copy reader)
  private static func readNoise(
    _ reader: inout ByteReader, _ minimum: Int
  ) throws(WireError) -> [UInt8] {
    guard reader.remaining >= minimum else {
      throw WireError(.truncated, "Noise message", at: reader.offset)
    }
    return reader.readRest()
  }

  /// Everything that the MAC covers; the whole body where the type has none.
  package var bytesBeforeMAC: [UInt8] {
    var bytes = Self.start(type, callID)
    switch content {
    case .invite(let connectionID, let noiseMessage):
      bytes.append(littleEndian: connectionID)
      bytes.append(contentsOf: noiseMessage)
    case .ringing(let details): details.write(to: &bytes)
    case .accept(let noiseMessage), .reject(let noiseMessage):
      bytes.append(contentsOf: noiseMessage)
    case .cancel(let reason, let presence, let words):
      bytes.append(reason.rawValue)
      presence.write(to: &bytes)
      words?.write(to: &bytes)
    case .timeout(let reason, let presence):
      bytes.append(reason.rawValue)
      presence.write(to: &bytes)
    case .hangUp(let reason, let text, let words):
      bytes.append(reason.rawValue)
      text.write(to: &bytes)
      words?.write(to: &bytes)
    case .receipt(let receipted, let presence):
      bytes.append(receipted.rawValue)
      presence.write(to: &bytes)
    case .unsupported(let lowest, let highest): bytes.append(contentsOf: [lowest, highest])
    case .candidates(let sealed): sealed.write(to: &bytes)
    }
    return bytes
  }

  /// The whole body.
  package var bytes: [UInt8] { bytesBeforeMAC + mac }

  /// What the seal of user data covers besides them: version, type, call ID.
  package var headOfWords: [UInt8] { Self.start(type, callID) }

  /// User data under their seal.
  package var words: SealedWords? {
    get {
      switch content {
      case .cancel(_, _, let words), .hangUp(_, _, let words): words
      default: nil
      }
    }
    set {
      switch content {
      case .cancel(let reason, let presence, _):
        content = .cancel(reason, presence: presence, words: newValue)
      case .hangUp(let reason, let text, _): content = .hangUp(reason, text, words: newValue)
      default: break
      }
    }
  }

  static func start(_ type: SignalType, _ callID: CallID) -> [UInt8] {
    var bytes = [version, type.rawValue]
    callID.write(to: &bytes)
    return bytes
  }

  /// The shortest Noise messages that can hold their payload's fixed part: ephemeral key 32, sealed
  /// static key 48 (message 1 only), payload, tag 16.
  private enum NoiseFloor {
    static let message1 = 32 + 48 + InvitePayload.fixedByteCount + 16
    static let message2 = 32 + AnswerPayload.fixedByteCount + 16
  }
}

/// RINGING's content: flags 1 · nonce 24 · length 2 · sealed ring details.
package struct SealedRingDetails: Equatable, Sendable {
  package static let nonceByteCount = 24
  private static let isPreparedBit: UInt8 = 1

  /// Bit 0: the callee takes part in path checks now; bit 1: `CallAbilities.moreWords`. Others are
  /// ignored, and authenticated.
  package var flags: UInt8
  package var nonce: [UInt8]
  /// `RingDetails` under XChaCha20-Poly1305, its tag included.
  package var sealed: [UInt8]

  package init(
    isPrepared: Bool, abilities: CallAbilities = [], nonce: [UInt8], sealed: [UInt8]
  ) {
    flags = (isPrepared ? Self.isPreparedBit : 0) | abilities.rawValue
    self.nonce = nonce
    self.sealed = sealed
  }

  package var isPrepared: Bool { flags & Self.isPreparedBit != 0 }
  package var abilities: CallAbilities { .moreWords.intersection(.init(rawValue: flags)) }

  /// The body before the nonce: what the seal covers besides its content.
  package func associatedData(_ callID: CallID) -> [UInt8] {
    SignalBody.start(.ringing, callID) + [flags]
  }

  @_lifetime(reader: copy reader)
  fileprivate init(parsing reader: inout ByteReader) throws(WireError) {
    flags = try reader.readUInt8("ringing flags")
    nonce = try reader.readBytes(Self.nonceByteCount, "ringing nonce")
    let start = reader.offset
    let length = Int(try reader.readUInt16("ring details length"))
    guard length >= RingDetails.fixedByteCount + 16 else {
      throw .invalid("ring details length", at: start)
    }
    sealed = try reader.readBytes(length, "ring details")
  }

  fileprivate func write(to bytes: inout [UInt8]) {
    bytes.append(flags)
    bytes.append(contentsOf: nonce)
    bytes.append(littleEndian: UInt16(clamping: sealed.count))
    bytes.append(contentsOf: sealed)
  }
}

extension ReasonText {
  /// length 1 + text.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let length = Int(try reader.readUInt8("reason text length"))
    guard length <= Self.maximumByteCount else {
      throw WireError(.tooLong, "reason text", at: start)
    }
    self.init(clipping: try reader.readText(length, "reason text"))
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(UInt8(clamping: wire.utf8.count))
    bytes.append(contentsOf: wire.utf8)
  }
}

extension ByteReader {
  /// A connection ID that somebody is to send to: never zero (docs/protocol/session.md §2).
  @_lifetime(self: copy self)
  mutating func readNonzeroConnectionID(_ field: StaticName) throws(WireError) -> UInt32 {
    let start = offset
    let value = try readUInt32(field)
    guard value != 0 else { throw .invalid(field, at: start) }
    return value
  }
}
