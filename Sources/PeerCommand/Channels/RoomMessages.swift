internal import Earshot
internal import Primitives
internal import Reactor

/// Messages among the members of channels, as `earshot join` sends and shows them. Own lines wait
/// in their order until somebody is there, and while too many are under way.
final class RoomMessages {
  private struct Own {
    let number: Int
    let bytes: [UInt8]
    /// Why it waits was told.
    var isTold = false
  }

  private struct Flight {
    let channel: ChannelName
    /// Names it in its channel.
    let tag: UInt64
  }

  private let session: OnlineSession
  /// Channels are named where there are several.
  private let namesChannels: Bool
  private var count = 0
  private var waiting: [Own] = []
  /// By their numbers.
  private var flights: [Int: Flight] = [:]
  private(set) var retryAt: Instant?
  private var input: LineInput?

  init(_ session: OnlineSession, namesChannels: Bool) {
    self.session = session
    self.namesChannels = namesChannels
  }

  // MARK: - Own ones

  /// Each line of standard input is one from now on.
  func readLines() throws(ReactorError) {
    input = try session.inbox.lineInput(limit: Self.lineByteCount)
  }

  /// A line is to be sent; an empty one is none.
  func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    count += 1
    waiting.append(Own(number: count, bytes: bytes))
  }

  /// Sends what may leave, and reads on where little waits.
  ///
  /// - Parameter stay: In the channel that is published to.
  func advance(_ stay: RoomStay?) async {
    await send(in: stay)
    guard input != nil, waiting.count < Self.mostWaiting else { return }
    await session.inbox.settle()
    readOn()
  }

  private func send(in stay: RoomStay?) async {
    retryAt = nil
    while let own = waiting.first, flights.count < Self.mostUnderWay {
      guard let stay, stay.joined != nil, stay.ending == nil else { return }
      switch await stay.say(own.bytes) {
      case .sent(let tag):
        waiting.removeFirst()
        flights[own.number] = Flight(channel: stay.channel.name, tag: tag)
        write("channelMessageSent", own.number, in: stay.channel.name) {
          $0.add("bytes", own.bytes.count)
        }
        session.console.say("You: \(Self.words(own.bytes))")
      case .later(let reason):
        tellWait(reason)
        return retryAt = SystemClock.now + Self.retryPace
      case .refused(let reason):
        waiting.removeFirst()
        write("channelMessageRefused", own.number, in: stay.channel.name) {
          $0.add("reason", reason)
        }
        session.console.sayFailed(reason)
      }
    }
  }

  /// No more leaves: the channel is left.
  func finish() {
    input?.pause()
    guard !waiting.isEmpty else { return }
    session.lines.write("event") { object in
      object.add("name", "channelMessagesUnsent")
      object.add("count", waiting.count)
    }
    session.console.sayFailed(
      waiting.count == 1
        ? "A message was not sent." : "\(waiting.count) messages were not sent.")
    waiting = []
  }

  /// What became of a message.
  func handleDelivery(of tag: UInt64, in channel: ChannelName, isDelivered: Bool) {
    let found = flights.first { $0.value.channel == channel && $0.value.tag == tag }
    guard let number = found?.key else { return }
    flights[number] = nil
    write("channelMessageDelivery", number, in: channel) { $0.add("delivered", isDelivered) }
    if !isDelivered {
      session.console.sayFailed("It is not certain that message \(number) was delivered to all.")
    }
  }

  // MARK: - Those of others

  /// A member's message has come.
  ///
  /// - Parameter name: What it is called.
  func show(
    _ bytes: [UInt8], stream: UInt8, from uid: UInt32, called name: String,
    in channel: ChannelName
  ) {
    let text = String(validating: bytes, as: UTF8.self)
    if session.lines.admitsPeersLine() {
      session.lines.write("event") { object in
        object.add("name", "channelMessage")
        object.add("channel", channel.description)
        object.add("uid", Int(uid))
        object.add("stream", Int(stream))
        object.add("bytes", bytes.count)
        object.add("text", text)
      }
    }
    let place = namesChannels ? "\(channel.shortText), " : ""
    let who = "\(place)\(name)"
    guard stream == Self.textStream, text != nil else {
      let data = "\(bytes.count) bytes that are no text, on stream \(stream)"
      return session.console.sayOfOthers("\(who) sent \(data).")
    }
    session.console.sayOfOthers("\(who): \(Self.words(bytes))")
  }

  /// Of a member's messages some have not come.
  ///
  /// - Parameter name: What it is called.
  func showMissed(_ missed: Int, from name: String) {
    session.console.sayOfOthers(
      missed == 1
        ? "A message of \(name) was missed." : "\(missed) messages of \(name) were missed.")
  }

  // MARK: - Parts

  private func tellWait(_ reason: EarshotError?) {
    guard !waiting[0].isTold else { return }
    waiting[0].isTold = true
    session.console.say(
      reason.map { "\($0.message) It is tried again." }
        ?? "Nobody is there yet to read it: it is sent as soon as somebody is.")
  }

  private func write(
    _ name: String, _ number: Int, in channel: ChannelName,
    _ fill: (inout JSONObject) -> Void
  ) {
    session.lines.write("event") { object in
      object.add("name", name)
      object.add("channel", channel.description)
      object.add("message", number)
      fill(&object)
    }
  }

  private func readOn() {
    do throws(ReactorError) {
      try input?.resume()
    } catch {
      session.remember(CommandFailure(system: error))
    }
  }

  /// For a terminal: in one line, without what would move its cursor, and not without end.
  static func words(_ bytes: [UInt8]) -> String {
    let text = Printable.only(String(decoding: bytes, as: UTF8.self))
    // A letter may have marks without end: its parts count.
    let scalars = text.unicodeScalars
    guard scalars.count > Self.mostShown else { return text }
    return String(String.UnicodeScalarView(scalars.prefix(Self.mostShown))) + "…"
  }

  /// Of calls and channels, for whoever says no other.
  private static let textStream: UInt8 = 8
  /// One more than a message may have: a longer line is refused, not cut.
  private static let lineByteCount = 65_537
  /// Lines of which no further piece is read.
  private static let mostWaiting = 32
  private static let mostUnderWay = 16
  /// Letters of one that a terminal shows.
  private static let mostShown = 1000
  private static let retryPace = Duration.milliseconds(250)
}
