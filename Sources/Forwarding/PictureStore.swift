import Primitives
import Wire

/// The newest fragments of one host's sealed pictures, to be sent on and sent again. All memory is
/// made at once.
struct PictureStore {
  struct Entry: BitwiseCopyable {
    var number: UInt32 = 0
    var header = VideoMediaFrame(
      number: 0, mediaTime: 0, isKeyFrame: true, temporalLayer: 0, references: (0, 0))
    var byteCount = 0

    /// A key frame so short says that there are no pictures at present.
    var isEmpty: Bool {
      header.isKeyFrame && header.lastFragmentIndex == 0 && byteCount < PictureStore.leastByteCount
    }
  }

  private static let leastByteCount = 64

  private let capacity: Int
  let part: PictureMemory.Part?
  private var entries: [Entry]
  private var bytes: [UInt8]
  /// By frame number and fragment: the entry's number.
  private var places: [UInt32]
  /// The number of the newest; the first is 1.
  private(set) var newest: UInt32 = 0

  /// - Parameter part: Of the relay's memory, kept as long as this.
  init(capacity: Int, _ part: PictureMemory.Part? = nil, isLow: Bool = false) {
    self.part = part
    newest = isLow ? Self.lowBit : 0
    self.capacity = max(1, capacity)
    entries = Array(repeating: Entry(), count: self.capacity)
    bytes = Array(repeating: 0, count: self.capacity * Self.slotByteCount)
    places = Array(repeating: 0, count: Self.frames * VideoMediaFrame.maximumFragmentCount)
  }

  subscript(number: UInt32) -> Entry? {
    let entry = entries[Int(number) % capacity]
    return entry.number == number && number & ~Self.lowBit != 0 ? entry : nil
  }

  /// The number of a fragment that is here.
  func find(_ frame: UInt16, _ fragment: UInt8) -> UInt32? {
    let number = places[Self.place(frame, fragment)]
    guard let entry = self[number], entry.header.number == frame,
      entry.header.fragmentIndex == fragment
    else { return nil }
    return number
  }

  /// Whether a fragment is here. One of the same number and another time is of a stream that has
  /// begun anew.
  private func has(_ header: VideoMediaFrame) -> Bool {
    guard let number = find(header.number, header.fragmentIndex) else { return false }
    return self[number]?.header.mediaTime == header.mediaTime
  }

  /// The number of the frame whose fragment came last.
  var newestFrame: UInt16? { self[newest]?.header.number }

  /// The last fragment of a frame, where one of its fragments is here.
  func lastFragment(of frame: UInt16) -> UInt8? {
    for fragment in UInt8(0)...UInt8.max {
      guard let number = find(frame, fragment) else { continue }
      return self[number]?.header.lastFragmentIndex
    }
    return nil
  }

  /// Keeps a fragment; `nil` if it is here already, or is too long.
  mutating func append(_ header: VideoMediaFrame, _ payload: Span<UInt8>) -> UInt32? {
    guard payload.count <= Self.slotByteCount, !header.isParity,
      !has(header)
    else { return nil }
    newest = (newest &+ 1) & ~Self.lowBit | newest & Self.lowBit
    let place = Int(newest) % capacity
    var header = header
    header.isRetransmission = false
    entries[place] = Entry(number: newest, header: header, byteCount: payload.count)
    let start = place * Self.slotByteCount
    for index in 0..<payload.count { bytes[start + index] = payload[index] }
    places[Self.place(header.number, header.fragmentIndex)] = newest
    return newest
  }

  @_lifetime(packet: copy packet)
  func write(_ entry: Entry, isAgain: Bool, to packet: inout OutputSpan<UInt8>) {
    var header = entry.header
    header.isRetransmission = isAgain
    header.writeHeader(to: &packet)
    let start = Int(entry.number) % capacity * Self.slotByteCount
    packet.append(span: bytes.span.extracting(start..<(start + entry.byteCount)))
  }

  private static func place(_ frame: UInt16, _ fragment: UInt8) -> Int {
    Int(frame) % frames * VideoMediaFrame.maximumFragmentCount + Int(fragment)
  }

  /// Marks the numbers of a low stream's fragments.
  static let lowBit: UInt32 = 1 << 31
  private static let frames = 64
  private static let slotByteCount = VideoMediaFrame.payloadByteCounts.upperBound
}
