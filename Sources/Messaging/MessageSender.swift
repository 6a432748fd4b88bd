import Primitives
import Wire

/// The sending half of a `MessageChannel`: queues, fragments, repetition, flow limits.
struct MessageSender: Sendable {
  let limits: MessageLimits
  /// The protocol's own streams first, then by number.
  private(set) var streams: [SendStream] = []
  private var waiting = Backlog()
  /// Of bulk alone: it takes no place of what is urgent.
  private var bulkWaiting = Backlog()
  private var nextTag: UInt64 = 0

  /// Under way, oldest first.
  var active: [OutgoingMessage] = []
  private var nextMessage: UInt64 = 0
  /// Where the next search for an application's message begins, so that none of them starves.
  private var turn = 0
  /// Messages under way that `needsResend`.
  var resendCount = 0

  var credit: SendCredit
  var window = PacketWindow()
  var bulkWindow = PacketWindow(isBulk: true)
  var probe = ProbeTimer()
  /// What the packet now being written carries.
  private var written: [FragmentReference] = []
  private var isBulkWritten = false
  private var isProbeWritten = false
  /// The timer fired while nothing but credit was missing.
  var owesCreditProbe = false
  /// Not later than the first end of a message's life.
  private(set) var nextExpiry: Instant?

  init(limits: MessageLimits) {
    self.limits = limits
    credit = SendCredit(initialGrant: limits.initialGrant)
  }

  // MARK: Commands

  mutating func send(
    _ bytes: [UInt8], on stream: StreamID, life: Duration, repeats: Bool, isBulk: Bool,
    isUrgent: Bool = false, now: Instant
  ) throws(MessageError) -> MessageTag {
    guard limits.allows(stream) else { throw .streamNotAllowed }
    guard bytes.count <= limits.messageByteCount else { throw .tooLong }
    guard (isBulk ? bulkWaiting : waiting).takes(bytes.count, limits) else { throw .queueFull }
    let tag = MessageTag(rawValue: nextTag)
    nextTag += 1
    let expiry = now + life
    nextExpiry = earliest(nextExpiry, expiry)
    let index = indexOfStream(stream)
    if streams[index].isEmpty { streams[index].isBulk = isBulk && !stream.isControl }
    if streams[index].isBulk {
      bulkWaiting.add(bytes.count)
    } else {
      waiting.add(bytes.count)
    }
    streams[index].append(
      WaitingMessage(
        tag: tag, bytes: bytes, expiry: expiry, repeats: repeats, isUrgent: isUrgent))
    return tag
  }

  private mutating func countOut(_ message: WaitingMessage, of kind: MessageKind) {
    if kind == .bulk {
      bulkWaiting.remove(message.bytes.count)
    } else {
      waiting.remove(message.bytes.count)
    }
  }

  private mutating func indexOfStream(_ id: StreamID) -> Int {
    if let index = streams.firstIndex(where: { $0.id == id }) { return index }
    func rank(_ id: StreamID) -> Int { (id.isControl ? 0 : 256) + Int(id.rawValue) }
    let index = streams.firstIndex { rank($0.id) > rank(id) } ?? streams.count
    streams.insert(SendStream(id), at: index)
    return index
  }

  // MARK: Writing packets

  /// Puts as many frames into `packet` as fit into `room` bytes and as the limits allow.
  @_lifetime(packet: copy packet)
  mutating func writeFrames(into packet: inout OutputSpan<UInt8>, room: Int) -> Bool {
    abandonPacket()
    guard window.hasRoom else { return false }
    let end = min(packet.count + room, packet.count + packet.freeCapacity)
    write(.control, to: &packet, end: end)
    write(.ordinary, to: &packet, end: end)
    if written.isEmpty, owesCreditProbe, packet.count + MessageFrame.abandonedByteCount <= end {
      writeCreditProbe(to: &packet)
    }
    return !written.isEmpty || isProbeWritten
  }

  /// What is urgent, short and not acknowledged rides in a packet of the owner's as well.
  @_lifetime(packet: copy packet)
  mutating func writeRiders(into packet: inout OutputSpan<UInt8>, room: Int) -> Bool {
    guard active.contains(where: { $0.isRider }) else { return false }
    abandonPacket()
    guard window.hasRoom else { return false }
    let end = min(packet.count + room, packet.count + packet.freeCapacity)
    for position in active.indices where active[position].isRider {
      guard packet.count + active[position].frameByteCount(0) <= end else { continue }
      write(0, ofMessageAt: position, to: &packet)
    }
    return !written.isEmpty
  }

