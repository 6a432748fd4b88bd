import Channels
import Congestion
import Cryptography
import Forwarding
package import GroupKeys
package import Primitives
package import SecureSession
package import Wire

/// One member's end of a channel whose audio goes by a relay (docs/protocol/relay.md): the session
/// with the relay, the keys of the channel, sealed audio out and opened audio in. On a socket of
/// its own. Who is in the channel it is told.
package struct ChannelRelayMachine: ~Copyable, DatagramMachine {
  package typealias Event = ChannelRelayEvent

  package let settings: Settings
  var identity: LocalIdentity
  private var random: RandomSource
  var link: RendezvousLink
  var keys: GroupKeyMachine
  var members: RelayedMembers
  var talk: RelayedTalk
  private var revision: UInt64 = 0
  private var role: MemberRole
  private(set) var outbox = RelayedOutbox()
  private(set) var inbox: RelayedInbox
  private let packet = ChannelInbox()
  package let pictures: RelayedPictures?
  /// Whether there is a seat.
  package private(set) var isConnected = false
  private var watch: SilenceWatch
  private var events: [ChannelRelayEvent] = []

  /// - Throws: When the own token is not good for the own role.
  package init(
    _ settings: Settings, identity: consuming LocalIdentity, random: RandomSource, now: Instant
  ) throws(MembershipFault) {
    var random = random
    self.settings = settings
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    members = RelayedMembers(settings.channel, own: settings.own.uid)
    talk = RelayedTalk(messages: RelayedMessages(epoch: unix))
    let card: ContactCard
    do throws(WireError) {
      card = try identity.makeCard(unixSeconds: unix / 1000)
    } catch {
      preconditionFailure("a card without a home always fits")
    }
    let own = try members.verifyOwn(
      settings.own, card, token: settings.token, unixMilliseconds: unix)
    keys = GroupKeyMachine(
      channel: settings.channel.id, member: own, generation: settings.generation,
      random: random.split())
    role = settings.own.role
    pictures = settings.pictures.map { wish in
      var video = wish.video
      video.sends = video.sends && settings.own.role == .host
      return RelayedPictures(video, receives: wish.receives)
    }
    var configuration = settings.link
    configuration.followsNodes = false
    link = RendezvousLink(
      configuration, presence: Presence(PresenceID(random: &random), .guest),
      random: random.split())
    inbox = RelayedInbox(capacity: configuration.limits.receivedAudio)
    watch = SilenceWatch(chance: random.unit(), now: now)
    self.random = random
    self.identity = identity
    if !settings.grant.suits(role) { publish(.grantNeeded) }
    link.start(now: now, identity: &self.identity)
    keys.startPublishing()
    settle(now: now)
  }

  // MARK: - Inputs

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    switch Demultiplexer.classify(bytes.span) {
    case .foreign: return
    case .control:
      link.handleControl(
        bytes.span, from: source, to: marks.local, now: now, identity: &identity)
    case .sealed(let id):
      guard link.owns(id) else { return }
      link.receive(
        &bytes, from: source, marks: marks, now: now, identity: &identity, inbox: packet)
      readPacket(now: now)
      if isConnected, link.association?.lastReceived == now, watch.handlePacket(now: now) {
        publish(.connected)
      }
    }
    settle(now: now)
  }

  package mutating func handleTimeout(now: Instant) {
    link.handleTimeout(now: now, identity: &identity, isInCall: true)
    keys.handleTimeout(now: now)
    handlePictureTimeout(now: now)
    talk.seats.handleTimeout(lastReceived: link.association?.lastReceived)
    handleMessageTimeout(now: now)
    if isConnected {
      if watch.popQuestion(now: now) { link.association?.ping() }
      if watch.handleTimeout(roundTrip: smoothedRoundTrip, now: now) { publish(.lost) }
    }
    settle(now: now)
  }

  // MARK: - Commands

  /// The roster of the channel has changed.
  ///
  /// - Parameters:
  ///   - isExact: Whether it is that of the revision, and nobody is on it who may come back.
  ///   - departures: Why members are gone, where they did not just leave.
  package mutating func handleRoster(
    _ roster: [ChannelMember], revision: UInt64, isExact: Bool = true,
    departures: [UInt32: Departure] = [:], now: Instant
  ) {
    self.revision = max(self.revision, revision)
    members.isExact = isExact
    keys.setComplete(false, revision: self.revision)
    let ids = Dictionary(roster.map { ($0.uid, $0.id) }) { first, _ in first }
    for uid in members.handleRoster(roster, as: role, now: now) {
      keys.handleLeave(
        uid, departures[uid] ?? .left, successor: ids[uid], revision: self.revision, now: now)
      forgetMedia(of: uid)
      publish(talk.remove(uid), of: uid)
    }
    watch.handleRoster(roster, own: settings.own.uid, now: now)
    settle(now: now)
  }

  /// The tokens that members have shown, in a channel with a key.
  package mutating func handleTokens(_ proofs: [UInt32: PeerChannels.Proof], now: Instant) {
    for (uid, proof) in proofs {
      members.handleToken(proof.token, of: uid, joinNumber: proof.joinNumber)
    }
    settle(now: now)
  }

  /// A newer grant. One for another relay is nothing to this machine.
  package mutating func renew(_ grant: ChannelRelayGrant, now: Instant) {
    guard grant.relay == settings.grant.relay else { return }
    link.renewToken(grant.token, now: now, identity: &identity)
    if !grant.suits(role) { publish(.grantNeeded) }
    settle(now: now)
  }

  /// Our own role is another one. Who only listens from now on is silent at once; who may publish
  /// does as soon as the relay has seen a grant that says so, which is asked for.
  ///
  /// - Parameter token: The one that the rendezvous has, in a channel with a key.
  package mutating func handleRole(_ role: MemberRole, token: [UInt8], now: Instant) {
    guard role != self.role else { return }
    var own = settings.own
    own.role = role
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    do {
      let card = try identity.makeCard(unixSeconds: unix / 1000)
      let member = try members.verifyOwn(own, card, token: token, unixMilliseconds: unix)
      try keys.handleJoin(member, revision: revision, now: now)
    } catch {
      return  // The token does not permit it: the role is what it was.
    }
    self.role = role
    if role == .audience { outbox.removeAll() }
    if settings.pictures?.video.sends == true {
      pictures?.setSends(role == .host, on: link.association)
    }
    publish(.grantNeeded)
    settle(now: now)
  }

  /// Seals one Opus packet and queues it.
  ///
  /// - Returns: `false` where we publish nothing, or it is too long.
  package mutating func sendAudio(
    _ payload: Span<UInt8>, _ label: ChannelAudioLabel, now: Instant
  ) -> Bool {
    isConnected && outbox.seal(payload, label, with: &keys)
  }

  /// Shows the oldest body of a host to `take`, and then removes it; `nil` when there is none.
  package mutating func pollAudio<Result>(
    of uid: UInt32, _ take: (Span<UInt8>, ReceivedAudio) -> Result
  ) -> Result? {
    inbox.poll(of: uid, take)
  }

  /// A host is heard by a call.
  package mutating func handleCall(with uid: UInt32, now: Instant) {
    inbox.handleCall(with: uid, now: now)
  }

  /// What has come of hosts by the relay before this one.
  package mutating func takeOver(_ hosts: RelayedHosts) { inbox.former = hosts }

  /// Says CLOSE; done when `isQuiet`.
  package mutating func shutDown(now: Instant) {
    isConnected = false
    keys.stopPublishing()
    link.shutDown(now: now)
  }

  /// A host is gone, or listens now: what comes of it later begins anew.
  package mutating func forgetMedia(of uid: UInt32) {
    inbox.remove(uid)
    pictures?.remove(uid)
  }

  // MARK: - Outputs

  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if isConnected, let association = link.association, !association.isClosing {
      Session.beginPacket(&packet)
      let start = packet.count
      let isMedia = outbox.hasFrame
      if isMedia {
        outbox.write(
          copies: RelayedOutbox.copyCount(loss: association.history.quality.lossFraction),
          limit: Self.frameRoom, into: &packet)
      } else {
        writeWords(into: &packet, now: now)
      }
      if isMedia { watch.handleSent(now: now) }
      if packet.count > start,
        association.seal(&packet, elicits: isMedia, hasMessages: false, now: now)
      {
        if isMedia { outbox.recordSent(byteCount: packet.count, on: association, now: now) }
        return link.sessionPath
      }
      packet.removeAll()
      if pictures?.write(into: &packet, on: association, now: now) == true {
        return link.sessionPath
      }
    }
    if let path = writeFirstQuestions(into: &packet, now: now) { return path }
    if let path = link.pollTransmit(into: &packet, now: now) { return path }
    guard isConnected, let association = link.association, !association.isClosing,
      pictures?.writePadding(into: &packet, on: association, now: now) == true
    else { return nil }
    return link.sessionPath
  }

  package mutating func pollEvent() -> ChannelRelayEvent? {
    events.isEmpty ? nil : events.removeFirst()
  }

  package var nextDeadline: Instant? {
    var deadline = link.nextDeadline
    if isConnected {
      deadline = earliest(deadline, earliest(keys.nextDeadline, members.nextDeadline))
      deadline = earliest(deadline, talk.nextDeadline)
      deadline = earliest(deadline, watch.nextDeadline(roundTrip: smoothedRoundTrip))
      if let pictures, let association = link.association {
        deadline = earliest(deadline, pictures.nextDeadline(on: association))
      }
    }
    return deadline
  }

  // MARK: - Getters

  /// Frames opened, and such that did not open.
  package var counts: (opened: UInt64, unopened: UInt64, sent: UInt64) {
    (inbox.openedCount, inbox.unopenedCount, outbox.sentCount)
  }

  private mutating func readPacket(now: Instant) {
    var copies: [(frame: ChannelCopyFrame, sealed: PacketRange)] = []
    var pictured: UInt8 = 0
    for frame in packet.frames {
      switch frame {
      case .channelSource(let source): inbox.handleSource(source)
      case .channelUnsent(let word): publish(inbox.handleUnsent(word, last: packet.frames.last))
      case .channelCopy(let copy, let sealed): copies.append((copy, sealed))
      case .channelAudio(let audio, let sealed):
        guard let uid = inbox.owner(of: audio.source) else { continue }
        talk.seats.noteSign(of: uid, now: now)
        watch.handleMedia(isSilent: audio.label.isSilent, now: now)
        let found = inbox.receive(
          audio, sealed: sealed, copies: copies, from: uid, packet, keys: &keys, now: now)
        if found.isFirst { publish(.firstFrame(uid: uid)) }
        if found.isNews { publish(.audioArrived(uid: uid)) }
        if found.isOpened, talk.mutes.handleSound(of: uid, now: now) {
          publish(.audioMuted(uid: uid, isMuted: false))
        }
      case .channelKey(let uid, let range):
        readKey(packet.bytes(at: range), of: uid, now: now)
      case .channelCard(let uid, let range):
        members.handleCard(packet.bytes(at: range), of: uid)
        talk.seats.noteSign(of: uid, now: now)
      case .channelPicture(let source): pictured = source
      case .video(let picture, let payload):
        watch.handleMedia(isSilent: true, now: now)
        handlePicture(picture, at: payload, in: packet.packet, source: pictured, now: now)
      case .videoNack, .channelWants, .channelLow:
        handlePictureWord(frame, in: packet.packet, now: now)
      default: break
      }
    }
    packet.removeAll()
  }

  private mutating func readKey(_ bytes: [UInt8], of uid: UInt32, now: Instant) {
    if bytes.first == MuteWord.messageType || bytes.first == MediaWord.messageType {
      for event in talk.read(bytes, of: uid, &keys, now: now) { publish(event) }
      return
    }
    do throws(KeyMessageError) {
      try keys.handleMessage(bytes.span, from: uid, identity: identity, now: now)
    } catch {  // Counted by the keys: `GroupKeyCounters`.
      if error == .unknownSender { members.keepMessage(bytes, of: uid, now: now) }
    }
  }

  private mutating func settle(now: Instant) {
    let wasConnected = isConnected
    while let event = link.pollEvent() { handle(event, now: now) }
    settleMessages()
    if isConnected, !wasConnected { talk.restart(now: now) }
    let unix = UInt64(clamping: settings.wallClockAtZero) &+ now.nanoseconds / 1_000_000
    while let news = talk.seats.popNews() {
      publish(.seatChanged(uid: news.uid, isSeated: news.isSeated))
    }
    while let member = members.popVerified(unixMilliseconds: unix) {
      talk.add(member.uid, now: now)
      do throws(GroupKeyError) {
        try keys.handleJoin(member, revision: revision, now: now)
      } catch {
        continue  // One more than there may be: it hears nothing.
      }
      if let message = members.popMessage(of: member.uid) {
        readKey(message, of: member.uid, now: now)
      }
    }
    keys.setComplete(members.isComplete, revision: revision)
    while let event = keys.pollEvent() {
      if case .rosterDiffers(let uid) = event { publish(.rosterDiffers(uid: uid)) }
    }
  }

  private mutating func handle(_ event: RendezvousLink.Event, now: Instant) {
    switch event {
    case .channelData(let data): receive(data, now: now)
    case .registration(.registered) where link.association?.isClosing == false:
      isConnected = true
      watch.restart(now: now)
      inbox.restart(isTold: tellsUnsent)
      if let association = link.association {
        association.recorder.interval = FeedbackRecorder.audioInterval  // Until pictures come.
        pictures?.open(on: association, knowsLow: link.standing.terms?.payload.hasPairs ?? false)
      }
      publish(.connected)
      startPublishing()
    case .registration(.reconnecting), .registration(.failed(.noAnswer)),
      .registration(.failed(.longPacketsLost)), .registration(.failed(.notUnderstood)):
      if isConnected, !watch.isLost { publish(.lost) }
      isConnected = false
      publish(.grantNeeded)
    case .registration(.failed(let failure)):
      isConnected = false
      publish(.refused(GrantRefusal(failure)))
    case .token(.willExpire): publish(.grantNeeded)
    case .token(.refused(let fault)): publish(.refused(GrantRefusal(.token(fault))))
    case .token(.renewed): startPublishing()
    default: break
    }
  }

  /// The relay has seen a grant: as far as we know the newest one.
  private mutating func startPublishing() {
    guard isConnected, role == .host else { return }
    keys.startPublishing()
    publish(.publishing)
  }

  mutating func publish(_ event: ChannelRelayEvent?) {
    guard let event else { return }
    // What became of an own message is told in any case: once each.
    if case .messageFinished = event { return events.append(event) }
    if events.count < Self.eventLimit { events.append(event) }
  }

  private static let frameRoom = Datagram.maximumByteCount - SealedPacket.tagByteCount
  private static let eventLimit = 1024
}
