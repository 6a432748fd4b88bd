import Congestion
import Forwarding
import GroupKeys
import Primitives
import Wire

/// Sealed audio on its way to a relay: what waits, and what may go once more as a copy. One memory
/// for all frames.
struct RelayedOutbox {
  private var frames = FrameRing(capacity: Self.capacity)
  /// The number of the next frame that leaves.
  private var next: UInt32 = 1
  /// Of what waits and what may go as a copy, the bytes before they were sealed.
  private var payloads = InlineArray<16, UInt16>(repeating: 0)
  private(set) var counters = MediaCounters()

  var sentCount: UInt64 { counters.packetsSent }

  var hasFrame: Bool { next <= frames.newest }

  /// Seals one Opus packet and takes it; `false` where we publish nothing, or it is too long.
  mutating func seal(
    _ payload: Span<UInt8>, _ label: ChannelAudioLabel, with keys: inout GroupKeyMachine
  ) -> Bool {
    let room = GroupKeyMachine.headerRoom
    var frame = [UInt8](
      repeating: 0, count: room + payload.count + GroupKeyMachine.tagByteCount)
    for index in payload.indices { frame[room + index] = payload[index] }
    let metadata = label.metadata
    do throws(SFrameError) {
      var span = frame.mutableSpan
      let place = try keys.seal(
        &span, text: room..<(room + payload.count), metadata: metadata.span)
      guard ChannelAudioFrame.sealedByteCounts.contains(place.count) else { return false }
      append(label, frame.span.extracting(place), payloadByteCount: payload.count)
      return true
    } catch {
      return false
    }
  }

  /// Takes a sealed frame. Of more than eight that wait the oldest goes.
  mutating func append(
    _ label: ChannelAudioLabel, _ sealed: Span<UInt8>, payloadByteCount: Int
  ) {
    frames.append(label, sealed)
    payloads[Int(frames.newest) % Self.capacity] = UInt16(clamping: payloadByteCount)
    if frames.newest &- next >= Self.limit { next = frames.newest &- Self.limit &+ 1 }
  }

  /// Nothing of it leaves any more.
  mutating func removeAll() { next = frames.newest &+ 1 }

  /// Writes the next frame, with so many copies of those before it as there is room for.
  @_lifetime(packet: copy packet)
  mutating func write(copies: Int, limit: Int, into packet: inout OutputSpan<UInt8>) {
    guard hasFrame, let entry = frames[next] else { return removeAll() }
    let end = limit - ChannelAudioFrame.headerByteCount - entry.byteCount
    for step in 0..<UInt32(copies) {
      guard let copy = frames[next &- step &- 1] else { break }
      let distance = entry.label.mediaTime &- copy.label.mediaTime
      guard (1...Self.copyAge).contains(distance),
        packet.count + ChannelCopyFrame.headerByteCount + copy.byteCount <= end
      else { break }
      ChannelCopyFrame(copy.label, distance: UInt8(truncatingIfNeeded: distance))
        .writeHeader(copy.byteCount, to: &packet)
      frames.write(copy, to: &packet)
      counters.payloadBytesSent &+= payloadByteCount(copy)
    }
    ChannelAudioFrame(entry.label).writeHeader(to: &packet)
    frames.write(entry, to: &packet)
    counters.payloadBytesSent &+= payloadByteCount(entry)
    next &+= 1
    counters.packetsSent &+= 1
  }

  /// A packet with a frame has left.
  mutating func recordSent(byteCount: Int, on association: Association, now: Instant) {
    association.uplink?.recordAudio(byteCount: byteCount, now: now)
    counters.wireBytesSent &+= UInt64(byteCount)
    counters.firstSent = counters.firstSent ?? now
  }

  private func payloadByteCount(_ entry: FrameRing.Entry) -> UInt64 {
    UInt64(payloads[Int(entry.number) % Self.capacity])
  }

  /// As many copies as the loss of a path wants: the relay's own rule.
  static func copyCount(loss: Double?) -> Int {
    guard let loss else { return 0 }
    return loss >= 0.05 ? 2 : loss >= 0.01 ? 1 : 0
  }

  private static let capacity = 16
  private static let limit: UInt32 = 8
  private static let copyAge: UInt16 = 20
}