  /// The same of bulk.
  @_lifetime(packet: copy packet)
  mutating func writeBulkFrames(into packet: inout OutputSpan<UInt8>, room: Int) -> Bool {
    abandonPacket()
    guard bulkWindow.hasRoom else { return false }
    write(.bulk, to: &packet, end: min(packet.count + room, packet.count + packet.freeCapacity))
    isBulkWritten = !written.isEmpty
    return isBulkWritten
  }

  @_lifetime(packet: copy packet)
  private mutating func write(
    _ kind: MessageKind, to packet: inout OutputSpan<UInt8>, end: Int
  ) {
    while let (position, index) = nextFragment(of: kind) {
      guard packet.count + active[position].frameByteCount(index) <= end else { break }
      write(index, ofMessageAt: position, to: &packet)
    }
  }

  /// Repetitions first, then what is begun, then the next message.
  private mutating func nextFragment(of kind: MessageKind) -> (position: Int, index: Int)? {
    if resendCount > 0,
      let position = active.firstIndex(where: { $0.needsResend && $0.kind == kind }),
      let index = active[position].nextResend
    {
      return (position, index)
    }
    let begun = active.lastIndex { $0.hasUnsent && $0.kind == kind }
    guard let position = begun ?? activateNext(kind),
      let index = active[position].nextUnsent
    else { return nil }
    return (position, index)
  }

  @_lifetime(packet: copy packet)
  private mutating func write(
    _ index: Int, ofMessageAt position: Int, to packet: inout OutputSpan<UInt8>
  ) {
    let neededResend = active[position].needsResend
    active[position].write(index, to: &packet)
    if neededResend, !active[position].needsResend { resendCount -= 1 }
    written.append(
      FragmentReference(
        message: active[position].id, index: UInt8(clamping: index),
        isNotice: active[position].isAbandoned))
  }

  /// Nothing is under way, a message waits for credit, and the CREDIT may have been lost: a notice
  /// about a message that is long finished changes nothing, and asks for FEEDBACK with CREDIT.
  @_lifetime(packet: copy packet)
  private mutating func writeCreditProbe(to packet: inout OutputSpan<UInt8>) {
    owesCreditProbe = false
    guard let stream = streams.first(where: { $0.nextSequence != 0 }) else { return }
    MessageFrame(
      stream: stream.id, sequence: stream.nextSequence &- 1, fragmentIndex: 0, fragmentCount: 0
    ).writeAbandoned(sentByteCount: 0, to: &packet)
    isProbeWritten = true
  }

  /// Puts the first waiting message under way that credit and sequence window allow.
  private mutating func activateNext(_ kind: MessageKind) -> Int? {
    for step in 0..<streams.count {
      let index = kind == .control ? step : (turn + step) % streams.count
      guard streams[index].kind == kind, canActivate(streams[index]),
        let message = streams[index].takeFirst()
      else { continue }
      countOut(message, of: kind)
      credit.reserve(message.bytes.count)
      active.append(OutgoingMessage(id: nextMessage, on: streams[index], message: message))
      nextMessage += 1
      streams[index].nextSequence &+= 1
      if kind != .control { turn = index + 1 }
      return active.count - 1
    }
    return nil
  }

  private func canActivate(_ stream: SendStream) -> Bool {
    guard let message = stream.first,
      credit.allows(
        message.bytes.count, reserve: stream.id.isControl ? 0 : limits.controlReserve)
    else { return false }
    guard let lowest = active.first(where: { $0.stream == stream.id })?.sequence else {
      return true
    }
    return stream.nextSequence &- lowest <= MessageRules.window(of: stream.id)
  }

  /// The packet that `writeFrames` wrote into was sent under `number`.
  mutating func didSend(_ number: UInt64, now: Instant) {
    guard !written.isEmpty || isProbeWritten else { return }
    let packet = PacketWindow.Packet(number: number, fragments: written)
    if isBulkWritten { bulkWindow.add(packet) } else { window.add(packet) }
    let owesCopy = !isBulkWritten && probe.takeCopy()
    written = []
    (isBulkWritten, isProbeWritten) = (false, false)
    probe.restart(now: now)
    if owesCopy { markMissed() }
  }

  /// What is urgent goes again; oldest first, as much as a probe may hold.
  mutating func markMissed() {
    var remaining = MessageRules.probeCount
    for position in active.indices where remaining > 0 && active[position].isMissed {
      let neededResend = active[position].needsResend
      remaining -= active[position].markOldest(remaining)
      if !neededResend, active[position].needsResend { resendCount += 1 }
    }
  }

  /// The packet last written was never sent: its fragments go into the next one.
  private mutating func abandonPacket() {
    guard !written.isEmpty || isProbeWritten else { return }
    markForResend(written)
    written = []
    (isBulkWritten, isProbeWritten) = (false, false)
  }

