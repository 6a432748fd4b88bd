internal import Cryptography
package import Primitives
package import SecureSession
package import Wire

/// The keys of one channel at one member (docs/protocol/sframe.md): who may hear us, whom we can
/// hear, and the frames themselves.
///
/// It hands our key to nobody but a `VerifiedMember`. Time, chance and identity are arguments; what
/// it wants sent comes out of `pollMessage`.
package struct GroupKeyMachine: ~Copyable {
  private let limits: GroupKeyLimits
  private var random: RandomSource
  private var roster: KeyRoster
  private var own: OwnKeys
  /// Hosts among the members.
  private var senders: [UInt32: RemoteSender] = [:]
  /// Members that were hosts earlier in their stay: what they sealed then opens no second time.
  private var formerSenders: [UInt32: RemoteSender] = [:]
  private var answers: [OutgoingKeyMessage] = []
  private var events: [GroupKeyEvent] = []
  private let aes = AESCounterMode()
  package private(set) var counters = GroupKeyCounters()

  /// - Parameters:
  ///   - channel: What tells this channel from others: 32 bytes that all members know.
  ///   - member: Ourselves.
  ///   - generation: Of our first key: above all that we had in this stay.
  package init(
    channel: Bytes32, member: VerifiedMember, generation: UInt32 = 0, random: RandomSource,
    limits: GroupKeyLimits = GroupKeyLimits()
  ) {
    var random = random
    self.limits = limits
    roster = KeyRoster(channel: channel, own: member, historyLimit: limits.revisions)
    own = OwnKeys(limits: limits, generation: generation, random: random.split())
    self.random = random
  }

  // MARK: - Inputs

  /// A member has come, or something of it has changed: role, card, or its stay.
  ///
  /// - Parameter revision: Of the roster after this change; never falls.
  package mutating func handleJoin(
    _ member: VerifiedMember, revision: UInt64, now: Instant
  ) throws(GroupKeyError) {
    guard member.uid != roster.own.uid else {
      guard member.id == roster.own.id else { throw .ownUID }
      if member.role == .audience { own.stop() }
      return roster.insert(member, revision: revision)
    }
    let before = roster[member.uid]
    try checkRoom(for: member, before)
    if let before, !before.isSameStay(as: member) {
      handleLeave(member.uid, .left, revision: revision, now: now)
    }
    let isNew = roster[member.uid] == nil
    roster.insert(member, revision: revision)
    if member.role == .audience {
      if let former = senders.removeValue(forKey: member.uid) {
        former.keys.close()
        formerSenders[member.uid] = former
      }
    } else if senders[member.uid] == nil {
      senders[member.uid] =
        formerSenders.removeValue(forKey: member.uid) ?? RemoteSender(limits: limits)
    }
    if isNew {
      own.add(member.uid, now: now)
    } else if before?.staticKey != member.staticKey {
      _ = own.sealAnew(member.uid, now: now)
    }
    compareRosters()
  }

  /// A member is gone. Its keys are erased, and ours are replaced if it holds one.
  ///
  /// - Parameter successor: Who has its uid now, if somebody has. Another identity takes a uid by
  ///   a token that names it: for the one before that is a removal.
  package mutating func handleLeave(
    _ uid: UInt32, _ departure: Departure, successor: PeerID? = nil, revision: UInt64,
    now: Instant
  ) {
    let audienceCount = roster.audienceCount
    guard let member = roster.remove(uid, revision: revision) else { return }
    senders[uid] = nil
    formerSenders[uid] = nil
    answers.removeAll { $0.recipient == uid }
    let isTaken = departure == .replaced && (successor ?? member.id) != member.id
    own.remove(uid, isTaken ? .removed : departure, audienceCount: audienceCount, now: now)
    handleOwnTimeout(now: now)
    compareRosters()
  }

  /// Members of the channel's roster are to be verified yet, or all of a revision were handed in:
  /// only then rosters are compared (docs/protocol/sframe.md §5).
  package mutating func setComplete(_ isComplete: Bool, revision: UInt64) {
    roster.setComplete(isComplete, revision: revision)
    if isComplete { compareRosters() }
  }

  /// A message about keys has come.
  ///
  /// - Parameters:
  ///   - uid: Of the member that sent it, as its carrier says; a lie makes an envelope fail.
  ///   - identity: Our own, whose static keys open envelopes.
  package mutating func handleMessage(
    _ bytes: Span<UInt8>, from uid: UInt32, identity: borrowing LocalIdentity, now: Instant
  ) throws(KeyMessageError) {
    do throws(KeyMessageError) {
      guard let member = roster[uid] else { throw .unknownSender }
      switch try Self.parse(bytes) {
      case .key(let envelope):
        try handleEnvelope(envelope.span, from: member, identity: identity, now: now)
      case .receipt(let generation, let receipt):
        guard own.acknowledge(uid, generation: generation, receipt) else { throw .unexpected }
      case .request:
        guard own.sealAnew(uid, now: now) else { throw .unexpected }
      }
    } catch {
      counters.recordDrop(error)
      throw error
    }
  }

  /// Time has passed `nextDeadline`.
  package mutating func handleTimeout(now: Instant) {
    handleOwnTimeout(now: now)
    for uid in senders.keys.sorted() {
      guard let sender = senders[uid] else { continue }
      sender.keys.forget(now: now)
      if sender.popRequest(now: now) { answer(uid, .request) }
    }
  }

  // MARK: - Commands

  /// Makes our key and hands it to all members. Does nothing for an audience.
  package mutating func startPublishing() {
    guard roster.own.role == .host else { return }
    own.start(for: roster.members.map(\.uid))
  }

  /// Erases our key. Nobody is told: frames end.
  package mutating func stopPublishing() { own.stop() }

  /// Seals `frame[text]` in place under the next counter of our key.
  ///
  /// - Parameters:
  ///   - text: The plain text, with room for `headerRoom` bytes before and `tagByteCount` behind.
  ///   - metadata: What the relay sees of the frame and may not change.
  /// - Returns: Where the sealed frame stands.
  @_lifetime(frame: copy frame)
  package mutating func seal(
    _ frame: inout MutableSpan<UInt8>, text: Range<Int>, metadata: Span<UInt8>
  ) throws(SFrameError) -> Range<Int> {
    try own.seal(&frame, text: text, metadata: metadata, with: aes)
  }

  /// Opens the sealed frame at `place` of `packet`, in place.
  ///
  /// - Parameters:
  ///   - uid: Of the member who sent it, as the relay says; a lie makes it fail.
  ///   - metadata: As it was sealed with.
  /// - Returns: Where the plain text stands.
  @_lifetime(packet: copy packet)
  package mutating func open(
    _ packet: inout MutableSpan<UInt8>, at place: Range<Int>, from uid: UInt32,
    metadata: Span<UInt8>, now: Instant
  ) throws(SFrameError) -> Range<Int> {
    guard let sender = senders[uid] else { throw .unknownSender }
    do throws(SFrameError) {
      return try sender.keys.open(&packet, at: place, metadata: metadata, now: now, with: aes)
    } catch {
      if error == .unknownKey {
        sender.recordMissingKey(ofFew: roster.members.count <= limits.few, now: now)
      }
      throw error
    }
  }

  // MARK: - Outputs

  /// The next message to send; call until `nil`. Envelopes are sealed here, one a call, so that the
  /// owner decides how many at a time: each takes 0.1 ms (`SFramePath`).
  package mutating func pollMessage(
    identity: borrowing LocalIdentity, now: Instant
  ) -> OutgoingKeyMessage? {
    if !answers.isEmpty { return answers.removeFirst() }
    while let due = own.popDue() {
      guard let member = roster[due.uid],
        let envelope = seal(due, for: member, identity: identity)
      else { continue }
      own.recordSent(
        due.uid, generation: due.key.generation, envelope: envelope, now: now)
      return OutgoingKeyMessage(recipient: due.uid, bytes: KeyMessage.key(envelope).bytes)
    }
    return nil
  }

  package mutating func pollEvent() -> GroupKeyEvent? {
    events.isEmpty ? nil : events.removeFirst()
  }

  package var nextDeadline: Instant? {
    senders.values.reduce(own.nextDeadline) { earliest($0, $1.nextDeadline) }
  }

  // MARK: - Getters

  /// Who may hear, as all members should see it.
  package var fingerprint: RosterFingerprint { roster.fingerprint }
  package var isPublishing: Bool { own.isPublishing }
  /// Verified members beside us.
  package var memberCount: Int { roster.members.count }
  /// Generation and ratchet step of the key that seals; `nil` while we publish nothing.
  package var keyInUse: (generation: UInt32, step: UInt32)? { own.inUse }
  /// That of the key which would be made next.
  package var nextGeneration: UInt32 { own.nextGeneration }
  /// How often we made a fresh key.
  package var freshKeyCount: Int { own.freshCount }
  /// Most bytes that a frame's header takes: config byte, KID of 7, CTR of 2.
  package static var headerRoom: Int { SFrameHeader.maximumByteCount }
  package static var tagByteCount: Int { SFrameSuite.media.tagByteCount }
}

