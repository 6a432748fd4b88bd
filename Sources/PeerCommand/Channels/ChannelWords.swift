package import Earshot
internal import Primitives
internal import Reactor

/// What happens in a channel, in sentences.
enum ChannelWords {
  /// - Parameter names: Of the members.
  static func sentence(
    _ step: ChannelStep, in name: ChannelName, _ names: RoomNames = RoomNames()
  ) -> String? {
    switch step {
    case .stateChanged(.reconnecting, _): "No contact with the channel for 4 s; it is being tried."
    case .joined(let uid, _): "In \(name.shortText), with uid \(uid)."
    case .rejoined: "Contact with the channel is back."
    case .left: "Left \(name.shortText)."
    case .userJoined, .userOffline, .audienceJoined, .audienceLeft: comings(step, names)
    case .roleChanged(_, let role): "The own role is \(role.rawValue) now."
    case .roleChangeFailed(let reason, let role):
      "The own role stays \(role.rawValue): \(text(of: reason))."
    case .contactLost: "No contact with the channel for 10 s; it is still being tried."
    case .tokenWillExpire(let left): "The token ends in \(left.milliseconds / 1000) s."
    case .tokenNeeded: "Another token is needed."
    case .tokenRenewed: "The newer token is accepted."
    case .tokenRefused(let reason): "The newer token is not accepted: \(text(of: reason))."
    case .removalFinished(let uid, nil): "\(names.name(uid)) was removed."
    case .removalFinished(let uid, .some(let reason)):
      "\(names.name(uid)) was not removed: \(text(of: reason))."
    case .memberChecked(let uid, isGenuine: false):
      "The token of \(names.name(uid)) is not genuine."
    case .relayUnavailable: "No relay is registered with the rendezvous."
    case .stateChanged, .memberChecked, .memberReturned, .relayGranted: nil
    }
  }

  /// Who comes and goes. Another program of the own identity, or one that has died, is nobody who
  /// came or left.
  private static func comings(_ step: ChannelStep, _ names: RoomNames) -> String? {
    switch step {
    case .userJoined(let user, _) where names.isOwn(user.uid),
      .audienceJoined(let user) where names.isOwn(user.uid):
      "The own identity is there once more, with uid \(user.uid)."
    case .userOffline(let uid, _) where names.isOwn(uid),
      .audienceLeft(let uid, _) where names.isOwn(uid):
      "The other stay of the own identity, with uid \(uid), has ended."
    case .userJoined(let user, _):
      names.pinned(user.uid).map { "\($0) is there, as host \(user.uid)." }
        ?? "Host \(user.uid) is there (\(user.id))."
    case .userOffline(let uid, let reason): "\(names.host(uid)) is gone: \(text(of: reason))."
    case .audienceJoined(let user):
      names.pinned(user.uid).map { "\($0) listens, as \(user.uid)." }
        ?? "\(user.uid) listens (\(user.id))."
    case .audienceLeft(let uid, let reason):
      "\(names.name(uid)) listens no more: \(text(of: reason))."
    default: nil
    }
  }

  /// What a relay has against us, and what is done.
  static func sentence(_ refusal: RelayRefusal, _ way: ChannelMedia.Way) -> String {
    switch refusal {
    case .relayFull:
      way == .relayOnly
        ? "The relay has no room for us; it is asked again."
        : "The relay has no room for us; host to host meanwhile, and it is asked again."
    case .grantEnded: "The grant for the relay has ended; another one is asked for."
    case .grantForeign: "The relay does not accept the grant; another one is asked for."
    }
  }

  /// Why there is no room for calls of each with each, and what to do.
  static func refusal(members: Int, _ way: ChannelMedia.Way, isRelayFull: Bool) -> String {
    let most = ChannelMedia.mostWithoutRelay
    if isRelayFull {
      return "the relay has no room, \(members) members are there, and without it at most \(most) "
        + "can talk; wait until some have left, or let its operator raise --limit-seats"
    }
    return way == .mesh
      ? "\(members) members are there, and host to host at most \(most) can talk, as each calls "
        + "each; leave out --mesh where a relay is there, or wait until some have left"
      : "\(members) members are there, and without a relay at most \(most) can talk; run "
        + "earshot-relay, or wait until some have left"
  }

  static func sentence(_ fallback: PictureFallback) -> String {
    switch fallback {
    case .usual: "The line carries the usual pictures again."
    case .lowStream: "The line from the relay carries low streams alone."
    case .audioOnly: "The line from the relay carries sound alone."
    }
  }

  /// The exit code where it ends a stay.
  static func code(of reason: ChannelReason) -> ExitCode {
    switch reason {
    case .tokenNeeded, .tokenRefused, .tokenExpired, .notPermitted: .identity
    case .contactLost: .unreachable
    default: .refused
    }
  }

