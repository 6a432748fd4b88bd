import Primitives
import Testing
import Wire

@testable import Forwarding

/// What a member is told of frames that the relay could have sent it, and did not
/// (docs/protocol/relay.md §4).
struct UnsentTests {
  private let relay = Relay()
  /// Frames of each host that have come to the relay.
  private let frames = Frames()

  private final class Frames { var count: UInt16 = 0 }

  private func join(_ hosts: ClosedRange<UInt32>) {
    for slot in hosts { relay.join(slot) }
    relay.join(9, .audience)
    relay.join(8, .audience, takesUnsentCounts: false)
  }

  /// Frames of 20 ms of some hosts with their levels, lower = louder.
  private func speak(_ levels: [(slot: UInt32, level: UInt8)], frames count: Int) {
    for _ in 0..<count {
      relay.now = relay.now + .milliseconds(20)
      frames.count += 1
      for (slot, level) in levels { relay.speak(slot, frames.count * 2, level: level) }
    }
  }

  private func words(_ slot: UInt32) -> [(word: ChannelUnsentFrame, isOwn: Bool)] {
    (relay.received[slot] ?? []).flatMap { packet in
      packet.unsent.map { ($0, packet.audio.first?.source == $0.source) }
    }
  }

  /// The source that a member has learned for a host.
  private func source(_ uid: UInt32) -> UInt8 {
    for packet in relay.received[9] ?? [] {
      for (source, owner) in packet.sources where owner == uid { return source }
    }
    return 0
  }

  private func heardCount(_ source: UInt8) -> Int {
    (relay.received[9] ?? []).flatMap(\.audio).count { $0.source == source }
  }

  @Test func `a host that others drown is told of at once, and when it is heard again`() throws {
    join(1...4)
    speak([(1, 20), (2, 22), (3, 24)], frames: 30)
    #expect(words(9).isEmpty)
    let third = source(3)
    relay.forgetReceived()
    // The fourth is louder by more than 6 dB.
    speak([(1, 20), (2, 22), (3, 24), (4, 10)], frames: 30)
    let told = words(9)
    let heard = heardCount(third)
    #expect(heard < 30)
    let word = ChannelUnsentFrame(source: third, count: 0)
    // Three, and one with the 50th frame of each of two others.
    #expect((3...5).contains(told.count) && told.allSatisfy { $0.word == word && !$0.isOwn })
    // The first one goes within the 20 ms after its last frame: two or three hosts have one.
    let packets = relay.received[9] ?? []
    let last = try #require(packets.lastIndex { $0.audio.first?.source == third })
    let first = try #require(packets.firstIndex { !$0.unsent.isEmpty })
    #expect(first > last && first <= last + 4)
    relay.forgetReceived()
    speak([(1, 20), (2, 22), (3, 24)], frames: 60)
    let again = words(9)
    let left = UInt16(60 - heardCount(third) + 30 - heard)
    #expect(left > 20)
    // Of the 60 frames one has CHANNEL_SOURCE.
    #expect((3...4).contains(again.count) && again.allSatisfy { $0.isOwn })
    #expect(again.allSatisfy { $0.word == ChannelUnsentFrame(source: third, count: left) })
    #expect(words(8).isEmpty)
  }

  @Test func `silence that is not passed on is told with the frame that is`() {
    join(1...2)
    speak([(1, 20), (2, 20)], frames: 20)
    let second = source(2)
    relay.forgetReceived()
    speak([(1, 20), (2, 127)], frames: 200)
    let sent = heardCount(second)
    #expect(sent < 20)
    speak([(1, 20), (2, 20)], frames: 2)
    let last = words(9).last
    #expect(last?.word.count == UInt16(200 - sent) && last?.isOwn == true)
    #expect(words(9).filter { !$0.isOwn }.isEmpty)
  }

  @Test func `what is lost on the way is not told, before the relay or behind it`() {
    join(1...2)
    speak([(1, 20)], frames: 20)
    frames.count += 10
    speak([(1, 20)], frames: 20)
    relay.isLost = { $0 == 9 }
    speak([(1, 20)], frames: 10)
    relay.isLost = nil
    speak([(1, 20)], frames: 10)
    #expect(words(9).isEmpty)
  }

