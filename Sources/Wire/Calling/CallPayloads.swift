package import Primitives

/// The TLVs that INVITE and ACCEPT have in common (docs/protocol/calling.md §2).
package struct CallOffer: Equatable, Sendable {
  package static let maximumCardByteCount = 330
  package static let maximumExtensionByteCount = 1024

  /// A contact card's bytes, unchecked; empty = none.
  package var card: [UInt8]
  package var candidates: CandidateList
  package var media: MediaDescription
  /// The user's own JSON, not looked into; `nil` = none.
  package var userExtension: String?
  /// How long the call may go on without the other side, in s; 0 = it ends as usual.
  package var rejoinSeconds: UInt16
  package var abilities: CallAbilities

  package init(
    card: [UInt8] = [], candidates: CandidateList = CandidateList(),
    media: MediaDescription = MediaDescription(), userExtension: String? = nil,
    rejoinSeconds: UInt16 = 0, abilities: CallAbilities = []
  ) {
    self.card = card
    self.candidates = candidates
    self.media = media
    self.userExtension = userExtension
    self.rejoinSeconds = rejoinSeconds
    self.abilities = abilities
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    self = try CallOffer(try TLVList(parsing: &reader))
  }

  fileprivate init(_ list: TLVList) throws(WireError) {
    card = list[.card] ?? []
    guard card.count <= Self.maximumCardByteCount else { throw WireError(.tooLong, "card", at: 0) }
    if let value = list[.candidates] {
      candidates = try CandidateList(parsing: value)
    } else {
      candidates = CandidateList()
    }
    if let value = list[.media] {
      media = try MediaDescription(parsing: value)
    } else {
      media = MediaDescription()
    }
    if let value = list[.userExtension] {
      guard value.count <= Self.maximumExtensionByteCount else {
        throw WireError(.tooLong, "extension", at: 0)
      }
      guard let text = String(validating: value, as: UTF8.self) else {
        throw .invalid("extension", at: 0)
      }
      userExtension = text
    }
    rejoinSeconds = try Self.rejoinSeconds(list[.rejoin])
    abilities = CallAbilities(media: list[.media] ?? [])
  }

  private static func rejoinSeconds(_ value: [UInt8]?) throws(WireError) -> UInt16 {
    guard let value else { return 0 }
    guard value.count == 2 else { throw .invalid("rejoin", at: 0) }
    let seconds = UInt16(value[0]) | UInt16(value[1]) << 8
    guard seconds > 0 else { throw .invalid("rejoin", at: 0) }
    return seconds
  }

  fileprivate var list: TLVList {
    var list = TLVList()
    if !card.isEmpty { list.append(.card, card) }
    if !candidates.candidates.isEmpty { list.append(.candidates, candidates.bytes) }
    if !media.entries.isEmpty { list.append(.media, abilities.marked(media.bytes)) }
    if let userExtension { list.append(.userExtension, Array(userExtension.utf8)) }
    if rejoinSeconds > 0 {
      var value: [UInt8] = []
      value.append(littleEndian: rejoinSeconds)
      list.append(.rejoin, value)
    }
    return list
  }
}

/// What Noise message 1 of a call carries.
///
///     call ID 16 · created 8 · commit 32 · ck 32 · ring connection ID 4 · ring timeout 4 · TLVs
package struct InvitePayload: Equatable, Sendable {
  package static let fixedByteCount = 96

  package var callID: CallID
  /// When the call was made, in ms of the rendezvous' clock (Unix time).
  package var createdMilliseconds: UInt64
  /// BLAKE2b-256("EST1 sas" ‖ r_A), 32 bytes.
  package var commitment: [UInt8]
  /// `ck`, 32 bytes: the secret that MACs and ring keys come from.
  package var callKey: [UInt8]
  package var ringConnectionID: UInt32
  /// 0 = the callee rings until somebody ends it.
  package var ringTimeoutMilliseconds: UInt32
  package var offer: CallOffer

  package init(
    callID: CallID, createdMilliseconds: UInt64, commitment: [UInt8], callKey: [UInt8],
    ringConnectionID: UInt32, ringTimeoutMilliseconds: UInt32, offer: CallOffer
  ) {
    self.callID = callID
    self.createdMilliseconds = createdMilliseconds
    self.commitment = commitment
    self.callKey = callKey
    self.ringConnectionID = ringConnectionID
    self.ringTimeoutMilliseconds = ringTimeoutMilliseconds
    self.offer = offer
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    callID = try CallID(parsing: &reader)
    createdMilliseconds = try reader.readUInt64("created")
    commitment = try reader.readBytes(32, "commitment")
    callKey = try reader.readBytes(32, "ck")
    ringConnectionID = try reader.readNonzeroConnectionID("ring connection ID")
    ringTimeoutMilliseconds = try reader.readUInt32("ring timeout")
    let start = reader.offset
    offer = try CallOffer(try TLVList(parsing: &reader))
    guard !offer.card.isEmpty else { throw .invalid("card", at: start) }
  }

  package var bytes: [UInt8] {
    var bytes = callID.bytes
    // At once: an array that grows leaves what it held behind, and the owner wipes this one.
    bytes.reserveCapacity(4096)
    bytes.append(littleEndian: createdMilliseconds)
    bytes.append(contentsOf: commitment)
    bytes.append(contentsOf: callKey)
    bytes.append(littleEndian: ringConnectionID)
    bytes.append(littleEndian: ringTimeoutMilliseconds)
    offer.list.write(to: &bytes)
    return bytes
  }
}

