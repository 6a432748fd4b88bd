internal import Cryptography
package import Primitives
package import SecureSession

/// A sender's key on its way to one member: one Noise X message to the member's device static key
/// (docs/protocol/sframe.md §4).
package struct KeyEnvelope: ~Copyable {
  /// e 32, sealed s 48, sealed content 98.
  package static let byteCount = 32 + 48 + contentByteCount + ChaChaPoly.tagByteCount
  /// Suite 2, generation 4, step 4, base key 32, receipt 16, roster revision 8, roster digest 16.
  static let contentByteCount = 82

  package let key: SenderKey
  /// Random bytes that come back in the clear and prove that the envelope was opened.
  package let receipt: Bytes16
  package let rosterRevision: UInt64
  /// The sender's roster at that revision.
  package let rosterDigest: Bytes16

  package init(
    key: consuming SenderKey, receipt: Bytes16, rosterRevision: UInt64, rosterDigest: Bytes16
  ) {
    self.key = key
    self.receipt = receipt
    self.rosterRevision = rosterRevision
    self.rosterDigest = rosterDigest
  }

  /// Who hands a key to whom, in which channel: the prologue. An envelope of another channel, stay
  /// or pair does not open.
  package struct Parties: Sendable {
    let channel: Bytes32
    let sender: VerifiedMember
    let receiver: VerifiedMember

    package init(channel: Bytes32, sender: VerifiedMember, receiver: VerifiedMember) {
      self.channel = channel
      self.sender = sender
      self.receiver = receiver
    }

    /// "EST1 group key" ‖ channel ‖ for sender, then receiver: ID ‖ uid ‖ join number.
    var prologue: [UInt8] {
      var bytes = Array("EST1 group key".utf8) + channel.bytes
      for member in [sender, receiver] {
        member.id.write(to: &bytes)
        bytes.append(littleEndian: member.uid)
        bytes.append(littleEndian: member.joinNumber)
      }
      return bytes
    }
  }

  /// Seals for `parties.receiver`.
  ///
  /// - Parameter identity: The sender's.
  package borrowing func seal(
    for parties: Parties, by identity: borrowing LocalIdentity, random: inout RandomSource
  ) throws(HandshakeError) -> [UInt8] {
    let prologue = parties.prologue
    var noise = try HandshakeState(
      .x, role: .initiator, prologue: prologue.span,
      keys: HandshakeState.Keys(
        localStatic: identity.staticKey, remoteStatic: parties.receiver.staticKey))
    let content = content()
    return try noise.writeMessage(payload: content.span, random: &random)
  }

  /// Opens with our present static key, the one before, or the next, as INVITE does: the sender's
  /// roster may hold either card.
  ///
  /// - Parameter identity: The receiver's.
  package static func open(
    _ message: Span<UInt8>, for parties: Parties, by identity: borrowing LocalIdentity
  ) throws(KeyMessageError) -> KeyEnvelope {
    guard message.count == byteCount else { throw .malformed }
    do throws(KeyMessageError) {
      return try open(message, parties, identity.staticKey)
    } catch {
      guard error == .notAuthentic else { throw error }
    }
    do throws(KeyMessageError) {
      switch identity.previousStaticKey {
      case .some(let previous): return try open(message, parties, previous)
      case .none: throw .notAuthentic
      }
    } catch {
      guard error == .notAuthentic else { throw error }
      return try open(message, parties, identity.nextStaticKey())
    }
  }

  private static func open(
    _ message: Span<UInt8>, _ parties: Parties, _ key: borrowing X25519.KeyPair
  ) throws(KeyMessageError) -> KeyEnvelope {
    let prologue = parties.prologue
    var content: [UInt8]
    let sender: Bytes32?
    do throws(HandshakeError) {
      var noise = try HandshakeState(
        .x, role: .responder, prologue: prologue.span, keys: HandshakeState.Keys(localStatic: key))
      content = try noise.readMessage(message)
      sender = noise.remoteStatic
    } catch {
      throw .notAuthentic
    }
    defer { Secret.wipe(&content) }
    guard sender == parties.sender.staticKey else { throw .wrongSender }
    do throws(WireError) {
      return try parse(content.span)
    } catch {
      throw .malformed
    }
  }

  private borrowing func content() -> SecretBytes {
    var head: [UInt8] = []
    head.append(littleEndian: SFrameSuite.media.rawValue)
    head.append(littleEndian: key.generation)
    head.append(littleEndian: key.step)
    var tail = receipt.bytes
    tail.append(littleEndian: rosterRevision)
    tail += rosterDigest.bytes
    var content = SecretBytes(zeros: Self.contentByteCount)
    content.replace(from: 0, with: head.span)
    content.replace(from: head.count, with: key.baseKey.span)
    content.replace(from: head.count + SecretKey.byteCount, with: tail.span)
    return content
  }

  private static func parse(_ content: Span<UInt8>) throws(WireError) -> KeyEnvelope {
    var reader = ByteReader(content)
    guard try reader.readUInt16("suite") == SFrameSuite.media.rawValue else {
      throw .invalid("suite", at: 0)
    }
    let generation = try reader.readUInt32("generation")
    let step = try reader.readUInt32("step")
    guard step <= GroupKeyLimits.lastStep else { throw .invalid("step", at: 6) }
    let range = try reader.readRange(SecretKey.byteCount, "base key")
    let receipt = try Bytes16(parsing: &reader, "receipt")
    let revision = try reader.readUInt64("roster revision")
    let digest = try Bytes16(parsing: &reader, "roster digest")
    try reader.expectEnd("envelope")
    guard let baseKey = SecretKey(copying: content.extracting(range)) else {
      throw .invalid("base key", at: range.lowerBound)
    }
    return KeyEnvelope(
      key: SenderKey(generation: generation, step: step, baseKey: baseKey), receipt: receipt,
      rosterRevision: revision, rosterDigest: digest)
  }
}

extension HandshakePattern {
  /// One message to a known static key, by a sender who proves its own (Noise rev. 34 §7.4).
  static let x = HandshakePattern(.x)
}

/// Why a message about keys was dropped. Nothing has changed but a count.
package enum KeyMessageError: Error, Equatable, CaseIterable, Sendable {
  case malformed
  /// The sender is no verified member, or no host.
  case unknownSender
  /// Does not open: another key, channel, stay or pair, or changed bytes.
  case notAuthentic
  /// It opens, but a device static key made it that is not on the sender's card.
  case wrongSender
  /// Too many of this sender in a second.
  case limited
  /// Of a generation that is over.
  case stale
  /// A receipt or a request that fits nothing that we handed out.
  case unexpected
}
