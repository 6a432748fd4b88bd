import Calling
import Primitives
import Synchronization
import Testing
import Wire

@testable import Earshot

/// What an endpoint keeps of a call, who reads its events, and who looks at its media.
@Suite struct CallRecordTests {
  @Test func `what is changed before the audio begins holds from its beginning`() throws {
    let record = CallRecord(.caller, CallOptions(source: Tone()), target: "bob")
    try record.setEncoding(bitrate: 16_000)
    try record.setEncoding(frameMilliseconds: 60)
    #expect(record.options.bitrate == 16_000 && record.options.frameMilliseconds == 60)
    try record.setVolume(capture: 400)
    try record.setVolume(playback: 0)
    #expect(record.volumes == (400, 0))
    #expect(throws: EarshotError.self) { try record.setVolume(capture: -1) }
    #expect(throws: EarshotError.self) { try record.setEncoding(bitrate: 5_999) }
    #expect(record.options.bitrate == 16_000)
    #expect(throws: EarshotError.self) { try record.mix { $0.stop() } }
  }

  @Test func `rates are of the time since the numbers before`() throws {
    let record = CallRecord(.caller, CallOptions(), target: "bob")
    var first = CallStatistics(atMs: 1000)
    first.sent.wireBytesSent = 1000
    record.takeInterval(&first)
    #expect(first.interval == nil && first.totals.bytesSent == 1000)
    var second = CallStatistics(atMs: 3000)
    second.sent.wireBytesSent = 5000
    second.received.bytesReceived = 250
    record.takeInterval(&second)
    let interval = try #require(second.interval)
    #expect(interval.durationMs == 2000 && interval.audioSentBps == 16_000)
    #expect(interval.audioReceivedBps == 1000 && interval.videoSentBps == 0)
    record.takeInterval(&second)
    #expect(second.interval == nil)
    #expect(NetworkState(source: nil).kind == .disconnected)
  }

  @Test func `readers of events hear them in order until the end`() async {
    var readers = EventReaders()
    let stream = AsyncStream<EndpointEvent>.held(64) { continuation in
      _ = readers.add(continuation)
    }
    let other = AsyncStream<EndpointEvent>.held(64) { continuation in
      readers.remove(readers.add(continuation))
    }
    readers.publishEvent(.tokenRenewed)
    readers.publishEvent(.registrationChanged(.connecting))
    readers.finish()
    var heard: [String] = []
    for await event in stream { heard.append("\(event)") }
    #expect(heard == ["tokenRenewed", "registrationChanged(Earshot.RegistrationState.connecting)"])
    #expect(readers.hasEnded)
    _ = other
  }

  @Test func `who taps a call gets the frame's own packet, without copies`() throws {
    let capture = Captured()
    let tap = MediaTap(
      capture: capture, local: SocketAddress(v4: 192, 0, 2, 1, port: 1),
      remote: SocketAddress(v4: 192, 0, 2, 2, port: 2))
    let frame = AudioMediaFrame(
      length: .milliseconds20, isMarked: true, hasCopies: false, mediaTime: 7)
    tap.show([1, 2, 3].span, frame, age: nil)
    tap.show([4, 5].span, frame, age: 1_000)
    #expect(capture.payloads.withLock { $0 } == [[1, 2, 3], [4, 5]])
    #expect(capture.directions.withLock { $0 } == [true, false])
  }

  private final class Captured: MediaCapture {
    let payloads = Mutex<[[UInt8]]>([])
    let directions = Mutex<[Bool]>([])

    func capture(_ frame: CapturedFrame, payload: [UInt8]) {
      payloads.withLock { $0.append(payload) }
      directions.withLock { $0.append(frame.isOutgoing) }
    }
  }
}
