import Earshot
import Synchronization
import Testing

@testable import PeerCommand

@Suite struct EchoEndTests {
  private final class Ear: AudioSink {
    let channelCount = 1
    let heard = Mutex(0)
    let ends = Mutex(0)
    func write(_ samples: borrowing [Int16], frameCount: Int) {
      heard.withLock { $0 += frameCount }
    }
    func finish() { ends.withLock { $0 += 1 } }
  }

  @Test func `what is heard comes back after the time that was asked for`() {
    let ear = Ear()
    let echo = EchoEnd(seconds: 2, next: ear)
    var sent: [Int16] = []
    var frame = [Int16](repeating: 0, count: 960)
    for number in 1...200 {
      echo.write([Int16](repeating: Int16(number), count: 960), frameCount: 960)
      #expect(echo.read(into: &frame, frameCount: 960) == 960)
      sent.append(frame[0])
    }
    #expect(sent.prefix(100).allSatisfy { $0 == 0 })
    #expect(Array(sent.suffix(100)) == (1...100).map { Int16($0) })
    echo.finish()
    #expect(ear.heard.withLock { $0 } == 192_000 && ear.ends.withLock { $0 } == 1)
  }

  @Test func `one side that stops fills no memory, and breaks nothing`() {
    let echo = EchoEnd(seconds: 2, next: Ear())
    let frame = [Int16](repeating: 5, count: 960)
    for _ in 0..<1000 { echo.write(frame, frameCount: 960) }
    var out = frame
    var loud = 0
    for _ in 0..<1000 {
      _ = echo.read(into: &out, frameCount: 960)
      if out[0] != 0 { loud += 1 }
    }
    #expect(loud == 50)
  }
}
