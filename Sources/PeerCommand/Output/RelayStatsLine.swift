internal import Earshot

/// The `stats` lines of a seat at a relay: one of the way to it and back, and one of each host.
enum RelayStatsLine {
  static func write(_ all: RelayStatistics, in channel: ChannelName, to lines: JSONLines) {
    write(all.own, .sent, channel, of: nil, to: lines)
    for host in all.hosts { write(host.numbers, .received, channel, of: host.uid, to: lines) }
  }

  private static func write(
    _ numbers: CallStatistics, _ sound: StatsLine.Sound, _ channel: ChannelName, of uid: UInt32?,
    to lines: JSONLines
  ) {
    lines.write("stats") { object in
      object.add("channel", channel.description)
      object.add("uid", uid.map { Int($0) })
      object.add("atMs", numbers.atMs)
      if uid == nil { object.add("qualityTx", numbers.qualityTx) }
      object.add("qualityRx", numbers.qualityRx)
      object.add("stats", .array(StatsLine.objects(numbers, sound).map(\.value)))
    }
  }
}
