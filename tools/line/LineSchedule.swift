internal import LinkModel
internal import Primitives
internal import Reactor

/// What happens to a line while it runs: changes, rebindings, the end.
final class LineSchedule {
  private enum Step {
    case change(LineCourse.Change)
    case rebind
    case end
  }

  private var steps: [(at: Instant, step: Step)] = []
  private var hasBegun = false
  private let options: LineOptions
  private let line: any CarriedLine
  private let loop: EventLoop
  private var timer: EventLoop.Token?

  init(
    _ options: LineOptions, _ line: any CarriedLine, on loop: EventLoop
  ) throws(ReactorError) {
    self.line = line
    self.loop = loop
    self.options = options
    timer = try loop.addTimer { [unowned self] now in play(now: now) }
    if !options.waitsForSignal { begin() }
  }

  /// The course and everything else counts from now on; only the first time counts.
  func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    let start = SystemClock.now
    line.journal?.noteZero(at: start)
    steps += options.course.changes.map { (start + $0.at, .change($0)) }
    steps += options.rebindAt.map { (start + $0, .rebind) }
    if let duration = options.duration { steps.append((start + duration, .end)) }
    steps.sort { $0.at < $1.at }
    arm()
  }

  private func play(now: Instant) {
    while let next = steps.first, next.at <= now {
      steps.removeFirst()
      switch next.step {
      case .change(let change): line.change(change.direction) { change.spec.apply(to: &$0) }
      case .rebind: line.rebind()
      case .end: loop.stop()
      }
    }
    arm()
  }

  private func arm() {
    if let timer { loop.setDeadline(timer, steps.first?.at) }
  }
}
