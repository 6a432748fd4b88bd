import Congestion
import Primitives
import Tokens
import Wire

/// One member's session at a relay, and all that is kept of it.
final class Seat {
  /// The session's place in the server.
  let slot: UInt32
  /// No other seat ever had it.
  let number: UInt32
  var claim: SeatClaim
  /// The contact card that its INIT had.
  let card: [UInt8]
  let room: ForwardingRoom
  /// The session is confirmed: the address is proven.
  var isTaken = false

  var told = Told()

  /// What its INIT has said.
  struct Told {
    /// Whose it is, as it has proven; `nil` = nobody else's.
    var member: PeerID?
    /// It understands CHANNEL_DATA.
    var takesData = false
    /// It understands CHANNEL_UNSENT.
    var takesUnsentCounts = false
    /// Of more hosts who speak it wants as many of the loudest; `nil` = as many as is usual.
    var loudest: Int?
  }

  /// A host's number in the room, 1...64; 0 = it has published nothing.
  var source: UInt8 = 0
  /// What it published; `nil` before the first frame.
  var frames: FrameRing?
  var voice = VoiceLevel()
  /// Copies before the CHANNEL_AUDIO of the packet that is being read.
  var copies: [(frame: ChannelCopyFrame, sealed: PacketRange)] = []
  var meters = Meters()

  /// When a packet of it came last; `nil` before the first.
  var lastArrival: Instant?
  /// When its packets arrived; `nil` before it has published.
  var recorder: FeedbackRecorder?
  /// Whether it is among those that wait for their report.
  var awaitsReport = false
  var loss = DownlinkLoss()
  /// How much of the hosts' sound goes to it.
  var sound = SoundChoice()
  /// What of it has gone there.
  var sentSound = SentSound()
  var pictures = SeatPictures()
  /// Keys and cards for it, oldest first.
  var words: [Word] = []

  /// The pace of what it sends.
  struct Meters {
    var audio = PaceMeter()
    var bytes = PaceMeter()
    var keys = PaceMeter()
    var questions = PaceMeter()
    var reports = PaceMeter()
    var messages = PaceMeter()
    var messageCopies = PaceMeter()
  }

  struct Word {
    let uid: UInt32
    let bytes: [UInt8]
    let isCard: Bool
  }

  init(
    slot: UInt32, number: UInt32, claim: SeatClaim, card: [UInt8], room: ForwardingRoom
  ) {
    self.slot = slot
    self.number = number
    self.claim = claim
    self.card = card
    self.room = room
    copies.reserveCapacity(Self.mostCopies)
  }

  /// Whether sound and pictures may go to it: who says nothing any more may be gone, and its
  /// address another's (RFC 7675).
  func isThere(_ limits: ForwardingLimits, now: Instant) -> Bool {
    lastArrival.map { now < $0 + limits.memberSilence } ?? true
  }

  /// Whether a host's sound may be for it: who has not chosen hears those that all hear.
  func mayHear(_ host: Seat) -> Bool { told.loudest != nil || host.voice.isForwarded }

  /// A frame of a host has gone to others, and not to this member.
  func leaveOut(_ host: Seat) {
    if told.takesUnsentCounts { sentSound.leaveOut(host.source) }
  }

  static let mostCopies = 3
}

/// Loss on the way to a member, by its reports.
struct DownlinkLoss {
  /// Of 65 536.
  private(set) var share = 0
  /// The highest number that a report has told of.
  private var highest: UInt32?

  /// - Parameter sent: The number of the next packet: a report of what was never sent is none.
  mutating func handle(_ feedback: FeedbackFrame, in packet: Span<UInt8>, sent: UInt32) {
    guard feedback.header.largest < sent else { return }
    var entries = feedback.entries(in: packet)
    while let entry = entries.next() {
      if let highest, entry.number <= highest { break }
      share += ((entry.isReceived ? 0 : 65_536) - share) / Self.weight
    }
    highest = max(highest ?? 0, feedback.header.largest)
  }

  /// Packets over which the mean goes: two and a half seconds of one host.
  private static let weight = 128
}

/// How loud a host is, by its own word (RFC 6464).
struct VoiceLevel {
  /// dB above silence × 8, smoothed.
  private(set) var loudness = 0
  private(set) var lastHeard: Instant?
  /// Since when there is nothing to hear in its frames; `nil` while there is.
  private var silentSince: Instant?
  /// When a frame was passed on.
  private var passed = Instant.zero
  var isForwarded = false

