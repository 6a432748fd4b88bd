package import Primitives
internal import Reactor

/// What people read: lines, and on a terminal one region below them that is redrawn in place.
package final class Console {
  private let isTalkative: Bool
  private let isJSON: Bool
  private let isQuiet: Bool
  private let logLevel: OnlineOptions.LogLevel
  private let out: OutputFile
  private let errors = OutputFile.standardError
  private var region: StatusRegion
  private let regionOutput: OutputFile?
  private var allowance = PeersAllowance.sentences
  private let now: () -> Instant
  /// Whether what is said begins with the time of day, as what waits for days needs it.
  package var stampsLines = false

  /// - Parameters:
  ///   - isJSON: Standard output belongs to the JSON Lines.
  ///   - isQuiet: Only errors are said.
  ///   - isOutputTaken: Standard output is sound: what is said goes to standard error.
  ///   - now: A clock, for the rate of what others cause.
  package init(
    isJSON: Bool, isQuiet: Bool, logLevel: OnlineOptions.LogLevel = .warning,
    isOutputTaken: Bool = false, now: @escaping () -> Instant = { SystemClock.now }
  ) {
    self.now = now
    out = isOutputTaken ? .standardError : .standardOutput
    isTalkative = !isJSON && !isQuiet
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    self.logLevel = logLevel
    let isPlain = ["", "dumb"].contains(ProcessSurroundings.variable("TERM") ?? "")
    if isQuiet || isPlain {
      regionOutput = nil
    } else if isJSON {
      // Only where the two cannot run into each other: what reads a pipe shows it on a terminal.
      regionOutput = errors.isTerminal && FileMark(stream: .output) != nil ? errors : nil
    } else {
      regionOutput = out.isTerminal ? out : nil
    }
    let wantsNoColor = !(ProcessSurroundings.variable("NO_COLOR") ?? "").isEmpty
    region = StatusRegion(usesColor: !wantsNoColor)
  }

  /// Whether `show` shows anything.
  package var hasRegion: Bool { regionOutput != nil }
  package var usesColor: Bool { region.usesColor && hasRegion }

  /// A line on standard output, unless that is JSON or nothing is to be said.
  package func say(_ text: String) {
    guard isTalkative else { return }
    hideRegion()
    write(LineWrap.fitted(stamped(Printable.lines(text)), to: out) + "\n", to: out)
    drawRegion()
  }

  /// A table has a line of its own for the time.
  private func stamped(_ text: String) -> String {
    stampsLines ? LocalTime.clock + (text.hasPrefix(" ") ? "\n" : "  ") + text : text
  }

  /// A terminal's bell: somebody calls.
  package func ring() {
    if isTalkative, out.isTerminal { write("\u{7}", to: out, isContent: true) }
  }

  /// A line of what others can bring about without end: those too many are counted instead.
  package func sayOfOthers(_ text: String) {
    guard isTalkative, allowance.spend(now: now()) else { return }
    if let count = allowance.takeLeftOut() { say("(\(count) more such lines.)") }
    say(text)
  }

  /// What somebody sent for a person to read: said however little is said, letter for letter. JSON
  /// Lines have it themselves.
  ///
  /// - Returns: Whether it was written, where it is to be.
  @discardableResult
  package func sayContent(_ text: String) -> Bool {
    guard !isJSON else { return true }
    hideRegion()
    let isWritten = write(Printable.lines(text) + "\n", to: out, isContent: true)
    drawRegion()
    return isWritten
  }

  /// What came of something that failed, on standard error; of a quiet program the short form. JSON
  /// Lines have it in their summary.
  package func sayFailed(_ text: String, brief: String? = nil) {
    guard !isJSON, let words = isTalkative ? text : brief.map({ "earshot: \($0)" }) else { return }
    hideRegion()
    write(LineWrap.fitted(stamped(Printable.lines(words)), to: errors) + "\n", to: errors)
    drawRegion()
  }

  /// A failure, always, on standard error.
  package func complain(_ failure: CommandFailure) {
    hideRegion()
    write(LineWrap.fitted(stamped(Printable.lines(failure.text)), to: errors) + "\n", to: errors)
  }

  /// A line on standard error, if `--log-level` lets it.
  package func log(_ level: OnlineOptions.LogLevel, _ text: String) {
    guard level <= logLevel else { return }
    hideRegion()
    let line = "earshot: \(level.rawValue): \(Printable.only(text))"
    write(LineWrap.fitted(stamped(line), to: errors) + "\n", to: errors)
    drawRegion()
  }

  /// What is waited for, on standard error unless the program is quiet: no failure and no warning.
  package func announceWait(_ text: String) {
    guard !isQuiet else { return }
    hideRegion()
    let line = "earshot: \(Printable.only(text)) ..."
    write(LineWrap.fitted(stamped(line), to: errors) + "\n", to: errors)
    drawRegion()
  }

  /// Puts `view` into the region.
  package func show(_ view: CallView?) {
    guard let regionOutput else { return }
    region.view = view
    write(region.redraw(columns: columns), to: regionOutput)
  }

  /// The same with a probe.
  package func show(_ probe: ProbeView?) {
    guard let regionOutput else { return }
    region.probe = probe
    write(region.redraw(columns: columns), to: regionOutput)
  }

  /// The same with a transfer.
  package func show(_ transfer: TransferView?) {
    guard let regionOutput else { return }
    region.transfer = transfer
    write(region.redraw(columns: columns), to: regionOutput)
  }

  /// The same with a channel.
  package func show(_ room: RoomView?) {
    guard let regionOutput else { return }
    region.room = room
    write(region.redraw(columns: columns), to: regionOutput)
  }

  /// Takes the region away, for good or until the next `show`.
  package func clear() {
    region.view = nil
    region.probe = nil
    region.transfer = nil
    region.room = nil
    hideRegion()
  }

  private var columns: Int { TerminalInput.columnCount ?? 80 }

  private func hideRegion() {
    guard let regionOutput else { return }
    write(region.erase(columns: columns), to: regionOutput)
  }

  private func drawRegion() {
    guard let regionOutput, !region.isEmpty else { return }
    write(region.redraw(columns: columns), to: regionOutput)
  }

  @discardableResult
  private func write(_ text: String, to output: OutputFile, isContent: Bool = false) -> Bool {
    guard !text.isEmpty else { return true }
    do throws(ReactorError) {
      try output.write(PlainLetters.isWanted && !isContent ? PlainLetters.of(text) : text)
      return true
    } catch {
      return false  // Nobody reads any more; the call goes on.
    }
  }
}
