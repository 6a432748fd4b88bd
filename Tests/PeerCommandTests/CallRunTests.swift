import Arguments
import Earshot
import Foundation
import Primitives
import Reactor
import Testing

@testable import PeerCommand

/// What happens to a call, fed by hand into one that no network knows of.
@Suite(.serialized) struct CallRunTests {
  private static func options(_ words: [String], _ folder: TemporaryFolder) throws -> CallCommand {
    let common = [
      "bob", "--rendezvous", "127.0.0.1:1", "--bind", "127.0.0.1:0", "--quiet", "--identity",
      folder.file("identity"), "--events", folder.file("events"),
    ]
    return try CallCommand(Arguments(common + words)) { _ in nil }
  }

  /// Runs `body` on a loop of its own, as the program runs its commands.
  private static func onLoop<Value: Sendable>(
    _ body: @Sendable @escaping (EventLoop) async throws -> Value
  ) async throws -> Value {
    // Signals are for the program; here nobody sends any.
    let loop = try EventLoop()
    try loop.start()
    defer { loop.stop() }
    return try await Task(executorPreference: loop) { try await body(loop) }.value
  }

  /// The same, with a call to Bob.
  private static func withCall(
    _ body: @Sendable @escaping (OnlineSession, CallRun) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let command = try options([], folder)
    try await onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .caller, peer: "bob")
      try await body(session, run)
    }
  }

  @Test func `a call goes from connected to its report, and writes it all down`() async throws {
    let folder = try TemporaryFolder()
    let page = folder.file("report.html")
    let command = try Self.options(["--duration", "60", "--report", page], folder)
    let code = try await Self.onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .caller, peer: "bob")
      run.use(try OpenedSound(command.sound, call: 1))
      let steps: [EndpointEvent] = [
        .callProgress(Sample.id, .delivered),
        .callStateChanged(Sample.id, .connecting, .remoteAccepted),
        .callStateChanged(Sample.id, .connected, .firstFrameReceived),
        .statistics(Sample.id, Sample.statistics()),
        // Of another call: nothing of ours.
        .callEnded(CallID(bytes: Array(16..<32)), Sample.report(.failed)),
      ]
      for step in steps {
        #expect(await run.handle(.endpoint(step)) == .goOn)
        #expect(run.report == nil)
      }
      session.inbox.feed.yield(.endpoint(.callEnded(Sample.id, Sample.report())))
      while run.report == nil, let next = await session.next() { _ = await run.handle(next) }
      #expect(run.samples.count == 2)
      #expect(!run.wasSignalled && !run.hasAborted)
      return await session.finish(run, command.sound.code(of: Sample.report()))
    }
    #expect(code == .done)
    let text = String(decoding: try folder.bytes(of: "events"), as: UTF8.self)
    #expect(text.split(separator: "\n").last?.contains(#""type":"summary""#) == true)
  }

  /// A service runs on for days after its disk was full.
  @Test func `a file that fails is told at once, and makes the exit code`() async throws {
    let folder = try TemporaryFolder()
    let command = try Self.options([], folder)
    let events = folder.file("events")
    let code = try await Self.onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      session.remember("heard.wav cannot be written.")
      let told = try String(contentsOfFile: events, encoding: .utf8)
      #expect(told.contains(#""name":"fileFailed","message":"heard.wav cannot be written.""#))
      return await session.finish(nil, .done)
    }
    #expect(code == .file)
  }

  @Test func `nothing is kept for a report that nobody asked for`() async throws {
    try await Self.withCall { session, run in
      for _ in 0..<100 {
        _ = await run.handle(.endpoint(.statistics(Sample.id, Sample.statistics())))
      }
      #expect(run.samples.isEmpty)
      await session.endpoint.close()
    }
  }

  @Test func `two calls at once go on as one, under the other's ID`() async throws {
    try await Self.withCall { session, run in
      let other = CallID(bytes: Array(16..<32))
      _ = await run.handle(.endpoint(.callProgress(Sample.id, .replaced(by: other))))
      #expect(run.id == other)
      _ = await run.handle(.endpoint(.callEnded(other, Sample.report(.busy))))
      #expect(run.report?.outcome == .busy)
      _ = await session.finish(run, .refused)
    }
  }

  @Test func `a second signal gives up waiting, and the first asks for the end`() async throws {
    let folder = try TemporaryFolder()
    let command = try Self.options([], folder)
    try await Self.onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .callee, peer: "alice")
      #expect(run.isRinging)
      _ = await run.handle(.signal(.interrupt))
      #expect(run.wasSignalled && !run.hasAborted)
      _ = await run.handle(.signal(.terminate))
      #expect(!run.hasAborted, "the process and its group are told of one wish")
      while !run.hasAborted, let next = await session.next() {
        _ = await run.handle(next)
        _ = await run.handle(.signal(.terminate))
      }
      #expect(run.hasAborted)
      await session.endpoint.close()
    }
  }

  /// Goal: what was heard is a whole file also where nobody waits for the report.
  @Test func `a call that is given up leaves its file whole`() async throws {
    let folder = try TemporaryFolder()
    let command = try Self.options(["--save", folder.file("heard.wav")], folder)
    try await Self.onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .callee, peer: "alice")
      let ends = try OpenedSound(command.sound, call: 1)
      run.use(ends)
      for _ in 0..<100 { ends.sink.write(Array(repeating: 7, count: 480), frameCount: 480) }
      #expect(run.abandon() == .interrupted)
      await session.endpoint.close()
    }
    let bytes = try folder.bytes(of: "heard.wav")
    // The length in its header is that of the sound.
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("data".utf8)) })
    let length = bytes[start + 4..<start + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(length == 2 * 48_000 && bytes.count == start + 8 + length)
  }

  @Test func `a ring that was long enough is told`() async throws {
    let folder = try TemporaryFolder()
    let command = try Self.options([], folder)
    try await Self.onLoop { loop in
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .callee, peer: "alice")
      run.ring(for: 0.01)
      var verdict = CallRun.Verdict.goOn
      while verdict == .goOn, let next = await session.next() { verdict = await run.handle(next) }
      #expect(verdict == .ringOver)
      await session.endpoint.close()
    }
  }

  /// The loop has 1024 timers: `earshot answer` sets one for each invitation of a transfer.
  @Test func `an inbox that has reminded gives its timer back`() async throws {
    try await Self.onLoop { loop in
      let inbox = try Inbox(on: loop, readsKeys: false)
      var reader = inbox.inputs.makeAsyncIterator()
      let feed = inbox.feed
      for _ in 0..<EventLoop.timerLimit {
        try inbox.remind(after: .zero) { feed.yield(.wake) }
        _ = await reader.next()
      }
    }
  }

  @Test func `an inbox wakes when it was asked to`() async throws {
    try await Self.onLoop { loop in
      let inbox = try Inbox(on: loop, readsKeys: false)
      #expect(!inbox.hasKeys)
      inbox.wake(at: SystemClock.now)
      var isAwake = false
      for await input in inbox.inputs {
        if case .wake = input { isAwake = true }
        break
      }
      #expect(isAwake)
    }
  }

  @Test func `words that are no command are refused by the program`() async throws {
    let code = try await Self.onLoop { loop in await PeerProgram.run(["kall"], on: loop) }
    #expect(code == .usage)
  }
}
