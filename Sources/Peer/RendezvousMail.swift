import Calling
import Messaging
import Primitives
import SecureSession
import Wire

/// What goes to others by the rendezvous, and comes from them: messages that wait for a
/// registration, forwards whose result is to come, and what has come already.
struct RendezvousMail {
  /// A body that the rendezvous was asked to pass on, and that it has not spoken of yet.
  struct Flight {
    let callID: CallID
    let type: SignalType
  }

  private var flights: [(id: ForwardID, flight: Flight)] = []
  private var waiting: [(message: RendezvousMessage, until: Instant)] = []
  private var seenIDs = RecentIDs()
  /// The AUDIENCE of this registration, and of how many changes of the familiars it is; `nil` = it
  /// is to be sent, first or again.
  private var toldAudience: (tag: MessageTag, changeCount: UInt64)?
  /// Of this session, whose ends are asked for.
  private var watched: Set<MessageTag> = []
  private var ends: [(tag: MessageTag, isDelivered: Bool)] = []
  private var hasNewSession = false

  mutating func recordFlight(_ id: ForwardID, about signal: (callID: CallID, type: SignalType)) {
    if flights.count >= Self.flightLimit { flights.removeFirst() }
    flights.append((id, Flight(callID: signal.callID, type: signal.type)))
  }

  /// What a result is about; `nil` if nothing of that number is under way.
  mutating func takeFlight(_ id: ForwardID) -> Flight? {
    flights.firstIndex { $0.id == id }.map { flights.remove(at: $0).flight }
  }

  /// - Parameters:
  ///   - association: `nil` = there is no registration: the message waits for one.
  ///   - limit: How many may wait; the oldest goes.
  mutating func send(
    _ message: RendezvousMessage, on association: Association?, life: Duration, limit: Int,
    now: Instant
  ) {
    guard let association else {
      if waiting.count >= limit { waiting.removeFirst() }
      return waiting.append((message, now + life))
    }
    do throws(MessageError) {
      let bytes = message.bytes
      try association.messages.send(
        bytes, on: .rendezvous, life: life, isUrgent: RendezvousMessage.isUrgent(bytes), now: now)
    } catch {
      // The queue is full: what matters is repeated by whoever asked.
    }
  }

  /// The same, but now or not at all; `popEnd` tells what becomes of it.
  ///
  /// - Returns: `nil` = it is not sent.
  mutating func sendWatched(
    _ message: RendezvousMessage, on association: Association?, life: Duration, now: Instant
  ) -> MessageTag? {
    guard let association else { return nil }
    do throws(MessageError) {
      let tag = try association.messages.send(
        message.bytes, on: .rendezvous, life: life, now: now)
      watched.insert(tag)
      return tag
    } catch {
      return nil  // The queue is full.
    }
  }

  /// What has become of one that is watched.
  mutating func popEnd() -> (tag: MessageTag, isDelivered: Bool)? {
    ends.isEmpty ? nil : ends.removeFirst()
  }

  /// Of those that are watched nothing more will be heard.
  mutating func forgetWatched() { watched = [] }

  /// Whether a session has begun since this was last asked.
  mutating func takeNewSession() -> Bool {
    defer { hasNewSession = false }
    return hasNewSession
  }

  /// AUDIENCE, unless it was said: who may learn that this program is there.
  mutating func send(
    _ familiars: Familiars, of owner: PeerID, on association: Association?, now: Instant
  ) {
    guard toldAudience?.changeCount != familiars.changeCount, let association else { return }
    let marks = familiars.all.map { AudienceMark(of: $0, for: owner) }
    do throws(MessageError) {
      let tag = try association.messages.send(
        RendezvousMessage.audience(Audience(marks)).bytes, on: .rendezvous,
        life: RendezvousLink.messageLife, now: now)
      toldAudience = (tag, familiars.changeCount)
    } catch {
      toldAudience = nil  // The queue is full: it goes when something has left.
    }
  }

  /// What has come, if that is the event. An audience that did not arrive is said again.
  mutating func handleEvent(_ event: MessageEvent) -> [UInt8]? {
    switch event {
    case .received(_, let bytes): return bytes
    case .failed(let tag) where tag == toldAudience?.tag: toldAudience = nil
    case .delivered(let tag): end(tag, isDelivered: true)
    case .failed(let tag): end(tag, isDelivered: false)
    case .missed: break
    }
    return nil
  }

  private mutating func end(_ tag: MessageTag, isDelivered: Bool) {
    if watched.remove(tag) != nil { ends.append((tag, isDelivered)) }
  }

  /// A new session begins: those that have waited for it. It has no audience yet.
  mutating func takeWaiting(now: Instant) -> [RendezvousMessage] {
    toldAudience = nil
    hasNewSession = true
    watched = []
    defer { waiting = [] }
    return waiting.filter { $0.until > now }.map(\.message)
  }

  mutating func forgetWaiting() { waiting = [] }

  /// Whether a body with that number comes for the first time.
  mutating func isNew(_ id: ForwardID, now: Instant) -> Bool { seenIDs.insert(id, now: now) }

  private static let flightLimit = 64
}

/// Message IDs of the last 5 minutes (docs/protocol/rendezvous.md §3).
struct RecentIDs {
  private var entries: [(id: ForwardID, at: Instant)] = []

  /// `false` if it was there already.
  mutating func insert(_ id: ForwardID, now: Instant) -> Bool {
    while let first = entries.first, now >= first.at + .seconds(300) { entries.removeFirst() }
    guard !entries.contains(where: { $0.id == id }) else { return false }
    if entries.count >= Self.limit { entries.removeFirst() }
    entries.append((id, now))
    return true
  }

  /// The oldest makes room.
  private static let limit = 1024
}
