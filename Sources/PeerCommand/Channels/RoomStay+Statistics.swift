internal import Earshot
internal import Primitives
internal import Reactor

/// How it goes, when somebody asks, and what is written to all.
extension RoomStay {
  /// What became of an own message.
  enum Saying {
    /// It is on its way to those who are there, by this name.
    case sent(UInt64)
    /// Nobody can be reached at present, or too much waits.
    ///
    /// - Parameter reason: What a person may have to do about it.
    case later(EarshotError?)
    case refused(String)
  }

  /// Sends a message to all who are there. Who comes later does not get it.
  func say(_ bytes: [UInt8]) async -> Saying {
    guard role == .host else {
      return .refused("Only a host writes to all; key r asks for the other role.")
    }
    do throws(EarshotError) {
      return try await media.send(bytes).map(Saying.sent) ?? .later(nil)
    } catch {
      return error.code == .invalidArgument
        ? .refused("\(error.message) \(error.advice)") : .later(error)
    }
  }

  /// Says the numbers of now, and writes them to the lines: of each call of a mesh, and of the
  /// relay.
  func showStatistics() async {
    guard joined != nil else { return session.console.say("There are no statistics yet.") }
    for (_, call, numbers) in await media.callStatistics() {
      StatsLine.write(numbers, call, to: session.lines)
    }
    var view = await view(now: SystemClock.now)
    view.hint = ""
    var rows = view.lines(columns: Self.statisticsColumns).filter { !$0.isEmpty }
    if view.isRelayed, let relay = await media.relay {
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

  /// Lines that are said are broken where the terminal ends.
  private static let statisticsColumns = 200
}
