import Primitives
import Wire

/// The sending half of a `MessageChannel`: queues, fragments, repetition, flow limits.
struct MessageSender: Sendable {
  let limits: MessageLimits
  /// The protocol's own streams first, then by number.
  private(set) var streams: [SendStream] = []
  private var waitingByteCount = 0
  private var waitingCount = 0
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
  var probe = ProbeTimer()
  /// What the packet now being written carries.
  private var written: [FragmentReference] = []
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
    _ bytes: [UInt8], on stream: StreamID, life: Duration, repeats: Bool, now: Instant
  ) throws(MessageError) -> MessageTag {
    guard limits.allows(stream) else { throw .streamNotAllowed }
    guard bytes.count <= limits.messageByteCount else { throw .tooLong }
    guard waitingCount < limits.waitingMessageCount,
      waitingByteCount + bytes.count <= limits.waitingByteCount
    else { throw .queueFull }
    let tag = MessageTag(rawValue: nextTag)
    nextTag += 1
    let expiry = now + life
    nextExpiry = earliest(nextExpiry, expiry)
    waitingByteCount += bytes.count
    waitingCount += 1
    let index = indexOfStream(stream)
    streams[index].append(WaitingMessage(tag: tag, bytes: bytes, expiry: expiry, repeats: repeats))
    return tag
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
    for isControl in [true, false] {
      while let (position, index) = nextFragment(isControl: isControl) {
        guard packet.count + active[position].frameByteCount(index) <= end else { break }
        write(index, ofMessageAt: position, to: &packet)
      }
    }
    if written.isEmpty, owesCreditProbe, packet.count + MessageFrame.abandonedByteCount <= end {
      writeCreditProbe(to: &packet)
    }
    return !written.isEmpty || isProbeWritten
  }

  /// Repetitions first, then what is begun, then the next message.
  private mutating func nextFragment(isControl: Bool) -> (position: Int, index: Int)? {
    if resendCount > 0,
      let position = active.firstIndex(where: {
        $0.needsResend && $0.stream.isControl == isControl
      }), let index = active[position].nextResend
    {
      return (position, index)
    }
    let begun = active.lastIndex { $0.hasUnsent && $0.stream.isControl == isControl }
    guard let position = begun ?? activateNext(isControl: isControl),
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
  private mutating func activateNext(isControl: Bool) -> Int? {
    for step in 0..<streams.count {
      let index = isControl ? step : (turn + step) % streams.count
      guard streams[index].id.isControl == isControl, canActivate(streams[index]),
        let message = streams[index].takeFirst()
      else { continue }
      waitingByteCount -= message.bytes.count
      waitingCount -= 1
      credit.reserve(message.bytes.count)
      active.append(
        OutgoingMessage(
          id: nextMessage, stream: streams[index].id, sequence: streams[index].nextSequence,
          message: message))
      nextMessage += 1
      streams[index].nextSequence &+= 1
      if !isControl { turn = index + 1 }
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
    window.add(PacketWindow.Packet(number: number, fragments: written))
    written = []
    isProbeWritten = false
    probe.restart(now: now)
  }

  /// The packet last written was never sent: its fragments go into the next one.
  private mutating func abandonPacket() {
    guard !written.isEmpty || isProbeWritten else { return }
    markForResend(written)
    written = []
    isProbeWritten = false
  }

  mutating func markForResend(_ fragments: [FragmentReference]) {
    for reference in fragments where !window.carries(reference) {
      guard let position = position(of: reference.message) else { continue }
      let neededResend = active[position].needsResend
      if active[position].markForResend(reference), !neededResend { resendCount += 1 }
    }
  }

  // MARK: Life and its end

  /// Takes out what waits beyond its life, and gives up what is under way beyond it.
  mutating func expire(now: Instant, failed: (MessageTag) -> Void) {
    guard let due = nextExpiry, due <= now else { return }
    var next: Instant?
    for index in streams.indices {
      for message in streams[index].takeExpired(at: now) {
        waitingByteCount -= message.bytes.count
        waitingCount -= 1
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
    resendCount = 0
    (waitingByteCount, waitingCount) = (0, 0)
    (written, isProbeWritten, owesCreditProbe) = ([], false, false)
    nextExpiry = nil
  }

  // MARK: Getters

  var isIdle: Bool {
    active.isEmpty && window.isEmpty && waitingCount == 0 && written.isEmpty && !isProbeWritten
  }

  /// Whether `writeFrames` would write something into an empty packet.
  var hasFramesToSend: Bool {
    window.hasRoom
      && (resendCount > 0 || owesCreditProbe || active.contains { $0.hasUnsent }
        || streams.contains { canActivate($0) })
  }

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