  mutating func handle(_ label: ChannelAudioLabel, pause: Duration, now: Instant) {
    let level = (127 - Int(label.attenuation)) * 8
    defer { silentSince = label.isSilent ? silentSince ?? now : nil }
    if isSpeaking(pause: pause, now: now) {
      loudness += (level - loudness) / 8
    } else {
      loudness = level
      isForwarded = false
    }
    lastHeard = now
  }

  func isSpeaking(pause: Duration, now: Instant) -> Bool {
    lastHeard.map { now < $0 + pause && !isSilent(now: now) } ?? false
  }

  /// Whether a frame that has just come is for others: of silence there is one each second.
  mutating func passes(now: Instant) -> Bool {
    guard !isSilent(now: now) || now >= passed + Self.silencePause else { return false }
    passed = now
    return true
  }

  private func isSilent(now: Instant) -> Bool {
    silentSince.map { now >= $0 + Self.silenceTail } ?? false
  }

  /// Frames of silence that go to all, so that what was heard before has ended in every decoder.
  private static let silenceTail = Duration.milliseconds(200)
  /// Who comes meanwhile hears of the host within that.
  private static let silencePause = Duration.seconds(1)

  func rank(hysteresis: Int) -> Int { loudness + (isForwarded ? hysteresis * 8 : 0) }
}

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
  /// Of which of them it was told again last.
  private var repeated = 0

  /// The source is another member's from now on.
  mutating func forget(_ source: UInt8) {
    lines[Int(source)] = Line()
    leftOut.removeAll { $0 == source }
  }

  init() { leftOut.reserveCapacity(lines.count) }

  /// Whether CHANNEL_SOURCE goes before the frame of a source: the first 10 times, then each 50th.
  /// With it the next of those that are left out are told of again: all words may have got lost.
  mutating func mustIntroduce(_ source: UInt8) -> Bool {
    let place = Int(source)
    let count = lines[place].introductions
    lines[place].introductions = count >= 59 ? 10 : count + 1
    guard count < 10 || count == 59 else { return false }
    if lines[place].unsent > 0 { lines[place].wordsLeft = max(1, lines[place].wordsLeft) }
    if count == 59 { repeatWords() }
    return true
  }

  private mutating func repeatWords() {
    var found = 0
    for _ in lines.indices where found < Self.wordsAgain {
      repeated = (repeated + 1) % lines.count
      guard lines[repeated].isLeftOut, lines[repeated].wordsLeft == 0 else { continue }
      lines[repeated].wordsLeft = 1
      leftOut.append(UInt8(repeated))
      found += 1
    }
  }

  /// A frame of the source has gone to others, and not to this member.
  mutating func leaveOut(_ source: UInt8) {
    guard !lines[Int(source)].isLeftOut, lines[Int(source)].newest > 0 else { return }
    lines[Int(source)].isLeftOut = true
    lines[Int(source)].wordsLeft = Self.words
    leftOut.append(source)
  }

  /// A frame of the source is for the member. Where it is dropped that is a loss.
  ///
  /// - Parameter recovered: how many before it came and go only as copies with it.
  mutating func pass(_ number: UInt32, of source: UInt8, recovered: UInt32) {
    let place = Int(source)
    let expected = lines[place].newest &+ 1 &+ recovered
    if lines[place].newest > 0, number > expected {
      lines[place].unsent &+= UInt16(truncatingIfNeeded: number - expected)
      lines[place].wordsLeft = Self.words
    }
    lines[place].newest = max(lines[place].newest, number)
    guard lines[place].isLeftOut else { return }
    lines[place].isLeftOut = false
    leftOut.removeAll { $0 == source }
  }

  /// Writes what is to be told with the next frame of a source.
  @_lifetime(packet: copy packet)
  mutating func writeUnsent(with source: UInt8, into packet: inout OutputSpan<UInt8>) {
    for place in leftOut.indices.prefix(Self.wordsAtOnce).reversed() {
      let other = leftOut[place]
      // The frame may have waited since before its host was left out: it has a word of its own.
      if other != source, lines[Int(other)].wordsLeft > 0 { writeWord(other, into: &packet) }
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
  /// How many are told of again with each 50th frame of a source.
  private static let wordsAgain = 2
}
