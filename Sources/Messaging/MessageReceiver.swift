import Primitives
import Wire

/// The receiving half of a `MessageChannel`: reassembly, order, duplicates, credit.
struct MessageReceiver: Sendable {
  private let limits: MessageLimits
  private(set) var streams: [ReceiveStream] = []
  var credit: ReceiveCredit

  init(limits: MessageLimits) {
    self.limits = limits
    credit = ReceiveCredit(initialGrant: limits.initialGrant)
  }

  // MARK: Inputs

  /// What comes out: a message that is whole and in its place, or the notice that some will not
  /// come and how many whole ones have waited for them.
  enum Arrival {
    case message([UInt8])
    case gap(missed: Int, cached: Int)
  }

  /// Takes one MSG frame.
  mutating func handle(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, now: Instant, deliver: (Arrival) -> Void
  ) throws(MessageFault) {
    guard frame.isPlausible(byteCount: bytes.count) else { throw .fragment }
    let index = try indexOfStream(frame.stream)
    credit.noteMessage()
    guard try streams[index].isWanted(frame.sequence) else { return }
    if frame.isAbandoned {
      let isNew = try abandon(frame, bytes, in: index, now: now)
      if isNew, !frame.stream.isOrdered { deliver(.gap(missed: 1, cached: 0)) }
    } else {
      try insert(frame, bytes, in: index, now: now)
    }
    deliverWhole(from: index, deliver)
  }

  private mutating func indexOfStream(_ id: StreamID) throws(MessageFault) -> Int {
    if let index = streams.firstIndex(where: { $0.id == id }) { return index }
    guard limits.allows(id), streams.count < limits.streamCount else { throw .stream }
    streams.append(ReceiveStream(id))
    return streams.count - 1
  }

  private mutating func insert(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, in index: Int, now: Instant
  ) throws(MessageFault) {
    let found = streams[index].assemblies.firstIndex { $0.sequence == frame.sequence }
    if let found {
      if streams[index].assemblies[found].isAbandoned { return }
      try streams[index].assemblies[found].check(frame, byteCount: bytes.count)
      if streams[index].assemblies[found].has(frame.fragmentIndex) { return }
    } else {
      try Reassembly(frame, now: now).check(frame, byteCount: bytes.count)
    }
    try credit.receive(UInt32(clamping: bytes.count))
    if found == nil { streams[index].assemblies.append(Reassembly(frame, now: now)) }
    let place = found ?? streams[index].assemblies.count - 1
    streams[index].assemblies[place].insert(frame, bytes)
  }

  /// The notice says how many bytes of the message had been sent; those that never arrived count as
  /// received and returned, so that both sides' totals agree again. A notice without a number says
  /// that all that was sent is here.
  ///
  /// - Returns: Whether the message is lost by it.
  private mutating func abandon(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, in index: Int, now: Instant
  ) throws(MessageFault) -> Bool {
    let found = streams[index].assemblies.firstIndex { $0.sequence == frame.sequence }
    if let found {
      let assembly = streams[index].assemblies[found]
      if assembly.isAbandoned || assembly.isWhole { return false }
    }
    let held = UInt32(clamping: found.map { streams[index].assemblies[$0].byteCount } ?? 0)
    let sent = bytes.isEmpty ? held : try sentByteCount(bytes)
    guard sent >= held, sent <= UInt32(Reassembly.maximumMessageByteCount) else {
      throw .fragment
    }
    try credit.receive(sent - held)
    credit.release(sent)
    if !frame.stream.isOrdered {
      if let found { streams[index].assemblies.remove(at: found) }
      streams[index].finish(frame.sequence)
    } else if let found {
      streams[index].assemblies[found].abandon()
    } else {
      streams[index].assemblies.append(Reassembly(abandoned: frame.sequence, now: now))
    }
    return true
  }

  private func sentByteCount(_ bytes: Span<UInt8>) throws(MessageFault) -> UInt32 {
    var reader = ByteReader(bytes)
    do {
      return try reader.readUInt32("bytes sent")
    } catch {
      throw .fragment
    }
  }

  private mutating func deliverWhole(from index: Int, _ deliver: (Arrival) -> Void) {
    let isOrdered = streams[index].id.isOrdered
    var missed = 0
    while let found = streams[index].assemblies.firstIndex(where: {
      isOrdered
        ? $0.sequence == streams[index].lowest && ($0.isWhole || $0.isAbandoned) : $0.isWhole
    }) {
      let assembly = streams[index].assemblies.remove(at: found)
      streams[index].finish(assembly.sequence)
      if assembly.isAbandoned {
        missed += 1
        continue
      }
      if missed > 0 { deliver(.gap(missed: missed, cached: 1 + streams[index].wholeCount)) }
      missed = 0
      credit.deliver(UInt32(clamping: assembly.byteCount))
      deliver(.message(assembly.takeMessage()))
    }
    if missed > 0 { deliver(.gap(missed: missed, cached: 0)) }
  }

  // MARK: Getters

  var isIdle: Bool { streams.allSatisfy { $0.assemblies.isEmpty } }

  /// When the oldest message began that is not whole.
  var oldestReassembly: Instant? {
    var oldest: Instant?
    for stream in streams {
      for assembly in stream.assemblies where !assembly.isWhole && !assembly.isAbandoned {
        oldest = earliest(oldest, assembly.begun)
      }
    }
    return oldest
  }

  /// Restores what a channel at rest remembers.
  mutating func resume(_ stream: ReceiveStream, credit: ReceiveCredit) {
    streams = [stream]
    self.credit = credit
  }
}
