public import LastMile
internal import Primitives
internal import Reactor
internal import Wire

/// The line graded again and again, before a call.
extension Endpoint {
  /// Grades the line each 2 s, or as set, for as long as the result is read and the endpoint is
  /// open. Each grade is a probe of delay and loss alone (`ProbePlan.measuresBandwidth`), of a few
  /// kilobytes; its `rating.grade` is 0...6. While a call or another probe runs there is none.
  ///
  /// - Parameters:
  ///   - target: where the line ends.
  ///   - interval: from the beginning of one grade to that of the next, 1 s and more.
  /// - Throws: `invalidName` for a target that is none, `closed`.
  public func watchLine(
    _ target: ProbeTarget = .rendezvous, each interval: Duration = .seconds(2)
  ) throws(EarshotError) -> AsyncStream<LineReport> {
    guard !isClosed else { throw .closed }
    if case .peer(let text) = target, PeerID(text) == nil, PeerName(text) == nil {
      throw .invalidName(text)
    }
    return LineWatch(endpoint: self, target: target, interval: interval).reports
  }
}

/// One grade after the other, as they are read.
struct LineWatch: Sendable {
  let endpoint: Endpoint
  let target: ProbeTarget
  let interval: Duration
  private let next = Guarded(SystemClock.now)

  init(endpoint: Endpoint, target: ProbeTarget, interval: Duration) {
    self.endpoint = endpoint
    self.target = target
    self.interval = max(interval, Self.leastInterval)
  }

  var reports: AsyncStream<LineReport> {
    AsyncStream {
      while !Task.isCancelled {
        await endpoint.rest(next.withLock { $0 } - SystemClock.now)
        next.withLock { $0 = SystemClock.now + interval }
        guard await !endpoint.isClosed else { return nil }
        if let report = await grade() { return report }
      }
      return nil
    }
  }

  /// `nil` while something else runs.
  private func grade() async -> LineReport? {
    var plan = ProbePlan()
    plan.measuresBandwidth = false
    do throws(EarshotError) {
      return await (try endpoint.probe(target, plan: plan)).result()
    } catch {
      return nil
    }
  }

  static let leastInterval = Duration.seconds(1)
}
