package import Primitives
package import Wire

/// Reliable messages over the packets of one session (docs/protocol/frames.md §3, §4).
///
/// The owner reads and writes packets; the channel puts MSG frames into them and takes MSG and
/// CREDIT frames out of them. What became of a packet it learns by the packet's transport number
/// (epoch in the upper 32 bits), from whoever reads FEEDBACK. After every input poll the events
/// until there is none; they hold the bytes of the messages received. What is not polled is granted
/// to the other side only once, so an owner that is slow slows it down. An owner that hands
/// messages on holds them until they are read (`poll(holding:)`).
///
/// Every message sent is delivered exactly once, or reported failed, or both when the confirmation
/// got lost; never neither.
package struct MessageChannel: Sendable {
  private(set) var events: [MessageEvent] = []
  /// The events before it have been polled.
  private var polled = 0
  /// No event from `polled` up to it may be polled while the owner holds what it may hold.
  private var passed = 0
  /// Messages of the application that were polled and not read.
  private var unreadCount = 0
  /// What was read has made room of which the other side does not know.
  private var owesCredit = false
  var sender: MessageSender
  var receiver: MessageReceiver

  package init(limits: MessageLimits) {
    sender = MessageSender(limits: limits)
    receiver = MessageReceiver(limits: limits)
  }

  // MARK: Inputs

  /// Takes a MSG frame of a packet that opened; `bytes` are the frame's.
  package mutating func handle(
    _ frame: MessageFrame, bytes: Span<UInt8>, now: Instant
  ) throws(MessageFault) {
    guard events.count - polled < MessageRules.mostUnpolled else { throw .overCredit }
    try receiver.handle(frame, bytes, now: now) { arrival in
      switch arrival {
      case .message(let message): events.append(.received(stream: frame.stream, bytes: message))
      case .gap(let missed, let cached):
        events.append(.missed(stream: frame.stream, missed: missed, cached: cached))
      }
    }
  }

  package mutating func handle(_ credit: CreditFrame) { sender.handle(credit) }

  /// The packet with this transport number arrived. Numbers of packets without MSG are harmless.
  package mutating func packetAcknowledged(_ number: UInt64) {
    sender.packetAcknowledged(number) { events.append(.delivered($0)) }
  }

  /// The packet with this transport number is lost.
  package mutating func packetLost(_ number: UInt64) {
    sender.packetLost(number) { events.append(.failed($0)) }
  }

  /// The session has a new estimate of RFC 9002's probe timeout, in nanoseconds.
  package mutating func updateProbeTimeout(_ nanoseconds: UInt64) {
    sender.probe.timeout = nanoseconds
  }

  /// Repeats what was not answered, gives up what has outlived its life. Harmless when early.
  package mutating func handleTimeout(now: Instant) {
    sender.expire(now: now) { events.append(.failed($0)) }
    sender.handleProbeTimeout(now: now) { events.append(.failed($0)) }
  }

  // MARK: Commands

  /// Puts a message into its stream's queue. From `now` it lives for `life`; then it has been
  /// delivered or it fails.
  ///
  /// - Parameters:
  ///   - repeats: What is lost of it is sent again; without that it is given up.
  ///   - isBulk: It goes behind all else, by `writeBulkFrames`, as does all that its stream carries
  ///     from now on.
  ///   - isUrgent: Somebody waits for it: it is sent again before an answer can be there.
  @discardableResult
  package mutating func send(
    _ bytes: [UInt8], on stream: StreamID, life: Duration, repeats: Bool = true,
    isBulk: Bool = false, isUrgent: Bool = false, now: Instant
  ) throws(MessageError) -> MessageTag {
    try sender.send(
      bytes, on: stream, life: life, repeats: repeats, isBulk: isBulk, isUrgent: isUrgent, now: now)
  }

  /// The owner has room for so many bytes that are on their way, from now on: at least the initial
  /// grant, at most 4 MiB. The other side learns it with the next CREDIT.
  package mutating func widen(to byteCount: Int) {
    receiver.credit.widen(to: min(UInt32(clamping: byteCount), MessageRules.widestWindow))
  }

  /// The owner has read of the messages that it holds (`poll(holding:)`): they make room now.
  package mutating func countRead(messages: Int, byteCount: Int) {
    unreadCount = max(0, unreadCount - messages)
    receiver.credit.countTaken(UInt32(clamping: byteCount))
    if receiver.credit.isDue { owesCredit = true }
  }

  /// The session ends: everything unconfirmed fails.
  package mutating func failAll() { sender.failAll { events.append(.failed($0)) } }

  // MARK: Outputs

  /// Appends to `packet` as many MSG frames as fit into `room` bytes and as the limits allow, and
  /// says whether there were any. Once a packet; then `didSend` says under which number it went. A
  /// packet for which that is not said was not sent, and its frames go into the next one.
  ///
  /// `room` must now and then be 1110 bytes: fragments are not cut smaller to fit.
  @_lifetime(packet: copy packet)
  package mutating func writeFrames(into packet: inout OutputSpan<UInt8>, room: Int) -> Bool {
    sender.writeFrames(into: &packet, room: room)
  }

  /// The same of what is urgent, short, and was sent before: for a packet that goes anyway.
  @_lifetime(packet: copy packet)
  package mutating func writeRiders(into packet: inout OutputSpan<UInt8>, room: Int) -> Bool {
    sender.writeRiders(into: &packet, room: room)
  }

  /// The same of bulk alone, which leaves when its owner says: no loss makes its window smaller.
  @_lifetime(packet: copy packet)
  package mutating func writeBulkFrames(
    into packet: inout OutputSpan<UInt8>, room: Int
  ) -> Bool {
    sender.writeBulkFrames(into: &packet, room: room)
  }

  /// The packet that `writeFrames` wrote into goes out under this transport number.
  package mutating func didSend(_ number: UInt64, now: Instant) {
    sender.didSend(number, now: now)
  }

  /// The CREDIT to put beside a FEEDBACK (docs/protocol/frames.md §4), if one is due. Ask whenever
  /// a FEEDBACK is written, and where `mustGrant`, but at no other time.
  package mutating func takeCredit() -> CreditFrame? {
    owesCredit = false
    return receiver.credit.takeDue().map(CreditFrame.init(total:))
  }

  /// - Parameter most: Messages of the application that the owner holds unread at the most, until
  ///   `countRead`; then the others of its messages wait here. 0 = what is polled is read.
  package mutating func poll(holding most: Int = 0) -> MessageEvent? {
    guard let place = nextPlace(holding: most) else { return nil }
    let event = events[place]
    if place == polled { polled += 1 } else { events.remove(at: place) }
    if case .received(let stream, let bytes) = event {
      if most > 0, !stream.isControl {
        unreadCount += 1
      } else {
        receiver.credit.countTaken(UInt32(clamping: bytes.count))
      }
    }
    forgetPolled()
    return event
  }

  private mutating func forgetPolled() {
    if polled == events.count {
      events.removeAll()
    } else if polled >= MessageRules.mostPolled {
      events.removeFirst(polled)
    } else {
      return
    }
    passed = max(0, passed - polled)
    polled = 0
  }

  /// Where the next event is that the owner may have.
  private mutating func nextPlace(holding most: Int) -> Int? {
    guard most > 0, unreadCount >= most else { return polled < events.count ? polled : nil }
    passed = max(polled, passed)
    while passed < events.count, events[passed].isOfApplication { passed += 1 }
    return passed < events.count ? passed : nil
  }

  /// When `handleTimeout` next has something to do.
  package var nextDeadline: Instant? { sender.nextDeadline }

  // MARK: Getters

  /// Whether CREDIT goes without waiting for a FEEDBACK: the other side may have nothing more to
  /// send that would draw one.
  package var mustGrant: Bool { owesCredit && receiver.credit.isDue }

  /// Whether `writeFrames` would write into an empty packet.
  package var hasFramesToSend: Bool { sender.hasFramesToSend }

  /// Whether `writeBulkFrames` would.
  package var hasBulkToSend: Bool { sender.hasBulkToSend }

  /// Bulk is under way or waits.
  package var hasBulk: Bool { sender.hasBulk }

  /// Nothing is under way, waits, is half received or unpolled.
  package var isIdle: Bool { sender.isIdle && receiver.isIdle && events.isEmpty }

  /// Nothing that was sent or is to be sent waits for an acknowledgement.
  package var isSenderIdle: Bool { sender.isIdle }

  /// Packets with MSG under way.
  package var packetsInFlight: Int {
    sender.window.packets.count + sender.bulkWindow.packets.count
  }

  /// Bytes of messages received in part, or out of order; at most the window. The owner
  /// counts them over all sessions (docs/protocol/session.md §9).
  package var reassemblyByteCount: Int { receiver.credit.heldByteCount }

  /// When the oldest message began that is still incomplete, for the owner's limit of 8 s.
  package var oldestReassembly: Instant? { receiver.oldestReassembly }
}