/// Opened audio of the hosts of a channel, each in a queue of its own, as an end of a call gets it.
struct RelayedInbox {
  private var hosts: [UInt32: RelayedHost] = [:]
  /// What came by the relay before this one.
  var former = RelayedHosts()
  /// Whose the frames of a source are.
  private var sources: [UInt8: UInt32] = [:]
  /// The relay says how many frames of each it leaves out.
  private var isTold = false
  /// Whose frame came last, and that of another one before.
  private var newest: (uid: UInt32, at: Instant)?
  private var newestOther: (uid: UInt32, at: Instant)?
  /// Of all hosts that there were.
  private(set) var counters = MediaCounters()
  private let capacity: Int
  private var body: [UInt8] = []
  /// Frames that did not open.
  private(set) var unopenedCount: UInt64 = 0
  private(set) var openedCount: UInt64 = 0

  init(capacity: Int) {
    self.capacity = capacity
    body.reserveCapacity(AudioFrameQueue.slotByteCount)
  }

  /// A session with a relay begins.
  mutating func restart(isTold: Bool) {
    self.isTold = isTold
    sources = [:]
    for uid in hosts.keys { hosts[uid]?.restart(isTold: isTold) }
  }

  /// What has come of each host, for whoever goes on with another relay.
  var heard: RelayedHosts {
    RelayedHosts(hosts: former.hosts.merging(hosts.mapValues(\.past)) { $1 })
  }

  mutating func handleSource(_ frame: ChannelSourceFrame) {
    sources[frame.source] = frame.uid
    hosts[frame.uid]?.handleSource(frame.source, isTold: isTold)
  }

  func owner(of source: UInt8) -> UInt32? { sources[source] }

  /// The relay says how many frames of a host it has left out.
  ///
  /// - Parameter last: the last frame of the packet. A host whose own frame it is not is left out
  ///   from now on.
  mutating func handleUnsent(
    _ word: ChannelUnsentFrame, last: Frame?
  ) -> ChannelRelayEvent? {
    guard let uid = sources[word.source], hosts[uid] != nil else { return nil }
    var isLeftOut = true
    if case .channelAudio(let audio, _) = last { isLeftOut = audio.source != word.source }
    hosts[uid]?.handleUnsent(word.count, isLeftOut: isLeftOut)
    return isLeftOut ? .audioLeftOut(uid: uid) : nil
  }

  /// A host is heard by a call: what the relay would bring is not missed.
  mutating func handleCall(with uid: UInt32, now: Instant) {
    hosts[uid]?.handleCall(now: now)
    former.hosts[uid]?.handleCall(now: now)
  }

  /// Opens the audio that a packet ends with, and its copies.
  ///
  /// - Returns: Whether something of a host came that had nothing waiting; the first time ever; and
  ///   whether the frame itself has opened.
  mutating func receive(
    _ audio: ChannelAudioFrame, sealed: PacketRange,
    copies: [(frame: ChannelCopyFrame, sealed: PacketRange)], from uid: UInt32,
    _ inbox: ChannelInbox, keys: inout GroupKeyMachine, now: Instant
  ) -> (isNews: Bool, isFirst: Bool, isOpened: Bool) {
    var opened: [(distance: UInt8, PacketRange)] = []
    for (copy, place) in copies {
      let label = copy.label(before: audio.label.mediaTime)
      // One that came by itself was opened: it is a replay.
      guard let text = Self.open(inbox, place, label, uid, &keys, now: now) else { continue }
      opened.append((copy.distance, text))
    }
    let main = Self.open(inbox, sealed, audio.label, uid, &keys, now: now)
    if main == nil { unopenedCount &+= 1 }
    guard main != nil || !opened.isEmpty else { return (false, false, false) }
    openedCount &+= 1
    let isFirst = hosts[uid] == nil
    var host = hosts.removeValue(forKey: uid) ?? begin(uid, as: audio.source)
    defer { hosts[uid] = host }
    if let main {
      host.recordFrame(
        audio.label, byteCount: main.count, lastOther: recordArrival(of: uid, now: now), now: now)
      counters.recordReceived(byteCount: main.count, now: now)
    }
    let leftOut = opened.count < AudioBody.maximumCopyCount ? host.leftOut : 0
    makeBody(main, opened, leftOut: leftOut, inbox)
    var entry = AudioFrameQueue.Entry()
    entry.mediaTime = audio.label.mediaTime
    entry.lengthCode = audio.label.length.rawValue
    entry.isMarked = audio.label.isMarked
    entry.hasCopies = !opened.isEmpty || leftOut > 0
    entry.time = now
    let wasEmpty = host.queue.isEmpty
    let isKept = host.queue.push(body.span, entry)
    return (wasEmpty && isKept, isFirst, main != nil)
  }

