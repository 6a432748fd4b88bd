public import LastMile
internal import Peer
internal import Primitives
internal import Reactor

/// Where the line that is probed ends.
public enum ProbeTarget: Sendable, Equatable {
  /// At the rendezvous of the endpoint.
  case rendezvous
}

/// A probe that was begun.
public struct LineProbe: Sendable {
  /// What it tells; ends after `finished`, which comes exactly once. For one reader, who ends the
  /// probe by not reading on.
  public let progress: AsyncStream<ProbeProgress>
  private let endpoint: Endpoint

  init(_ progress: AsyncStream<ProbeProgress>, _ endpoint: Endpoint) {
    self.progress = progress
    self.endpoint = endpoint
  }

  /// Stops it. What is known so far comes as its result, marked `cancelled`; nothing comes after.
  public func cancel() async { await endpoint.cancelProbe() }

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
    try command { machine, now throws(PeerRefusal) in try machine.probe(plan, now: now) }
    probeObserver?.finish()
    probeObserver = continuation
    continuation.onTermination = { [weak self] reason in
      guard case .cancelled = reason, let self else { return }
      Task { await self.cancelProbe() }
    }
    return LineProbe(stream, self)
  }

  func cancelProbe() {
    driver.withMachine { machine, now in machine.cancelProbe(now: now) }
  }

  func take(_ progress: ProbeProgress) {
    guard let observer = probeObserver else { return }
    observer.yield(progress)
    guard case .finished = progress else { return }
    probeObserver = nil
    observer.finish()
  }
}
