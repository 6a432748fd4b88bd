internal import Earshot
internal import Primitives
internal import Reactor

/// The end of a call: its report, and what is remembered of it.
extension CallRun {
  func finish(_ report: CallReport) {
    self.report = report
    deadlines.cancelAll()
    session.console.clear()
    ends?.sink.finish()
    session.remember(ends?.source.fault)
    session.remember(ends?.sink.fault)
    session.remember(ends?.video?.source?.fault)
    session.remember(ends?.video?.sink.fault)
    session.remember(ends?.arrivals?.fault)
    session.remember(company.room?.pictures.fault)
    if let last = report.statistics { keep(last) }
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    let names = [view.peer, report.peerName, report.peer?.description].compactMap(\.self)
    let memory = ProbeMemory(besideIdentity: session.options.identity)
    let probed = memory.entry(for: names, now: now)
    prediction = report.statistics.flatMap { probed?.comparison(with: $0, now: now) }
    if let numbers = report.statistics, let probed,
      let pair = ProbeHistory.Pair(probed, numbers, at: now, seconds: report.durationMs / 1000)
    {
      remember(pair)
    }
    company.room?.writeSummary()
    SummaryLine.write(report, prediction: probed?.prediction(now: now), to: session.lines)
    let table = EndTable.text(
      report, savedTo: ends?.sink.isSaved == true ? ends?.saveName : nil,
      videoSavedTo: ends?.video?.sink.shownCount == 0 ? nil : ends?.video?.saveName,
      prediction: prediction, with: peer, members: company.room?.book.rows ?? [])
    if ExitCode(report) == .done {
      session.console.say(table)
    } else {
      session.console.sayFailed(
        table, brief: "\(view.peer): \(report.outcome.rawValue): \(report.reason)")
    }
    if let error = report.error { session.console.complain(CommandFailure(error)) }
  }

  /// A name that was dialled is in the report; one that is not was on a card.
  private var peer: EndTable.Peer {
    var peer = EndTable.Peer()
    peer.isConfirmed = codes.isConfirmed(id)
    if role == .caller, OnlineOptions.isName(view.peer) { peer.cardName = view.peer }
    return peer
  }

  /// Puts it into the history of probes.
  private func remember(_ pair: ProbeHistory.Pair) {
    do throws(ReactorError) {
      try ProbeHistory(besideIdentity: session.options.identity).append(pair)
    } catch {
      session.console.log(.warning, "This call is not in the history of probes: \(error).")
    }
  }
}