  private mutating func begin(_ uid: UInt32, as source: UInt8) -> RelayedHost {
    let before = former.hosts.removeValue(forKey: uid)
    var host = RelayedHost(capacity: capacity, isTold: isTold, after: before)
    host.handleSource(source, isTold: isTold)
    return host
  }

  /// - Returns: When a frame of another host came last.
  private mutating func recordArrival(of uid: UInt32, now: Instant) -> Instant? {
    if let newest, newest.uid != uid { newestOther = newest }
    newest = (uid, now)
    return newestOther.flatMap { $0.uid == uid ? nil : $0.at }
  }

  /// What has come of a host; `nil` before something has.
  func counters(of uid: UInt32) -> MediaCounters? { hosts[uid]?.counters }

  /// Whether nothing of a host is to be heard: its last frame says so, or the relay leaves it out.
  func isSilent(_ uid: UInt32) -> Bool { hosts[uid]?.isSilent ?? false }

  /// Shows the oldest body of a host to `take`, and then removes it; `nil` when there is none.
  mutating func poll<Result>(
    of uid: UInt32, _ take: (Span<UInt8>, ReceivedAudio) -> Result
  ) -> Result? {
    hosts[uid]?.queue.pop { bytes, entry in
      take(
        bytes,
        ReceivedAudio(header: entry.header, arrival: entry.time, byteCount: entry.byteCount))
    }
  }

  mutating func remove(_ uid: UInt32) {
    hosts[uid] = nil
    former.hosts[uid] = nil
  }

  /// The body of an AUDIO frame (docs/protocol/frames.md §5.1): copies, then the frame itself. In
  /// front stands how many frames of the host the relay has left out so far, where it has.
  private mutating func makeBody(
    _ main: PacketRange?, _ copies: [(distance: UInt8, PacketRange)], leftOut: UInt16,
    _ inbox: ChannelInbox
  ) {
    let packet = inbox.packet
    body.removeAll(keepingCapacity: true)
    body.append(addingCapacity: AudioFrameQueue.slotByteCount) { output in
      var total = (main?.count ?? 0) + (leftOut > 0 ? AudioBody.unsentCountCost : 0)
      var fitting = 0
      for (_, place) in copies {
        total += place.count + 4
        if total <= AudioFrameQueue.slotByteCount { fitting += 1 }
      }
      if leftOut > 0 {
        AudioCopy.writeHeader(
          .unsentCount, distance: 1, byteCount: 2, isLast: fitting == 0, to: &output)
      }
      for (index, copy) in copies.prefix(fitting).enumerated() {
        AudioCopy.writeHeader(
          .primary, distance: copy.distance, byteCount: copy.1.count,
          isLast: index == fitting - 1, to: &output)
      }
      if leftOut > 0 { output.append(littleEndian: leftOut) }
      for (_, place) in copies.prefix(fitting) { output.append(span: packet.span.bytes(at: place)) }
      if let main { output.append(span: packet.span.bytes(at: main)) }
    }
  }

  /// Where the Opus packet of a sealed frame stands, once it has opened in place.
  private static func open(
    _ inbox: ChannelInbox, _ place: PacketRange, _ label: ChannelAudioLabel, _ uid: UInt32,
    _ keys: inout GroupKeyMachine, now: Instant
  ) -> PacketRange? {
    let metadata = label.metadata
    var bytes = inbox.takePacket()
    defer { inbox.putBack(bytes) }
    do throws(SFrameError) {
      var span = bytes.mutableSpan
      let text = try keys.open(
        &span, at: place.range, from: uid, metadata: metadata.span, now: now)
      return text.isEmpty ? nil : PacketRange(text)
    } catch {
      return nil  // Counted by whoever asked: `unopenedCount`.
    }
  }
}

/// What is known of the hosts of a channel by one relay, for the machine of another one. Frames
/// that wait are not among it: nobody would fetch them.
package struct RelayedHosts: Sendable {
  fileprivate var hosts: [UInt32: RelayedHost.Past] = [:]

  package init() {}

  fileprivate init(hosts: [UInt32: RelayedHost.Past]) { self.hosts = hosts }
}