/// What RINGING carries under its seal: ring connection ID 4 · presence ID 8 · TLV candidates.
package struct RingDetails: Equatable, Sendable {
  package static let fixedByteCount = 12

  package var ringConnectionID: UInt32
  /// The program that rings.
  package var presence: PresenceID
  /// None unless the callee is prepared.
  package var candidates: CandidateList

  package init(
    ringConnectionID: UInt32, presence: PresenceID = .every, candidates: CandidateList
  ) {
    self.ringConnectionID = ringConnectionID
    self.presence = presence
    self.candidates = candidates
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    ringConnectionID = try reader.readNonzeroConnectionID("ring connection ID")
    presence = try PresenceID(parsing: &reader)
    candidates = try CallOffer(parsing: &reader).candidates
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: ringConnectionID)
    presence.write(to: &bytes)
    CallOffer(candidates: candidates).list.write(to: &bytes)
    return bytes
  }
}

/// What Noise message 2 of a call carries, in ACCEPT and in REJECT.
///
///     call ID 16 · verdict 1 · reason 1 · callee's connection ID 4 · presence ID 8 · r_B 16 · TLVs
package struct AnswerPayload: Equatable, Sendable {
  package static let fixedByteCount = 46

  package enum Verdict: Equatable, Sendable {
    /// With the callee's connection ID of the session.
    case accepted(connectionID: UInt32)
    case rejected(CallReason, ReasonText)
  }

  package var callID: CallID
  package var verdict: Verdict
  /// The program that answers.
  package var presence: PresenceID
  /// r_B, 16 bytes: the callee's part of the short code.
  package var contribution: [UInt8]
  package var offer: CallOffer

  package init(
    callID: CallID, verdict: Verdict, presence: PresenceID = .every, contribution: [UInt8],
    offer: CallOffer
  ) {
    self.callID = callID
    self.verdict = verdict
    self.presence = presence
    self.contribution = contribution
    self.offer = offer
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    callID = try CallID(parsing: &reader)
    let start = reader.offset
    let code = try reader.readUInt8("verdict")
    let reason = CallReason(wire: try reader.readUInt8("reason"))
    let connectionID = try reader.readUInt32("callee's connection ID")
    presence = try PresenceID(parsing: &reader)
    contribution = try reader.readBytes(16, "r_B")
    let list = try TLVList(parsing: &reader)
    offer = try CallOffer(list)
    let text = list[.reasonText] ?? []
    guard text.count <= ReasonText.maximumByteCount else {
      throw WireError(.tooLong, "reason text", at: 0)
    }
    guard let words = String(validating: text, as: UTF8.self) else {
      throw .invalid("reason text", at: 0)
    }
    switch code {
    case VerdictCode.accepted where connectionID != 0:
      verdict = .accepted(connectionID: connectionID)
    case VerdictCode.rejected where connectionID == 0:
      verdict = .rejected(reason, ReasonText(clipping: words))
    default: throw .invalid("verdict", at: start)
    }
  }

  package var bytes: [UInt8] {
    var bytes = callID.bytes
    var list = offer.list
    switch verdict {
    case .accepted(let connectionID):
      bytes.append(contentsOf: [VerdictCode.accepted, CallReason.none.rawValue])
      bytes.append(littleEndian: connectionID)
    case .rejected(let reason, let text):
      bytes.append(contentsOf: [VerdictCode.rejected, reason.rawValue])
      bytes.append(littleEndian: UInt32(0))
      if !text.isEmpty { list.append(.reasonText, Array(text.wire.utf8)) }
    }
    presence.write(to: &bytes)
    bytes.append(contentsOf: contribution)
    list.write(to: &bytes)
    return bytes
  }

  private enum VerdictCode {
    static let accepted: UInt8 = 1
    static let rejected: UInt8 = 2
  }
}
