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
    tellFaults()
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
      report, savedTo: ends?.savedName,
      videoSavedTo: ends?.video?.sink.shownCount == 0 ? nil : ends?.video?.saveName,
      prediction: prediction, with: peer,
      members: (ends?.absent(report) ?? []) + (company.room?.book.rows ?? []))
    if ExitCode(report) == .done {
      session.console.say(table)
    } else {
      session.console.sayFailed(
        table, brief: "\(view.peer): \(report.outcome.rawValue): \(report.reason)")
    }
    if let error = report.error { session.console.complain(CommandFailure(error)) }
  }

  /// Nobody waits for the report: what was heard is a file all the same.
  func abandon() -> ExitCode {
    ends?.sink.finish()
    return .interrupted
  }

  /// What cannot be played or saved any more, once each: who talks on wants to know now.
  func tellFaults() {
    let sounds = [ends?.source.fault, ends?.sink.fault]
    let video = ends?.video
    let pictures = [video?.source?.fault, video?.sink.fault, company.room?.pictures.fault]
    let faults =
      (sounds + pictures).compactMap { $0.map { CommandFailure(.file, $0) } }
      + [ends?.arrivals?.fault].compactMap(\.self)
    for fault in faults where toldFaults.insert(fault.message).inserted { session.remember(fault) }
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

extension OpenedSound {
  /// Pictures that were to be sent or saved, and were not.
  fileprivate func absent(_ report: CallReport) -> [(title: String, text: String)] {
    guard let video, report.durationMs >= 2000 else { return [] }
    return VideoMessages.absent(
      report.statistics, wasToSend: video.source != nil,
      unsaved: video.sink.shownCount == 0 ? video.saveName : nil)
  }

  /// As the table has it.
  fileprivate var savedName: String? {
    guard sink.isSaved, let saveName else { return nil }
    return sink.fault == nil ? saveName : "\(saveName) as far as it went"
  }
}