// MARK: - Parts

extension GroupKeyMachine {
  private mutating func handleEnvelope(
    _ envelope: Span<UInt8>, from member: VerifiedMember, identity: borrowing LocalIdentity,
    now: Instant
  ) throws(KeyMessageError) {
    guard let sender = senders[member.uid] else { throw .unknownSender }
    guard sender.admitsEnvelope(now: now) else { throw .limited }
    if let receipt = sender.receipt(again: envelope) { return answer(member.uid, receipt) }
    let parties = KeyEnvelope.Parties(
      channel: roster.channel, sender: member, receiver: roster.own)
    let content = try KeyEnvelope.open(envelope, for: parties, by: identity)
    counters.openedEnvelopes += 1
    let generation = content.key.generation
    let outcome = sender.keys.install(content.key.clone(), now: now)
    guard outcome != .stale else { throw .stale }
    answer(member.uid, sender.record(envelope, content))
    if outcome == .installed {
      report(.keyReceived(from: member.uid, generation: generation))
    }
    compareRosters()
  }

  private mutating func seal(
    _ due: borrowing OwnKeys.Due, for member: VerifiedMember, identity: borrowing LocalIdentity
  ) -> [UInt8]? {
    guard due.envelope.isEmpty else { return due.envelope }
    let content = KeyEnvelope(
      key: due.key.clone(), receipt: due.receipt,
      rosterRevision: roster.isComplete ? roster.revision : 0,
      rosterDigest: roster.fingerprint.digest)
    let parties = KeyEnvelope.Parties(
      channel: roster.channel, sender: roster.own, receiver: member)
    do throws(HandshakeError) {
      let envelope = try content.seal(for: parties, by: identity, random: &random)
      counters.sealedEnvelopes += 1
      return envelope
    } catch {
      // A point of low order, which no verified card has: counted, and the member gets nothing.
      counters.recordDrop(.malformed)
      return nil
    }
  }

