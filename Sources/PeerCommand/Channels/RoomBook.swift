package import Earshot
internal import Primitives

/// What is kept of the members of a channel that a call became, for its end: who was talked with,
/// for how long, and how good it was. Pure.
package struct RoomBook {
  /// One member; of several calls with it the sound of all.
  package struct Entry: Sendable {
    package let id: PeerID?
    package var name: String
    package var uid: UInt32?
    /// It was there when we left.
    package var isThere = false
    /// Seconds of sound, silence apart.
    package var heard = 0.0
    package var packets = 0
    /// Before any repair, and of these what nothing brought in time.
    package var lost = 0
    package var residualLost = 0
    /// Of the call that was heard longest, 1...5.
    package var mos: Double?
    fileprivate var longest = 0.0
  }

  package private(set) var entries: [Entry] = []
  /// Calls in which the two were connected, and still are.
  private var talking: Set<CallID> = []
  /// Of calls that are connected, for those that are over before they are asked for their last.
  private var newest: [CallID: CallStatistics] = [:]
  /// How many were talked with.
  package private(set) var connectedCount = 0

  package init() {}

  package mutating func handleConnected(_ call: CallID) {
    connectedCount += 1
    talking.insert(call)
  }

  package func isTalking(_ call: CallID) -> Bool { talking.contains(call) }

  /// The numbers of a call that goes on.
  package mutating func keep(_ numbers: CallStatistics, of call: CallID) {
    if talking.contains(call) { newest[call] = numbers }
  }

  package func newestNumbers(of call: CallID) -> CallStatistics? { newest[call] }

  /// - Returns: Whether the two had talked.
  package mutating func handleEnd(_ call: CallID) -> Bool {
    newest[call] = nil
    return talking.remove(call) != nil
  }

  /// The numbers of a call with a member, at its end.
  package mutating func append(
    _ numbers: CallStatistics?, of name: String, _ id: PeerID?, uid: UInt32?,
    isThere: Bool = false
  ) {
    let index =
      entries.firstIndex { id != nil && $0.id == id || id == nil && $0.name == name }
      ?? entries.count
    if index == entries.count {
      guard entries.count < Self.mostEntries else { return }
      entries.append(Entry(id: id, name: name))
    }
    entries[index].name = name
    entries[index].uid = uid ?? entries[index].uid
    entries[index].isThere = isThere
    guard let received = numbers?.received else { return }
    let seconds = numbers?.audio?.inbound.audibleDuration ?? 0
    entries[index].heard += seconds
    entries[index].packets += received.packetsReceived + received.packetsLost
    entries[index].lost += received.packetsLost
    entries[index].residualLost += received.residualLost
    if seconds >= entries[index].longest {
      (entries[index].longest, entries[index].mos) = (seconds, received.mos)
    }
  }

  /// What the end of a call says of each member, below its own table.
  package var rows: [(title: String, text: String)] {
    entries.map { entry in
      guard entry.heard > 0 else { return (entry.name, "nothing was heard") }
      var text = "heard \(Wording.decimal(entry.heard)) s"
      if let mos = entry.mos { text += ", MOS \(Wording.decimal(mos)) of 5" }
      let share = Double(entry.lost) / Double(max(1, entry.packets))
      text += ", lost \(entry.lost) of \(entry.packets) packets (\(Wording.percent(share)))"
      if entry.lost > 0 { text += ", \(entry.residualLost) not repaired" }
      return (entry.name, text)
    }
  }

  /// The whole of `channelSummary`.
  package func fill(
    _ object: inout JSONObject, _ channel: ChannelName, _ stay: (uid: UInt32, lasted: Duration)?,
    hasFailed: Bool, metCount: Int
  ) {
    object.add("outcome", hasFailed ? "failed" : "completed")
    object.add("channel", channel.description)
    object.add("uid", stay.map { Int($0.uid) })
    object.add("durationMs", stay.map { Int($0.lasted.milliseconds) })
    object.add("membersMet", metCount)
    object.add("membersHeard", connectedCount + 1)
    fill(&object)
  }

  package func fill(_ object: inout JSONObject) {
    let members = entries.map { entry in
      var member = JSONObject()
      member.add("uid", entry.uid.map { Int($0) })
      member.add("id", entry.id?.description)
      member.add("role", ChannelRole.host.rawValue)
      member.add("isThere", entry.isThere)
      member.add("heardMs", Int(entry.heard * 1000))
      member.add("packets", entry.packets)
      member.add("lost", entry.lost)
      member.add("residualLost", entry.residualLost)
      member.add("mos", entry.mos)
      return member.value
    }
    object.add("members", JSONValue.array(members))
  }

  /// A channel that was a call has 8 members at a time.
  package static let mostEntries = 64
}
