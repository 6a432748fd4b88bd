public import LastMile
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Where the line that is probed ends.
public enum ProbeTarget: Sendable, Equatable {
  /// At the rendezvous of the endpoint.
  case rendezvous
  /// At a peer, by name or ID. Its program answers by itself, unless it is in a call.
  case peer(String)
}

/// A probe that was begun.
public struct LineProbe: Sendable {
  /// What it tells; ends after `finished`, which comes exactly once. For one reader, who ends the
  /// probe by not reading on.
  public let progress: AsyncStream<ProbeProgress>
  private let endpoint: Endpoint
  private let mark: ProbeMark

  init(_ progress: AsyncStream<ProbeProgress>, _ endpoint: Endpoint, _ mark: ProbeMark) {
    self.progress = progress
    self.endpoint = endpoint
    self.mark = mark
  }

  /// Stops it. What is known so far comes as its result, marked `cancelled`; nothing comes after.
  /// Harmless when it is over: one that was begun later goes on.
  public func cancel() async { await endpoint.cancelProbe(mark) }

  /// Reads to the end, and gives the result.
  public func result() async -> LineReport? {
    var last: LineReport?
    for await step in progress {
      if case .finished(let report) = step { last = report }
    }
    return last
  }
}

/// What the line can do, before a call.
extension Endpoint {
  /// Measures the line, both ways (docs/protocol/probe.md). Needs no registration yet: the wait for
  /// it is part of the duration.
  ///
  /// - Throws: `invalidArgument` for a plan out of its ranges, `callState` while a call or another
  ///   probe runs, `closed`.
  public func probe(
    _ target: ProbeTarget = .rendezvous, plan: ProbePlan = ProbePlan()
  ) throws(EarshotError) -> LineProbe {
    guard !isClosed else { throw .closed }
    let (stream, continuation) = AsyncStream.makeStream(
      of: ProbeProgress.self, bufferingPolicy: .bufferingNewest(512))
    // The first events come out with the next drain, not before this has returned.
    let previous = probeObserver
    let observer = ProbeObserver(
      continuation, refused: driver.statistics.droppedForRoom, overflowed: driver.overflowCount)
    let mark = observer.mark
    probeObserver = observer
    do throws(EarshotError) {
      try begin(target, plan)
    } catch {
      probeObserver = previous
      throw error
    }
    continuation.onTermination = { [weak self] reason in
      guard case .cancelled = reason, let self else { return }
      Task { await self.cancelProbe(mark) }
    }
    return LineProbe(stream, self, mark)
  }

  private func begin(_ target: ProbeTarget, _ plan: ProbePlan) throws(EarshotError) {
    guard case .peer(let text) = target else {
      return try command { machine, now throws(PeerRefusal) in try machine.probe(plan, now: now) }
    }
    let place = try self.place(of: text)
    var options = InviteOptions()
    if case .name(let name) = place { options.expectedID = known.id(behind: name) }
    try command { machine, now throws(PeerRefusal) in
      try machine.probe(place, plan, options, now: now)
    }
  }

  func cancelProbe(_ mark: ProbeMark) {
    guard probeObserver?.mark === mark else { return }
    driver.withMachine { machine, now in machine.cancelProbe(now: now) }
  }

  func handleProgress(_ progress: ProbeProgress) {
    let isLast = probeObserver?.publish(
      progress, driver.statistics, overflowed: driver.overflowCount)
    if isLast == true { probeObserver = nil }
  }
}

/// Tells one probe from another.
final class ProbeMark: Sendable {}

/// Who hears of a probe, and what the socket had counted when it began.
struct ProbeObserver {
  let mark = ProbeMark()
  let continuation: AsyncStream<ProbeProgress>.Continuation
  /// Packets that the kernel had no room for, out and in.
  let refused: UInt64
  let overflowed: Int

  init(
    _ continuation: AsyncStream<ProbeProgress>.Continuation, refused: UInt64, overflowed: Int
  ) {
    self.continuation = continuation
    self.refused = refused
    self.overflowed = overflowed
  }

  /// - Returns: Whether nothing follows.
  func publish(
    _ progress: ProbeProgress, _ statistics: UDPStatistics, overflowed: Int
  ) -> Bool {
    // Who notes when packets arrive here.
    let isKernel = 2 * statistics.stampedMessages > statistics.receivedMessages
    let told = progress.with(isKernel ? .kernel : .user)
    guard case .finished(var report) = told else {
      continuation.yield(told)
      return false
    }
    report.cost.refusedByHost = Int(clamping: statistics.droppedForRoom - refused)
    report.cost.overflowedHere = max(0, overflowed - self.overflowed)
    continuation.yield(.finished(report))
    continuation.finish()
    return true
  }
}

extension ProbeProgress {
  fileprivate func with(_ stamps: ClockQuality.Stamps) -> ProbeProgress {
    switch self {
    case .phaseBegan, .progressed: return self
    case .firstGrade(var report):
      report.clock?.stamps = stamps
      return .firstGrade(report)
    case .finished(var report):
      report.clock?.stamps = stamps
      return .finished(report)
    }
  }
}