  private mutating func handleOwnTimeout(now: Instant) {
    own.handleTimeout(now: now, uids: roster.members.map(\.uid))
  }

  /// Receipts and requests; one of each a member is enough.
  private mutating func answer(_ uid: UInt32, _ message: KeyMessage) {
    let outgoing = OutgoingKeyMessage(recipient: uid, bytes: message.bytes)
    guard answers.count < limits.waiting, !answers.contains(outgoing) else { return }
    answers.append(outgoing)
  }

  private mutating func report(_ event: GroupKeyEvent) {
    if events.count < limits.waiting { events.append(event) }
  }

  private mutating func compareRosters() {
    for uid in senders.keys.sorted() where senders[uid]?.differs(from: roster) == true {
      report(.rosterDiffers(from: uid))
    }
  }

  private func checkRoom(
    for member: VerifiedMember, _ before: VerifiedMember?
  ) throws(GroupKeyError) {
    if before == nil, roster.members.count >= limits.members { throw .tooManyMembers }
    if member.role == .host, before?.role != .host, roster.hostCount >= limits.hosts {
      throw .tooManyHosts
    }
  }

  private static func parse(_ bytes: Span<UInt8>) throws(KeyMessageError) -> KeyMessage {
    do throws(WireError) {
      return try KeyMessage(parsing: bytes)
    } catch {
      throw .malformed
    }
  }
}
