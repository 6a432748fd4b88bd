import Primitives
import Wire

/// A frame that is being sent, or may have to be sent again in part.
struct SentFrame: Sendable {
  private(set) var number: Int64 = -1
  private(set) var header: VideoMediaFrame?
  private(set) var bytes: [UInt8] = []
  private(set) var queued = Instant.zero
  /// Fragments sent so far.
  var sentCount = 0
  /// Of these, how many have been sent again unasked.
  var repeatedCount = 0
  /// Fragments of parity that follow the others.
  var parityCount = 0
  var paritySentCount = 0
  /// Of every fragment but the last.
  private(set) var fragmentByteCount = 1

  /// Takes `bytes` and gives its own memory back, empty.
  ///
  /// - Parameter most: bytes of a fragment.
  mutating func begin(
    _ header: VideoMediaFrame, number: Int64, bytes: inout [UInt8], most: Int, now: Instant
  ) {
    swap(&self.bytes, &bytes)
    bytes.removeAll(keepingCapacity: true)
    // Never more than there are indices for.
    let indices = VideoMediaFrame.maximumFragmentCount
    let most = max(most, (self.bytes.count + indices - 1) / indices)
    let count = max(1, (self.bytes.count + most - 1) / most)
    fragmentByteCount = max(1, (self.bytes.count + count - 1) / count)
    self.header = header
    // Even lengths can need fewer fragments than the longest ones, never more.
    let fragments = max(1, (self.bytes.count + fragmentByteCount - 1) / fragmentByteCount)
    self.header?.lastFragmentIndex = UInt8(clamping: fragments - 1)
    self.number = number
    queued = now
    sentCount = 0
    repeatedCount = 0
    parityCount = 0
    paritySentCount = 0
  }

  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    header = nil
    number = -1
    sentCount = 0
    repeatedCount = 0
    parityCount = 0
    paritySentCount = 0
  }

  var fragmentCount: Int { header?.fragmentCount ?? 0 }
  /// Without parity.
  var isWhole: Bool { sentCount >= fragmentCount }
  var isSent: Bool { isWhole && paritySentCount >= parityCount }

  var unsentByteCount: Int {
    max(0, bytes.count - sentCount * fragmentByteCount)
      + (parityCount - paritySentCount) * fragmentByteCount
  }

  func fragmentRange(_ fragment: Int) -> Range<Int> {
    let start = min(fragment * fragmentByteCount, bytes.count)
    return start..<min(start + fragmentByteCount, bytes.count)
  }

  @_lifetime(packet: copy packet)
  func write(_ fragment: Int, isRetransmission: Bool, to packet: inout OutputSpan<UInt8>) {
    guard var header else { return }
    header.fragmentIndex = UInt8(clamping: fragment)
    header.isRetransmission = isRetransmission
    header.writeHeader(to: &packet)
    packet.append(span: bytes.span.extracting(fragmentRange(fragment)))
  }
}

extension SentFrame {
  /// The next of its fragments of parity (docs/protocol/frames.md §10.1).
  @_lifetime(packet: copy packet)
  mutating func writeParity(to packet: inout OutputSpan<UInt8>) {
    guard var header else { return }
    header.isParity = true
    header.fragmentIndex = UInt8(clamping: paritySentCount)
    header.lastFragmentByteCount = UInt16(clamping: fragmentRange(fragmentCount - 1).count)
    header.writeHeader(to: &packet)
    ParityCode.append(
      paritySentCount, of: bytes.span, length: fragmentByteCount, to: &packet)
    paritySentCount += 1
  }
}

/// Fragments to send again, first asked first served.
struct RetransmissionQueue: Sendable {
  struct Entry: Sendable, BitwiseCopyable {
    var number: Int64 = 0
    var fragment: UInt8 = 0
  }

  private var entries: [Entry]
  private var first = 0
  private var count = 0

  init(capacity: Int) { entries = Array(repeating: Entry(), count: capacity) }

  var isEmpty: Bool { count == 0 }

  /// `false` when it is full.
  mutating func push(_ entry: Entry) -> Bool {
    guard count < entries.count else { return false }
    entries[(first + count) % entries.count] = entry
    count += 1
    return true
  }

  mutating func pop() -> Entry? {
    guard count > 0 else { return nil }
    let entry = entries[first]
    first = (first + 1) % entries.count
    count -= 1
    return entry
  }
}
