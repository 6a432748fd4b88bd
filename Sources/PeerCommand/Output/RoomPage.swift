package import Earshot
package import Plotting
internal import Primitives

/// What a stay in a channel has to say at its end, one row a member.
package struct RoomEnd: Sendable {
  /// Somebody who was there.
  package struct Member: Sendable {
    package var uid: UInt32
    /// As it is pinned; `nil` for whom one has no name.
    package var name: String?
    package var id: PeerID
    package var role: ChannelRole
    package var isThere: Bool
    /// Another program of the own identity: the two do not talk.
    package var isOwn = false
    /// How long it was heard, in ms.
    package var heardMs: Int
    /// Audio packets that came or were lost, of these the lost, and of those what nothing brought
    /// in time; `nil` by a relay.
    package var packets: Int?
    package var lost: Int?
    package var residualLost: Int?
    /// 1...5, of the last call with it.
    package var mos: Double?
    /// In ms, of the call with it if that goes on.
    package var roundTrip: Double?

    package init(uid: UInt32, id: PeerID, role: ChannelRole) {
      (self.uid, self.id, self.role) = (uid, id, role)
      (isThere, heardMs) = (true, 0)
    }
  }

  /// The name of the channel, without its key.
  package var channel: String
  /// Why it ended, in a word.
  package var ending: String
  package var seconds: Int
  package var uid: UInt32
  package var isRelayed: Bool
  /// The own role was audience.
  package var isListening = false
  package var members: [Member] = []
  /// How many more there were.
  package var leftOut = 0

  package init(channel: String, ending: String, seconds: Int, uid: UInt32, isRelayed: Bool) {
    self.channel = channel
    self.ending = ending
    self.seconds = seconds
    self.uid = uid
    self.isRelayed = isRelayed
  }

  /// The table on the terminal: hosts first, and no more of them than fit on a screen.
  package var text: String {
    var rows = [
      (title: "channel", text: "\(channel): \(ending)"),
      (title: "lasted", text: "\(lasted), as \(uid)"),
    ]
    let ranked = members.filter { $0.role == .host } + members.filter { $0.role != .host }
    rows += ranked.prefix(Self.mostRows).map { ($0.title, $0.text(isUnreached: isUnreached($0))) }
    let rest = members.count - min(members.count, Self.mostRows) + leftOut
    if rest > 0 { rows.append(("", "and \(rest) more")) }
    if members.isEmpty { rows.append(("members", "nobody else was there")) }
    return EndTable.text(rows.map { (Printable.only($0.title), Printable.only($0.text)) })
  }

  /// How long, and how sound went.
  var lasted: String {
    let others = members.filter(talks)
    let isReached = others.contains(where: \.wasReached)
    let way = isRelayed ? "by a relay" : isReached ? "host to host" : "nobody was reached"
    let time = Timestamp.clock(seconds: seconds)
    return others.isEmpty && !isRelayed ? time : "\(time), \(way)"
  }

  /// Whether there was to be a call with somebody. Two who only listen have none.
  private func talks(with member: Member) -> Bool {
    !member.isOwn && (member.role == .host || !isListening)
  }

  /// Whether it is there, and there never was a path to it.
  private func isUnreached(_ member: Member) -> Bool {
    !isRelayed && !member.wasReached && member.isThere && talks(with: member)
  }

  /// On the terminal.
  package static let mostRows = 16
}

extension RoomEnd.Member {
  /// Whether anything came of it, were it an answer alone.
  fileprivate var wasReached: Bool { (packets ?? 0) > 0 || roundTrip != nil }

  fileprivate var title: String { name ?? "\(uid)" }

  fileprivate var who: String { name == nil ? Wording.short(id) : "\(uid)" }

  fileprivate func text(isUnreached: Bool) -> String {
    var parts = [who]
    if isOwn {
      return who + ", another program of the own identity" + (isThere ? "" : ", had left")
    }
    if role == .audience { parts.append(isUnreached ? "audience" : "listened") }
    if heardMs > 0 { parts.append("heard \(Wording.decimal(Double(heardMs) / 1000)) s") }
    if isUnreached {
      parts.append("there was no path to it")
    } else if heardMs == 0, role == .host {
      parts.append("nothing was heard")
    }
    if let mos { parts.append("MOS \(Wording.decimal(mos)) of 5") }
    if let loss { parts.append("lost \(loss)") }
    if let residual { parts.append("\(residual) not repaired") }
    if !isThere { parts.append("had left") }
    return parts.joined(separator: ", ")
  }

  fileprivate var loss: String? {
    guard let packets, let lost, packets > 0 else { return nil }
    return "\(lost) of \(packets) packets (\(Wording.percent(Double(lost) / Double(packets))))"
  }

  /// Where something was lost.
  fileprivate var residual: String? {
    guard loss != nil, let lost, lost > 0 else { return nil }
    return residualLost.map { "\($0)" }
  }

  fileprivate var cells: [String] {
    [
      "\(uid)", name ?? "", "\(id)", role.rawValue,
      "\(Wording.decimal(Double(heardMs) / 1000)) s", mos.map(Wording.decimal) ?? "–",
      loss ?? "–", residualLost.map { "\($0)" } ?? "–", roundTrip.map(Wording.milliseconds) ?? "–",
      isThere ? "yes" : "no",
    ]
  }
}

/// The page of `join --report`: a table a channel with a row a member, and how each was heard over
/// time.
package enum RoomPage {
  package static func html(
    _ ends: [RoomEnd], plots: [Plot] = [], origin: PageOrigin? = nil
  ) -> String {
    let name = ends.first?.channel ?? ""
    let drawings = plots.map(\.svg).joined()
    let title = ends.count > 1 ? "<h2>\(Markup.escaped(name)), over time</h2>\n" : ""
    let body =
      ends.map(markup).joined() + title
      + (drawings.isEmpty ? "<p>Nobody was heard long enough to draw it.</p>\n" : drawings)
    return Page.html(
      title: "Earshot: channel \(name)", heading: "Channel \(name)", origin: origin, body)
  }

  private static func markup(_ end: RoomEnd) -> String {
    let facts = [
      ("ended", end.ending), ("lasted", end.lasted), ("own uid", "\(end.uid)"),
    ].map { "<tr><th>\($0)</th><td>\(Markup.escaped($1))</td></tr>\n" }
    let heads = headings.map { "<th>\($0)</th>" }.joined()
    let rows = end.members.map { member in
      "<tr>\(member.cells.map { "<td>\(Markup.escaped($0))</td>" }.joined())</tr>\n"
    }
    let rest = end.leftOut > 0 ? "<p>and \(end.leftOut) more</p>\n" : ""
    return "<h2>\(Markup.escaped(end.channel))</h2>\n<table>\n\(facts.joined())</table>\n"
      + "<table>\n<tr>\(heads)</tr>\n\(rows.joined())</table>\n\(rest)"
  }

  private static let headings = [
    "uid", "name", "ID", "role", "heard", "MOS", "lost", "not repaired", "round trip",
    "there at the end",
  ]
}
