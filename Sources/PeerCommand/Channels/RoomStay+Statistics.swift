internal import Earshot
internal import Primitives
internal import Reactor

/// How it goes, when somebody asks.
extension RoomStay {
  /// Says the numbers of now, and writes them to the lines: of each call of a mesh, and of the
  /// relay.
  func showStatistics() async {
    guard joined != nil else { return session.console.say("There are no statistics yet.") }
    for (_, call) in links.linked {
      guard let numbers = await session.endpoint.call(call).statistics() else { continue }
      StatsLine.write(numbers, call, to: session.lines)
      handleNumbers(numbers, of: call)
    }
    var view = view(now: SystemClock.now)
    view.hint = ""
    var rows = view.lines(columns: Self.statisticsColumns).filter { !$0.isEmpty }
    if let relay, way.isRelayed {
      if let numbers = await relay.statistics {
        RelayStatsLine.write(numbers, in: channel.name, to: session.lines)
      }
      let counts = await relay.counts
      session.lines.write("event") { object in
        object.add("name", "relayStatistics")
        object.add("channel", channel.name.description)
        object.add("framesSent", counts.sent)
        object.add("framesOpened", counts.opened)
        object.add("framesUnopened", counts.unopened)
      }
      rows.append(
        "by the relay: \(counts.sent) frames sent, \(counts.opened) opened, "
          + "\(counts.unopened) not")
    }
    session.console.say(rows.joined(separator: "\n"))
  }

  /// What the relay brings of each member. Of one with a call that counts.
  func handleNumbers(_ all: RelayStatistics) {
    let called = Set(links.linked.map(\.user.uid))
    // Who has left has its numbers already.
    for host in all.hosts where !called.contains(host.uid) && roll.isThere(host.uid) {
      roll.setNumbers(host.numbers, of: host.uid, by: .relay)
    }
  }

  /// Lines that are said are broken where the terminal ends.
  private static let statisticsColumns = 200
}
