import Wire

/// What of the sound of each source has gone to one member, and what it is told of the rest
/// (docs/protocol/relay.md §4): a host that the relay leaves out is not lost.
struct SentSound {
  private struct Line: BitwiseCopyable {
    /// Of the last frame that was sent, or dropped on the way to it; 0 = none.
    var newest: UInt32 = 0
    /// Frames that were not for the member since, mod 2^16.
    var unsent: UInt16 = 0
    /// How often CHANNEL_UNSENT is still to go.
    var wordsLeft: UInt8 = 0
    /// How often the source was told of: `mustIntroduce(_:)`.
    var introductions: UInt8 = 0
    var isLeftOut = false
  }

  private var lines = [Line](
    repeating: Line(), count: Int(ChannelAudioFrame.highestSource) + 1)
  /// Sources of which the member is to be told that they are left out.
  private var leftOut: [UInt8] = []

  /// The source is another member's from now on.
  mutating func forget(_ source: UInt8) {
    lines[Int(source)] = Line()
    leftOut.removeAll { $0 == source }
  }

  /// Whether CHANNEL_SOURCE goes before the frame of a source: the first 10 times, then each 50th.
  /// What was not sent is told anew with it.
  mutating func mustIntroduce(_ source: UInt8) -> Bool {
    let place = Int(source)
    let count = lines[place].introductions
    lines[place].introductions = count >= 59 ? 10 : count + 1
    guard count < 10 || count == 59 else { return false }
    if lines[place].unsent > 0 { lines[place].wordsLeft = max(1, lines[place].wordsLeft) }
    return true
  }

  /// A frame of the source has gone to others, and not to this member.
  mutating func leaveOut(_ source: UInt8) {
    guard !lines[Int(source)].isLeftOut, lines[Int(source)].newest > 0 else { return }
    lines[Int(source)].isLeftOut = true
    lines[Int(source)].wordsLeft = Self.words
    leftOut.append(source)
  }

  /// A frame that was for the member is dropped: to it that is a loss.
  mutating func drop(_ number: UInt32, of source: UInt8) {
    let place = Int(source)
    guard lines[place].newest > 0, number > lines[place].newest else { return }
    lines[place].unsent &+= UInt16(truncatingIfNeeded: number - lines[place].newest - 1)
    lines[place].newest = number
  }

  /// A frame of the source goes to the member.
  ///
  /// - Parameter recovered: how many before it came and go only as copies with it.
  mutating func handleSending(_ number: UInt32, of source: UInt8, recovered: UInt32) {
    let place = Int(source)
    defer { lines[place].newest = max(lines[place].newest, number) }
    let expected = lines[place].newest &+ 1 &+ recovered
    if lines[place].newest > 0, number > expected {
      lines[place].unsent &+= UInt16(truncatingIfNeeded: number - expected)
      lines[place].wordsLeft = Self.words
    }
    guard lines[place].isLeftOut else { return }
    lines[place].isLeftOut = false
    leftOut.removeAll { $0 == source }
  }

  /// Writes what is to be told with the next frame of a source.
  @_lifetime(packet: copy packet)
  mutating func writeUnsent(with source: UInt8, into packet: inout OutputSpan<UInt8>) {
    for place in leftOut.indices.prefix(Self.wordsAtOnce).reversed() {
      let other = leftOut[place]
      writeWord(other, into: &packet)
      if lines[Int(other)].wordsLeft == 0 { leftOut.remove(at: place) }
    }
    if lines[Int(source)].wordsLeft > 0 { writeWord(source, into: &packet) }
  }

  @_lifetime(packet: copy packet)
  private mutating func writeWord(_ source: UInt8, into packet: inout OutputSpan<UInt8>) {
    ChannelUnsentFrame(source: source, count: lines[Int(source)].unsent).write(to: &packet)
    lines[Int(source)].wordsLeft -= 1
  }

  /// Packets in a row with the same word: some may be lost.
  private static let words: UInt8 = 3
  private static let wordsAtOnce = 4
}
