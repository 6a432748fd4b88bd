package import Earshot

/// What the live region of `earshot join` shows: who is there, who speaks, and how the line to each
/// one is.
package struct RoomView: Sendable {
  /// One member that is heard or may be.
  package struct Person: Sendable {
    package var uid: UInt32
    /// That its identity is pinned under, or enough of its ID to tell it from others.
    package var name: String
    package var isHost: Bool
    /// How loud it is, in dB below full scale.
    package var level: Double
    /// The latest numbers of the call with it, or of what comes of it by a relay.
    package var numbers: CallStatistics?
    /// Another program of the own identity: the two do not talk.
    package var isOwn: Bool

    /// Whether anything comes of it, were it an answer alone.
    fileprivate var isReached: Bool {
      numbers.map { $0.currentRttMs != nil || $0.received.packetsReceived > 0 } ?? false
    }

    package init(
      uid: UInt32, name: String, isHost: Bool, level: Double, numbers: CallStatistics? = nil,
      isOwn: Bool = false
    ) {
      self.isOwn = isOwn
      self.uid = uid
      self.name = name
      self.isHost = isHost
      self.level = level
      self.numbers = numbers
    }
  }

  package var channel: String
  /// Since it was joined.
  package var seconds = 0
  /// Members, we included.
  package var memberCount = 1
  package var isRelayed = false
  package var isListening = false
  package var isMuted = false
  /// What is sent, in dB below full scale.
  package var playedLevel = -90.0
  package var people: [Person] = []
  /// Of the members who may hear, for people to compare; `nil` where there are no keys.
  package var fingerprint: String?
  /// Further channels of the same program, in a few words each.
  package var further: [String] = []
  package var hint = "m mute   r other role   q leave   ? keys"

  package init(channel: String) { self.channel = channel }

  /// So many have a line: hosts, the loudest first, then others. They stand by rising uid, so that
  /// lines do not jump.
  package static let mostLines = 8

  /// None is longer than `columns` - 1.
  package func lines(columns: Int) -> [String] {
    let width = max(1, columns - 1)
    let rest = people.count - min(people.count, Self.mostLines)
    var parts = [heading(width: width)] + shown.map { words($0, width: width) }
    if rest > 0 { parts.append(["and \(rest) more"]) }
    if let fingerprint { parts.append(["fingerprint \(fingerprint)"]) }
    if !further.isEmpty { parts.append(further) }
    parts.append([hint])
    return parts.flatMap { LineFold.lines($0.map(Printable.only), width: width) }
  }

  private var shown: [Person] {
    let ranked = people.sorted {
      ($0.isHost ? 1 : 0, $0.level, UInt32.max - $0.uid)
        > ($1.isHost ? 1 : 0, $1.level, UInt32.max - $1.uid)
    }
    return ranked.prefix(Self.mostLines).sorted { $0.uid < $1.uid }
  }

  private func heading(width: Int) -> [String] {
    var parts = [
      channel, Timestamp.clock(seconds: seconds), "\(memberCount) there",
    ]
    if let way { parts.append(way) }
    if isListening {
      parts.append("listening")
    } else if isMuted {
      parts.append("muted")
    } else {
      parts.append("sent " + StatusRegion.bar(level: playedLevel, width: min(12, width / 6)))
    }
    return parts
  }

  /// How sound goes; `nil` where there is nobody to talk with.
  private var way: String? {
    if isRelayed { return "by a relay" }
    let others = people.filter(talks)
    if others.contains(where: \.isReached) { return "host to host" }
    return others.isEmpty ? nil : "no path yet"
  }

  /// Whether there is to be a call with somebody. Two who only listen have none.
  private func talks(with person: Person) -> Bool {
    !person.isOwn && (person.isHost || !isListening)
  }

  private func words(_ person: Person, width: Int) -> [String] {
    var parts = ["\(person.uid)", person.name]
    if person.isOwn { return parts + ["another program of the own identity"] }
    if !isRelayed, !person.isReached, talks(with: person) {
      return parts + (person.isHost ? [] : ["listens"]) + ["no path yet"]
    }
    guard person.isHost else { return parts + ["listens"] }
    parts.append(StatusRegion.bar(level: person.level, width: min(12, width / 6)))
    guard let numbers = person.numbers else { return parts }
    if let rtt = numbers.currentRttMs { parts.append("rtt \(Wording.milliseconds(rtt))") }
    parts.append("loss \(Wording.lost(numbers.received))")
    if let mos = numbers.received.mos { parts.append("MOS \(Wording.decimal(mos))") }
    return parts
  }
}
