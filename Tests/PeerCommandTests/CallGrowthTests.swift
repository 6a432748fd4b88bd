import Earshot
import Foundation
import PeerCommand
import Primitives
import Reactor
import Synchronization
import Testing

/// One end of a call brings in a third: what is done when, and the sound of it.
@Suite struct CallGrowthTests {
  private let third = CallID(bytes: Array(repeating: 3, count: 16))
  private let other = CallID(bytes: Array(repeating: 4, count: 16))

  private static func id(_ number: UInt64) -> PeerID {
    PeerID(word0: number, word1: 0, word2: 0, word3: 0)
  }

  private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

  @Test func `nothing is offered before the third has answered, and then once`() {
    var growth = CallGrowth()
    #expect(growth.third == nil && growth.nextDeadline == nil)
    growth.ring(third)
    #expect(growth.isRinging && growth.third == third)
    #expect(growth.update(areTogether: false, now: at(60_000)) == nil)
    #expect(growth.handleConnected(other, now: at(1)) == nil)
    #expect(growth.handleConnected(third, now: at(2)) == .offer)
    #expect(growth.handleConnected(third, now: at(3)) == nil && !growth.isRinging)
    #expect(growth.nextDeadline == at(8002))
    #expect(growth.update(areTogether: false, now: at(8001)) == nil)
    #expect(growth.update(areTogether: true, now: at(8001)) == .welcome)
    #expect(growth.third == nil && growth.handleEnded(third) == nil)
  }

  @Test func `a third that refuses, or that cannot meet the others, is given up`() {
    var growth = CallGrowth()
    growth.ring(third)
    #expect(growth.handleEnded(other) == nil && growth.handleEnded(third) == .giveUp)
    #expect(growth.third == nil)
    growth.ring(third)
    _ = growth.handleConnected(third, now: at(0))
    #expect(growth.update(areTogether: false, now: at(8000)) == .letGo && growth.third == nil)
    growth.ring(third)
    growth.cancel()
    #expect(growth.handleEnded(third) == nil && growth.handleConnected(third, now: at(1)) == nil)
  }

  /// Counts up without end.
  private final class Counter: AudioSource {
    let channelCount = 1
    private let next = Mutex(0)

    func read(into samples: inout [Int16], frameCount: Int) -> Int {
      next.withLock { next in
        for index in 0..<frameCount { samples[index] = Int16(truncatingIfNeeded: next + index) }
        next += frameCount
        return frameCount
      }
    }
  }

  @Test(arguments: [1, 2])
  func `the recording goes on where it was, and the source as well`(channels: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("heard.wav")
    let sink = try AudioFileSink(path, channelCount: channels)
    let sound = GrowingSound(Counter(), sink)
    let block = [Int16](repeating: 1000, count: 240 * channels)
    var samples = [Int16](repeating: 0, count: 240)
    for _ in 0..<40 {
      sound.sink.write(block, frameCount: 240)
      #expect(sound.source.read(into: &samples, frameCount: 240) == 240)
    }
    #expect(samples[0] == 39 * 240)
    let mix = sound.grow(now: SystemClock.now)
    #expect(sound.grow(now: SystemClock.now).mixer === mix.mixer)
    #expect(sound.source.read(into: &samples, frameCount: 240) == 240 && samples[0] == 9600)
    let ear = SharedEar(mix.source)
    #expect(ear.read(into: &samples, frameCount: 240) == 240 && samples[0] == 9840)
    #expect(sound.source.read(into: &samples, frameCount: 240) == 240 && samples[0] == 9840)
    // Both are heard from now on, each by its own count.
    let voice = RoomVoice(mix.mixer, at: 240)
    let further = voice.makeSink(.mesh)
    for _ in 0..<20 {
      sound.sink.write(block, frameCount: 240)
      further.write([Int16](repeating: 500, count: 240), frameCount: 240)
    }
    // The call that was there first ends; the other one is still heard.
    sound.sink.finish()
    further.write([Int16](repeating: 500, count: 240), frameCount: 240)
    sound.finish()
    let bytes = try Data(contentsOf: URL(filePath: path)).dropFirst(44)
    let heard = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2 * channels).map {
      Int16(truncatingIfNeeded: Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8)
    }
    #expect(heard.count == 62 * 240)
    #expect(heard[..<(41 * 240)].allSatisfy { $0 == 1000 })
    #expect(heard[(41 * 240)..<(60 * 240)].allSatisfy { $0 == 1500 })
    #expect(heard[(60 * 240)...].allSatisfy { $0 == 500 })
  }

  @Test func `who was started for a call of its own calls everybody, and keeps what is there`() {
    let own = Self.id(5)
    var links = RoomLinks(own: own, checks: false, dialsAll: true)
    let lesser = ChannelUser(uid: 1, id: Self.id(1), role: .host)
    let greater = ChannelUser(uid: 9, id: Self.id(9), role: .host)
    links.add(lesser)
    links.add(greater)
    #expect(links.users == [lesser, greater] && links.user(of: lesser.id) == lesser)
    links.begin(third, with: 9)
    #expect(links.nextToDial(own: .host, now: at(0)) == lesser)
    #expect(links.caller(lesser.id, own: .host) == 1 && links.caller(own, own: .host) == nil)
    links.begin(other, with: 1)
    #expect(links.nextToDial(own: .host, now: at(0)) == nil && links.calls == [other, third])
  }
}
