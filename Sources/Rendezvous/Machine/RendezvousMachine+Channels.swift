import Channels
import Forwarding
package import Primitives
package import Wire

/// Who is in which channel (docs/protocol/channels.md): carries what clients and the
/// `ChannelDirectory` say to each other.
extension RendezvousMachine {
  /// - Parameter address: Where the program is, whose session may be at another node.
  mutating func handle(
    _ request: ChannelRequest, from program: ChannelProgram, at address: SocketAddress,
    mayCheck: Bool, now: Instant
  ) {
    keepBans(now: now)
    channels.handle(
      request, from: program, at: address, mayCheck: mayCheck, settings, &limiter, now: now)
    sendChannelNotices(now: now)
    keepBans(now: now)
  }

  /// A rendezvous says that members of this relay have lost the right to their seats.
  package mutating func endSeats(_ seats: [EndedSeat], now: Instant) {
    let time = settings.unixMilliseconds(now)
    for seat in seats {
      guard let slot = channels.hub?.end(seat, unixMilliseconds: time) else { continue }
      close(slot, .tokenExpired, .tokenExpired, now: now)
    }
  }

  fileprivate mutating func keepBans(now: Instant) {
    do throws(StoreFailure) {
      let time = settings.unixMilliseconds(now)
      if try channels.keepBans(in: store, unixMilliseconds: time, now: now) { noteWrite(now: now) }
    } catch {
      noteStoreFailure(error)
    }
  }

  mutating func driveChannels(now: Instant) {
    guard let due = channels.ownDeadline, due <= now else { return }
    channels.handleTimeout(settings, now: now)
    sendChannelNotices(now: now)
  }

  /// Checking or making a token takes as long as 50 look-ups: both count against one rate.
  mutating func mayCheckToken(
    _ request: ChannelRequest, of slot: UInt32, now: Instant
  ) -> Bool {
    guard request.costsSignature else { return true }
    return registry[slot].lookUps.admit(limits.lookUpsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeLookUp(of: registry[slot].address, now: now)
  }

  mutating func sendChannelNotices(now: Instant) {
    ChannelService.sendNotices(of: &self, now: now)
    sendRelayNews(now: now)
  }

  /// Tells relays of seats that are over.
  mutating func sendRelayNews(now: Instant) {
    ChannelService.passRelayNews(of: &self, now: now)
    ChannelService.tellRelays(of: &self, now: now)
  }
}

extension ChannelService {
  /// Sends relays what is for them. What is too much for the queue of one waits for its turn.
  fileprivate static func tellRelays(of machine: inout RendezvousMachine, now: Instant) {
    if let due = machine.channels.relays.nextDeadline, due > now { return }
    var unsent: [(slot: UInt32, seats: SeatsEnded)] = []
    var full: Set<UInt32> = []
    for (slot, seats) in machine.channels.relays.pollNews() {
      let bytes = full.contains(slot) ? [] : RendezvousMessage.seatsEnded(seats).bytes
      if bytes.isEmpty || machine.send(bytes, to: slot, life: AnswerTerms.life, now: now) == nil {
        full.insert(slot)
        unsent.append((slot, seats))
      }
    }
    if !unsent.isEmpty { machine.channels.relays.keepNews(unsent, now: now) }
  }

  /// Another node keeps an identity out of a channel.
  static func keepOut(_ ban: StoredBan, in machine: inout RendezvousMachine, now: Instant) {
    let time = machine.settings.unixMilliseconds(now)
    machine.channels.keepOut(ban, unixMilliseconds: time, now: now)
    machine.sendChannelNotices(now: now)
  }

  /// The bans that all nodes have.
  static func merge(_ bans: [StoredBan], in machine: inout RendezvousMachine, now: Instant) {
    let time = machine.settings.unixMilliseconds(now)
    machine.channels.merge(bans, unixMilliseconds: time, now: now)
    machine.sendChannelNotices(now: now)
  }

  /// Writes down bans of the time without Redis.
  static func keepNewBans(in machine: inout RendezvousMachine, now: Instant) {
    if machine.channels.directory.newBan != nil { machine.keepBans(now: now) }
  }
}

extension SealedChannelMessage {
  /// A host's message goes to all others that have a seat.
  func pass(
    from slot: UInt32, in machine: inout RendezvousMachine, now: Instant
  ) throws(WireError) {
    guard let hub = machine.channels.hub, uid == 0 else {
      throw .invalid("message that only a relay sends", at: 0)
    }
    guard let (uid, slots) = hub.takeData(byteCount: frame.count, of: slot, now: now) else {
      return
    }
    let bytes = RendezvousMessage.channelData(SealedChannelMessage(uid: uid, frame: frame)).bytes
    for other in slots {
      let isSent = machine.send(bytes, to: other, life: AnswerTerms.life, now: now) != nil
      if !isSent { machine.counters.answersDropped &+= 1 }
    }
  }
}
