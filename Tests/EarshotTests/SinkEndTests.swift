import Earshot
import Synchronization
import Testing

/// Counts what the protocol promises: one `finish`, and nothing after it.
private final class Ending: AudioSink, VideoSink {
  let channelCount: Int
  private let count = Mutex((finishes: 0, written: 0, late: 0))

  init(channels: Int = 1) { channelCount = channels }

  func write(_ samples: borrowing [Int16], frameCount: Int) { note() }
  func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) { note() }
  func finish() { count.withLock { $0.finishes += 1 } }

  private func note() {
    count.withLock { count in
      count.written += 1
      if count.finishes > 0 { count.late += 1 }
    }
  }

  var finishes: Int { count.withLock { $0.finishes } }
  var hasHeard: Bool { count.withLock { $0.written > 0 } }
  var isInOrder: Bool { count.withLock { $0.finishes == 1 && $0.late == 0 } }
}

extension CallTests {
  enum Way: CaseIterable {
    case callerHangsUp, calleeHangsUp, callerCloses, calleeCloses, rejected, cancelled, nobody
    case audioFails
  }

  /// Goal: a sink that was given to a call is finished once when the call is over, in whatever way
  /// it ends, also when nothing ever came.
  @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
  func `every sink is finished once`(way: Way) async throws {
    let town = try await LoopbackTown()
    let channels = way == .audioFails ? 7 : 1
    let sinks = [Ending(channels: channels), Ending(), Ending(channels: channels), Ending()]
    let options = { (ends: ArraySlice<Ending>) in
      var options = CallOptions(source: Tone(), sink: ends.first)
      options.videoSink = ends.last
      return options
    }
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    let call = try await town.alice.call(
      way == .nobody ? "nobody" : "bob", options: options(sinks[0...1]))
    let incoming = way == .nobody ? nil : await bob.incoming()
    try await Self.end(call, way, town, &alice, &bob, incoming, options(sinks[2...3]))
    _ = await alice.report()
    if way != .nobody { _ = await bob.report() }
    await town.close()
    #expect(sinks[0].isInOrder && sinks[1].isInOrder, "\(sinks.map(\.finishes))")
    let isAnswered = ![Way.nobody, .rejected, .cancelled].contains(way)
    #expect(sinks[2].finishes == (isAnswered ? 1 : 0) && sinks[2].isInOrder == isAnswered)
    #expect(sinks[3].finishes == (isAnswered ? 1 : 0) && sinks[3].isInOrder == isAnswered)
    if isAnswered, way != .audioFails { #expect(sinks[0].hasHeard && sinks[2].hasHeard) }
  }

  private static func end(
    _ call: Call, _ way: Way, _ town: LoopbackTown, _ alice: inout Story, _ bob: inout Story,
    _ incoming: IncomingCall?, _ answer: CallOptions
  ) async throws {
    switch way {
    case .nobody: return
    case .rejected: return try await town.bob.call(try #require(incoming).id).reject()
    case .cancelled: return await call.hangUp()
    default: try await town.bob.call(try #require(incoming).id).accept(answer)
    }
    if way == .audioFails {
      _ = await alice.first { event -> Bool? in
        if case .callProgress(_, .audioFailed) = event { true } else { nil }
      }
    } else {
      await alice.connected()
      await bob.connected()
    }
    switch way {
    case .calleeHangsUp: await town.bob.call(call.id).hangUp()
    case .callerCloses: await town.alice.close()
    case .calleeCloses: await town.bob.close()
    default: await call.hangUp()
    }
  }
}