  /// What happens at the relay to one host, or to pictures.
  static func sentence(_ step: ChannelRelayStep, _ names: RoomNames = RoomNames()) -> String {
    switch step {
    case .audioMuted(let uid, true): "\(names.host(uid)) keeps its sound back."
    case .audioMuted(let uid, false): "\(names.host(uid)) is to be heard again."
    case .seatChanged(let uid, true): "\(names.name(uid)) is at the relay again."
    case .seatChanged(let uid, false): "\(names.name(uid)) has left the relay."
    case .rosterDiffers(let uid):
      "\(names.host(uid)) sees other members than we do, and somebody may listen: compare the "
        + "fingerprint."
    case .picturesPaused(let uid, true):
      "\(names.host(uid)) shows no pictures: its line does not hold them, or it keeps them back."
    case .picturesPaused(let uid, false): "\(names.host(uid)) shows pictures again."
    case .publishFallback(let change): VideoMessages.sentence(change)
    case .subscribeFallback(let pictures): sentence(pictures)
    default: ""
    }
  }

  static func text(of reason: ChannelReason) -> String {
    switch reason {
    case .joining: "joining"
    case .joinSucceeded, .rejoinSucceeded: "joined"
    case .interrupted: "no contact"
    case .contactLost: "no contact for 20 minutes"
    case .left: "left"
    case .dropped: "not heard any more"
    case .becameAudience: "listens from now on"
    case .tokenExpired: "the token has ended"
    case .removed: "removed"
    case .banned: "banned"
    case .replaced: "a newer member has the uid"
    case .notPermitted: "the token does not permit it"
    case .tooManyHosts: "as many hosts are there as may be"
    case .channelFull: "the channel is full"
    case .tooManyChannels: "in as many channels as may be"
    case .uidTaken: "somebody else has the uid"
    case .tooManyRequests: "asked for too often"
    case .unknownMember: "nobody has that uid"
    case .noRelay: "no relay is registered"
    case .wrongChannel: "name and key do not belong together"
    case .tokenNeeded: "a token is needed"
    case .tokenRefused: "the token is not accepted"
    }
  }
}

extension ChannelName {
  /// Without the key.
  var shortText: String { "\(description.prefix { $0 != "@" })" }
}

/// What the members of a channel are called in sentences: by the name that their identity is pinned
/// under, and by their uid.
package struct RoomNames {
  /// Who has or had a uid.
  private struct Entry {
    let id: PeerID
    let name: String?
  }

  private let own: PeerID?
  private let pins: () -> [PeerID: String]
  private var entries: [UInt32: Entry] = [:]
  /// The pins, and when they were read.
  private var known: (names: [PeerID: String], at: Instant)?

  /// - Parameters:
  ///   - own: The own identity.
  ///   - pins: Reads which name each identity is pinned under.
  package init(own: PeerID? = nil, pins: @escaping () -> [PeerID: String] = { [:] }) {
    self.own = own
    self.pins = pins
  }

  // MARK: - Inputs

  /// Somebody is there.
  package mutating func add(_ user: ChannelUser, now: Instant = SystemClock.now) {
    let name = user.id == own ? nil : names(now: now)[user.id]
    guard entries.count < Self.most || entries[user.uid] != nil else { return }
    entries[user.uid] = Entry(id: user.id, name: name)
  }

  /// It is there no more, and that was told.
  package mutating func remove(_ uid: UInt32) { entries[uid] = nil }

  // MARK: - Getters

  /// Whether it is another stay of the own identity.
  package func isOwn(_ uid: UInt32) -> Bool { own != nil && entries[uid]?.id == own }

  /// `alice`; `nil` for whom nobody is pinned.
  package func pinned(_ uid: UInt32) -> String? { entries[uid]?.name }

  /// `alice (5)`, or `5`.
  package func name(_ uid: UInt32) -> String { pinned(uid).map { "\($0) (\(uid))" } ?? "\(uid)" }

  /// `alice (5)`, or `Host 5`.
  package func host(_ uid: UInt32) -> String { pinned(uid) == nil ? "Host \(uid)" : name(uid) }

  // MARK: - Parts

  private mutating func names(now: Instant) -> [PeerID: String] {
    if let known, now < known.at + Self.pace { return known.names }
    let names = pins()
    known = (names, now)
    return names
  }

  /// As many as a channel has members.
  private static let most = 4096
  /// The pins are read no more often: a thousand may come at once.
  private static let pace = Duration.seconds(2)
}

/// What is said while no relay is registered with the rendezvous: once that it is so, and where it
/// is waited for, later what is to be done. Pure.
package struct MissingRelay {
  private var since: Instant?
  private var hasAdvised = false

  package init() {}

  /// The rendezvous has answered that it knows of none.
  package mutating func words(_ way: ChannelMedia.Way, now: Instant) -> String? {
    let isWaitedFor = way == .relayOnly
    guard let since else {
      self.since = now
      return "No relay is registered with the rendezvous\(isWaitedFor ? "; it is waited for" : "")."
    }
    guard isWaitedFor, !hasAdvised, now >= since + Self.patience else { return nil }
    hasAdvised = true
    return """
      Still no relay, and nobody is heard. One that runs is named by --rendezvous of earshot-relay, \
      with its ID in the file of --relay-key of earshot-rendezvous. Without --relay-only members \
      are called host to host.
      """
  }

  /// A relay that is started together with the rendezvous is registered by then.
  private static let patience = Duration.seconds(10)
}