  mutating func markForResend(_ fragments: [FragmentReference]) {
    for reference in fragments where !carries(reference) {
      guard let position = position(of: reference.message) else { continue }
      let neededResend = active[position].needsResend
      if active[position].markForResend(reference), !neededResend { resendCount += 1 }
    }
  }

  /// Whether a packet under way carries it.
  func carries(_ reference: FragmentReference) -> Bool {
    window.carries(reference) || bulkWindow.carries(reference)
  }

  // MARK: Life and its end

  /// Takes out what waits beyond its life, and gives up what is under way beyond it.
  mutating func expire(now: Instant, failed: (MessageTag) -> Void) {
    guard let due = nextExpiry, due <= now else { return }
    var next: Instant?
    for index in streams.indices {
      for message in streams[index].takeExpired(at: now) {
        countOut(message, of: streams[index].kind)
        failed(message.tag)
      }
      next = earliest(next, streams[index].earliestExpiry)
    }
    for position in active.indices where !active[position].isAbandoned {
      if active[position].expiry > now {
        next = earliest(next, active[position].expiry)
        continue
      }
      giveUp(position, failed: failed)
    }
    nextExpiry = next
  }

  /// From now on only the notice of that is under way.
  mutating func giveUp(_ position: Int, failed: (MessageTag) -> Void) {
    if !active[position].needsResend { resendCount += 1 }
    credit.giveBack(active[position].abandon())
    failed(active[position].tag)
  }

  mutating func failAll(_ failed: (MessageTag) -> Void) {
    for message in active where !message.isAbandoned { failed(message.tag) }
    for index in streams.indices {
      while let message = streams[index].takeFirst() { failed(message.tag) }
    }
    active = []
    window.removeAll()
    bulkWindow.removeAll()
    resendCount = 0
    (waiting, bulkWaiting) = (Backlog(), Backlog())
    (written, isBulkWritten) = ([], false)
    (isProbeWritten, owesCreditProbe) = (false, false)
    nextExpiry = nil
  }

  // MARK: Getters

  var isIdle: Bool {
    active.isEmpty && isNothingInFlight && waitingCount == 0 && written.isEmpty && !isProbeWritten
  }

  var isNothingInFlight: Bool { window.isEmpty && bulkWindow.isEmpty }
  private var waitingCount: Int { waiting.count + bulkWaiting.count }

  /// Whether `writeFrames` would write something into an empty packet.
  var hasFramesToSend: Bool {
    window.hasRoom
      && (owesCreditProbe
        || active.contains { $0.kind != .bulk && ($0.needsResend || $0.hasUnsent) }
        || streams.contains { $0.kind != .bulk && canActivate($0) })
  }

  /// Whether `writeBulkFrames` would.
  var hasBulkToSend: Bool {
    hasBulk && bulkWindow.hasRoom
      && (active.contains { $0.kind == .bulk && ($0.needsResend || $0.hasUnsent) }
        || streams.contains { $0.kind == .bulk && canActivate($0) })
  }

  /// Bulk is under way or waits.
  var hasBulk: Bool { bulkWaiting.count > 0 || active.contains { $0.kind == .bulk } }

  /// The credit as it is once everything under way is given up.
  var creditWithoutUnsent: SendCredit {
    var credit = credit
    for message in active where !message.isAbandoned { credit.giveBack(message.unsentByteCount) }
    return credit
  }

  /// Messages wait, none is under way, and only credit is missing.
  var isStarved: Bool {
    waitingCount > 0 && active.isEmpty && !streams.contains { canActivate($0) }
  }

  func position(of message: UInt64) -> Int? {
    var low = 0
    var high = active.count
    while low < high {
      let middle = (low + high) / 2
      if active[middle].id < message { low = middle + 1 } else { high = middle }
    }
    return low < active.count && active[low].id == message ? low : nil
  }

  /// Restores what a channel at rest remembers.
  mutating func resume(_ stream: StreamID, nextSequence: UInt32, credit: SendCredit) {
    streams = [SendStream(stream, nextSequence: nextSequence)]
    self.credit = credit
  }
}

/// Messages that wait for their turn.
struct Backlog: Sendable {
  private(set) var byteCount = 0
  private(set) var count = 0

  func takes(_ byteCount: Int, _ limits: MessageLimits) -> Bool {
    count < limits.waitingMessageCount && self.byteCount + byteCount <= limits.waitingByteCount
  }

  mutating func add(_ byteCount: Int) {
    self.byteCount += byteCount
    count += 1
  }

  mutating func remove(_ byteCount: Int) {
    self.byteCount -= byteCount
    count -= 1
  }
}
