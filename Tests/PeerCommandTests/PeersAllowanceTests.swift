import Earshot
import PeerCommand
import Primitives
import Reactor
import Testing

/// What others can bring about without end takes neither the disk nor the terminal.
struct PeersAllowanceTests {
  /// Everything that a peer's words and media make happen.
  static let steps: [CallProgress] = [
    .message(stream: 8, [1]), .messagesMissed(stream: 8, missed: 1, cached: 0),
    .remoteAudioMuted(true), .remoteVideoMuted(true), .remoteAudioEnabled(false),
    .remoteVideoEnabled(false), .remoteAudioCaptureEnabled(false),
    .remoteVideoCaptureEnabled(false), .remoteVideoStreamChanged(.low),
    .remoteLowVideoOffered(LowVideoStream()), .remoteLowVideoOffered(nil),
    .remoteVideoRotated(.half), .remoteAudioMixing(true), .remoteWantsVideo(false),
    .remoteVideoSizeChanged(width: 320, height: 240),
    .firstVideoFrameDecoded(width: 320, height: 240), .firstFrameReceived,
  ]

  /// Goal: 200 lines at once at most, and then 50 a second, whatever it is.
  @Test(arguments: steps.indices)
  func `a peer's doing fills no disk`(index: Int) throws {
    let folder = try TemporaryFolder()
    let file = try OutputFile(creating: folder.file("lines"))
    var now = Instant(nanoseconds: 1_000_000_000)
    let lines = JSONLines(to: [file], wallNanoseconds: { 0 }, now: { now })
    for _ in 0..<5 {
      for _ in 0..<2_000 {
        EventLine.write(.callProgress(Sample.id, Self.steps[index]), to: lines)
      }
      now = now + .seconds(1)
    }
    let text = try ProcessSurroundings.contents(of: folder.file("lines"), limit: 1 << 20)
    let count = text.count { $0 == UInt8(ascii: "\n") }
    // The schema, and each second one line that says how many were left out.
    #expect((400...405).contains(count), "\(count)")
  }

  /// What the call itself decides is never left out.
  @Test func `a call's own steps are written however much a peer does`() throws {
    let folder = try TemporaryFolder()
    let file = try OutputFile(creating: folder.file("lines"))
    let lines = JSONLines(to: [file], wallNanoseconds: { 0 }, now: { .zero })
    for _ in 0..<1_000 {
      EventLine.write(.callProgress(Sample.id, .remoteAudioMixing(true)), to: lines)
    }
    EventLine.write(.callProgress(Sample.id, .interrupted), to: lines)
    let text = try ProcessSurroundings.contents(of: folder.file("lines"), limit: 1 << 20)
    #expect(String(decoding: text, as: UTF8.self).contains(#""interrupted""#))
  }

  /// Goal: 40 sentences at once, then one a second; those left out are counted.
  @Test func `sentences are fewer than lines`() {
    var allowance = PeersAllowance.sentences
    var now = Instant(nanoseconds: 5_000_000_000)
    #expect((0..<1_000).count { _ in allowance.spend(now: now) } == 40)
    #expect(allowance.takeLeftOut() == 960)
    #expect(allowance.takeLeftOut() == nil)
    now = now + .seconds(3)
    #expect((0..<1_000).count { _ in allowance.spend(now: now) } == 3)
  }
}