  /// Whom nothing has come of for 15 s, the relay sends nothing: that member misses it.
  @Test func `what a member that is away misses is lost to it`() {
    join(1...2)
    speak([(1, 20)], frames: 20)
    relay.receive(9) { PingFrame(token: 1).write(to: &$0) }
    speak([(1, 20)], frames: 1000)
    let before = relay.heard(9, of: 1).count
    #expect(before < 900)
    relay.receive(9) { PingFrame(token: 1).write(to: &$0) }
    speak([(1, 20)], frames: 20)
    #expect(relay.heard(9, of: 1).count == before + 20)
    #expect(words(9).isEmpty)
  }

  @Test func `a copy that only a lost packet had is sent, and not told`() {
    join(1...2)
    speak([(1, 20)], frames: 20)
    frames.count += 1
    relay.now = relay.now + .milliseconds(40)
    frames.count += 1
    relay.speak(1, frames.count * 2, copies: [2])
    speak([(1, 20)], frames: 20)
    #expect(words(9).isEmpty && relay.received[9]?.contains { !$0.copies.isEmpty } == true)
  }

  @Test func `a word that was lost is said anew with the source`() throws {
    join(1...4)
    speak([(1, 20), (2, 22), (3, 24)], frames: 30)
    speak([(1, 20), (2, 22), (3, 24), (4, 10)], frames: 30)
    relay.isLost = { $0 == 9 }
    speak([(1, 20), (2, 22), (3, 24)], frames: 40)
    relay.isLost = nil
    relay.forgetReceived()
    speak([(1, 20), (2, 22), (3, 24)], frames: 60)
    let again = words(9)
    let word = try #require(again.first?.word)
    #expect(again.allSatisfy { $0.isOwn && $0.word == word } && word.count > 10)
  }

  /// Three words may be lost at once: a host that stays left out is told of again.
  @Test func `a host that stays left out is told of now and then`() throws {
    join(1...5)
    speak([(1, 20), (2, 22), (3, 24), (5, 60)], frames: 30)
    relay.isLost = { $0 == 9 }
    speak([(1, 20), (2, 22), (3, 24), (4, 10)], frames: 20)
    relay.isLost = nil
    relay.forgetReceived()
    speak([(1, 20), (2, 22), (3, 24), (4, 10)], frames: 200)
    let told = words(9)
    #expect((3...30).contains(told.count) && told.allSatisfy { !$0.isOwn })
    #expect(Set(told.map(\.word.source)).count == 1)
  }

  /// Goal: what waits in the relay and what it drops is told as what it is.
  @Test func `frames that wait are sent, and those dropped for want of room are lost`() {
    var limits = ForwardingLimits()
    limits.waiting = 8
    let relay = Relay(limits)
    relay.join(1)
    relay.join(9, .audience)
    for time in 0..<60 as Range<UInt16> {
      relay.holdsBack = (10..<40).contains(time)
      relay.now = relay.now + .milliseconds(20)
      relay.speak(1, time * 2)
    }
    let packets = relay.received[9] ?? []
    #expect(packets.flatMap(\.audio).count < 50 && relay.hub.counters.packetsDropped > 10)
    let words = packets.flatMap(\.unsent)
    #expect(words.isEmpty)
  }

  /// A frame that waited goes after the word that its host is left out: both have words to write.
  @Test func `a host that is left out while a frame of it waits has three words, and no more`() {
    var sound = SentSound()
    var packet: [UInt8] = []
    for source in [1, 3] as [UInt8] { sound.pass(1, of: source, recovered: 0) }
    sound.leaveOut(3)
    for source in [1, 3, 1, 3, 1, 1] as [UInt8] {
      packet.append(addingCapacity: 100) { sound.writeUnsent(with: source, into: &$0) }
    }
    #expect(packet.count == 3 * ChannelUnsentFrame.byteCount)
  }
}
