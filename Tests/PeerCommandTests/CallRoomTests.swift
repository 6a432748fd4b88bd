import Arguments
import Earshot
import Primitives
import Reactor
import Testing

@testable import PeerCommand

/// A call that is a channel, fed by hand into one that no network knows of.
@Suite(.serialized) struct CallRoomTests {
  private static let other = CallID(bytes: Array(16..<32))

  /// Goal: the page of `--report` is of one call.
  @Test func `what another call of the channel was like is not in the report of the first one`()
    async throws
  {
    let folder = try TemporaryFolder()
    let words = [
      "bob", "--rendezvous", "127.0.0.1:1", "--bind", "127.0.0.1:0", "--quiet", "--identity",
      folder.file("identity"), "--report", folder.file("report.html"),
    ]
    let command = try CallCommand(Arguments(words)) { _ in nil }
    let loop = try EventLoop()
    try loop.start()
    defer { loop.stop() }
    try await Task(executorPreference: loop) {
      let console = Console(isJSON: false, isQuiet: true)
      let session = try await OnlineSession(command.online, console, on: loop, readsKeys: false)
      let run = CallRun(Sample.id, session, command.sound, role: .caller, peer: "bob")
      run.use(try OpenedSound(command.sound, call: 1))
      run.allowChannel(CallRoom.Manners())
      let first: [EndpointEvent] = [
        .callStateChanged(Sample.id, .connecting, .remoteAccepted),
        .callStateChanged(Sample.id, .connected, .firstFrameReceived),
        .statistics(Sample.id, Sample.statistics()),
      ]
      for event in first { _ = await run.handle(.endpoint(event)) }
      await run.company.room?.channel.addGuest(Self.other, "carol")
      _ = await run.handle(.endpoint(.callEnded(Sample.id, Sample.report())))
      #expect(run.report == nil && run.shownCall == Self.other)
      let count = run.samples.count
      _ = await run.handle(.endpoint(.statistics(Self.other, Sample.statistics())))
      #expect(run.view.numbers != nil && run.samples.count == count && count == 1)
      await session.endpoint.close()
    }.value
  }
}

extension CallChannel {
  fileprivate func addGuest(_ call: CallID, _ name: String) {
    people.add(call, nil, name, target: name, .invited)
  }
}
