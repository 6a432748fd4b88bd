import Primitives
import Synchronization
import Testing

@testable import Earshot

/// Which way a channel's audio goes, and that nothing is heard twice or lost while it changes.
struct ChannelWayTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

  private func update(
    _ way: inout ChannelWay, _ hosts: Int, _ members: Int, isLinked: Bool = true, _ time: Int64
  ) -> ChannelWay.Step? {
    way.update(
      hosts: hosts, members: members, isLinked: isLinked, stay: .milliseconds(time), now: at(time))
  }

  @Test func `a mesh up to four hosts and eight members, a relay beyond`() {
    for (hosts, members) in [(1, 1), (4, 8), (0, 8)] {
      var way = ChannelWay(.auto)
      #expect(update(&way, hosts, members, 0) == nil && way.makesCalls(now: at(0)))
    }
    for (hosts, members) in [(5, 5), (1, 9)] {
      var way = ChannelWay(.auto)
      #expect(update(&way, hosts, members, 0) == .startRelay)
      #expect(update(&way, hosts, members, 10) == nil)
      #expect(!way.makesCalls(now: at(1000)) && way.takesCalls(now: at(1000)))
      // Calls are made where there is no relay after all, or none in time.
      #expect(way.nextDeadline(after: at(1000)) == at(1500) && way.makesCalls(now: at(1500)))
      // What is past wakes nobody, for as long as there is no relay.
      #expect(way.nextDeadline(after: at(1500)) == nil)
      way.handleUnavailable()
      #expect(way.makesCalls(now: at(20)))
      way.handleConnected()
      #expect(update(&way, hosts, members, 2000) == nil)
      #expect(way.endsCalls && !way.makesCalls(now: at(2000)))
    }
    var mesh = ChannelWay(.mesh)
    #expect(update(&mesh, 17, 17, 0) == nil && mesh.makesCalls(now: at(0)))
    // Each calls each: whoever comes as the eighteenth is told, and who was there stays.
    #expect(update(&mesh, 18, 18, 12_000) == nil)
    var last = ChannelWay(.mesh)
    #expect(update(&last, 18, 18, 0) == .refuse && update(&last, 18, 18, 100) == nil)
    var relay = ChannelWay(.relay)
    #expect(update(&relay, 1, 1, 0) == .startRelay)
    #expect(!relay.makesCalls(now: at(1400)) && !relay.takesCalls(now: at(1400)))
  }

  @Test func `who does not reach the relay that it was granted calls all meanwhile`() {
    for choice in [ChannelMedia.Way.relay, .auto] {
      var way = ChannelWay(choice)
      #expect(update(&way, 5, 5, 0) == .startRelay)
      #expect(!way.makesCalls(now: at(1400)) && !way.callsAll)
      // The others may be on their way there as well: the IDs decide who calls.
      #expect(way.makesCalls(now: at(1500)) && way.takesCalls(now: at(1500)) && !way.callsAll)
      way.handleLost()
      #expect(way.makesCalls(now: at(1700)) && way.callsAll)
      way.handleConnected()
      #expect(update(&way, 5, 5, 2000) == nil)
      #expect(!way.makesCalls(now: at(2000)) && !way.callsAll && way.isRelayed)
      // One that was reached is lost for the others as well: the IDs decide who calls.
      way.handleLost()
      #expect(way.makesCalls(now: at(3000)) && !way.callsAll)
    }
  }

  @Test func `calls and the relay carry sound, and each change is told once`() {
    var way = ChannelWay(.relay)
    #expect(way.updateCarried(hasCalls: false) == nil)
    #expect(way.updateCarried(hasCalls: true) == true)
    #expect(way.updateCarried(hasCalls: true) == nil)
    _ = way.update(
      hosts: 2, members: 2, isLinked: false, stay: .zero, now: Instant(nanoseconds: 1))
    way.handleConnected()
    _ = way.update(
      hosts: 2, members: 2, isLinked: false, stay: .zero, now: Instant(nanoseconds: 2))
    #expect(way.isRelayed && way.updateCarried(hasCalls: false) == nil)
    way.handleLost()
    #expect(way.updateCarried(hasCalls: false) == false)
  }

  @Test func `by the relay only there is no call, whatever happens to the relay`() {
    var way = ChannelWay(.relayOnly)
    #expect(update(&way, 1, 1, 0) == .startRelay)
    func expectNoCalls(_ time: Int64) {
      #expect(!way.makesCalls(now: at(time)) && !way.takesCalls(now: at(time)) && !way.callsAll)
    }
    expectNoCalls(5000)
    way.handleUnavailable()
    expectNoCalls(6000)
    way.handleConnected()
    #expect(update(&way, 2, 2, 7000) == nil && way.isRelayed)
    way.handleLost()
    #expect(update(&way, 2, 2, 8000) == nil && !way.isRelayed)
    expectNoCalls(60_000)
    way.handleFull()
    #expect(update(&way, 20, 20, 60_000) == nil)
    expectNoCalls(60_000)
    way.handleConnected()
    #expect(way.isRelayed)
  }

  @Test func `while the relay is lost there are calls, and they end when it is back`() {
    var way = ChannelWay(.relay)
    _ = update(&way, 2, 2, 0)
    way.handleConnected()
    _ = update(&way, 2, 2, 100)
    #expect(way.endsCalls && !way.takesCalls(now: at(100)))
    way.handleLost()
    #expect(!way.endsCalls && way.makesCalls(now: at(200)) && way.takesCalls(now: at(200)))
    way.handleConnected()
    #expect(way.endsCalls && !way.makesCalls(now: at(300)))
  }

  @Test func `a channel that has become smaller goes back once all calls are there for a second`() {
    var way = ChannelWay(.auto)
    _ = update(&way, 5, 9, 0)
    way.handleConnected()
    _ = update(&way, 5, 9, 100)
    // Neither one host less, nor a short time with fewer, changes anything.
    #expect(update(&way, 4, 6, 200) == nil && update(&way, 4, 6, 60_000) == nil)
    #expect(way.endsCalls)
    _ = update(&way, 3, 6, 61_000)
    #expect(update(&way, 3, 6, 70_900) == nil && way.endsCalls)
    #expect(way.nextDeadline(after: at(0)) == at(71_000))
    #expect(update(&way, 3, 6, isLinked: false, 71_000) == nil)
    #expect(!way.endsCalls && way.makesCalls(now: at(71_000)))
    #expect(update(&way, 3, 6, 72_000) == nil && update(&way, 3, 6, 72_900) == nil)
    #expect(update(&way, 3, 6, 73_000) == .restRelay)
    #expect(update(&way, 5, 6, 80_000) == .startRelay)
  }

  @Test func `without a relay a newcomer beyond seventeen is refused, once`() {
    var way = ChannelWay(.auto)
    _ = update(&way, 5, 18, 0)
    #expect(update(&way, 5, 18, 10) == nil)
    way.handleUnavailable()
    #expect(update(&way, 5, 18, 20) == .refuse && update(&way, 5, 18, 30) == nil)
    var early = ChannelWay(.auto)
    _ = update(&early, 5, 17, 0)
    early.handleUnavailable()
    #expect(update(&early, 5, 17, 10) == nil)
    // Who was there before stays.
    #expect(update(&early, 5, 18, 20_000) == nil)
  }

  @Test func `who finds the relay full calls all, and is refused where they are too many`() {
    var way = ChannelWay(.auto)
    _ = update(&way, 5, 9, 0)
    #expect(!way.callsAll && !way.makesCalls(now: at(10)))
    way.handleFull()
    #expect(update(&way, 5, 9, 20) == nil && way.callsAll && way.makesCalls(now: at(20)))
    way.handleConnected()
    _ = update(&way, 5, 9, 30)
    #expect(!way.callsAll && way.endsCalls)
    // Its seat may be another's after a restart of the relay.
    way.handleLost()
    way.handleFull()
    #expect(way.callsAll && way.makesCalls(now: at(40)))
    var late = ChannelWay(.auto)
    _ = update(&late, 5, 18, 0)
    late.handleFull()
    #expect(update(&late, 5, 18, 10) == .refuse)
    #expect(late.isFull)
    var relay = ChannelWay(.relay)
    _ = update(&relay, 2, 2, 0)
    relay.handleFull()
    #expect(!relay.callsAll && !relay.makesCalls(now: at(10)))
  }

  @Test func `a call ends once its other end is heard by the relay, or has a seat and is silent`() {
    var overlap = ChannelOverlap()
    let (heard, silent, seatless) = (UInt32(1), UInt32(2), UInt32(3))
    overlap.update(heard, isHeard: true, isSeated: true, now: at(0))
    #expect(!overlap.isOver(with: heard, now: at(60_000)))
    overlap.handleConnected(now: at(1000))
    for time in stride(from: Int64(1000), through: 60_000, by: 250) {
      overlap.update(heard, isHeard: time != 1500, isSeated: true, now: at(time))
      overlap.update(silent, isHeard: false, isSeated: time >= 3000, now: at(time))
      overlap.update(seatless, isHeard: false, isSeated: false, now: at(time))
      #expect(overlap.isOver(with: heard, now: at(time)) == (time >= 2750), "\(time)")
      #expect(overlap.isOver(with: silent, now: at(time)) == (time >= 13_000), "\(time)")
      // It was called before it knew that the relay has no room for it, and has nothing else.
      #expect(!overlap.isOver(with: seatless, now: at(time)), "\(time)")
    }
    overlap.handleConnected(now: at(60_000))
    #expect(!overlap.isOver(with: heard, now: at(60_100)))
    #expect(!overlap.isOver(with: silent, now: at(69_900)))
    #expect(overlap.isOver(with: silent, now: at(70_000)))
    overlap.remove(silent)
    #expect(!overlap.isOver(with: silent, now: at(90_000)))
  }

  /// 5 ms of a sound that counts, by each way, the relay's `delay` later than the call's.
  @Test(arguments: [0, 4, -4])
  func `a voice that comes by two ways is heard once, and a change costs what they differ`(
    delay: Int
  ) {
    let gathered = GatheredSound()
    let mixer = ChannelMix(GatheredSound(), hold: .milliseconds(300), now: start)
    let own = ChannelMix(gathered, hold: .milliseconds(300), now: start)
    let voice = ChannelVoice(mixer, own: own)
    func block(_ step: Int) -> [Int16] { Array(repeating: Int16(max(0, step) + 1), count: 240) }
    for step in 0..<400 {
      let now = at(Int64(step * 5))
      // The call ends in the middle; the relay has begun before.
      if step < 200 { voice.write(block(step), frameCount: 240, by: .mesh, now: now) }
      if step == 200 { voice.end(.mesh) }
      if step >= 100 { voice.write(block(step - delay), frameCount: 240, by: .relay, now: now) }
    }
    voice.finish()
    let samples = gathered.samples
    let count = samples.count
    #expect(count == 400 * 240)
    let heard = stride(from: 0, to: count, by: 240).map { Int(samples[$0]) }
    #expect(Array(heard[0..<200]) == Array(1...200))
    #expect(Array(heard[200..<400]) == (200..<400).map { $0 + 1 - delay })
    #expect(samples[0..<count].allSatisfy { $0 > 0 })
  }

  @Test func `how loud a voice is, and how long it was heard`() {
    let voice = ChannelVoice(ChannelMix(GatheredSound(), hold: .zero, now: start))
    #expect(voice.level(now: at(0)) == -90)
    for step in 0..<200 {
      let value: Int16 = step < 100 ? 8192 : 0
      voice.write(
        Array(repeating: value, count: 240), frameCount: 240, by: .mesh, now: at(Int64(step * 5)))
      if step == 99 { #expect(abs(voice.level(now: at(495)) + 12) < 0.5) }
    }
    #expect(voice.level(now: at(995)) < -60)
    #expect(voice.heard == .milliseconds(500))
    voice.restartHeard()
    #expect(voice.heard == .zero)
    // Nothing comes any more: no old level is shown.
    voice.write(
      Array(repeating: 8192, count: 240), frameCount: 240, by: .mesh, now: at(1000))
    #expect(voice.level(now: at(1000)) > -30)
    #expect(voice.level(now: at(1400)) == -90)
  }

  @Test func `a relay by which nothing comes is not heard, whatever it makes up`() {
    let gathered = GatheredSound()
    let mixer = ChannelMix(gathered, hold: .milliseconds(300), now: start)
    let voice = ChannelVoice(mixer)
    for step in 0..<90 {
      let now = at(Int64(step * 5))
      if step == 30 { voice.setRelayed(false) }
      if step == 60 { voice.setRelayed(true) }
      voice.write(Array(repeating: 1, count: 240), frameCount: 240, by: .relay, now: now)
      if step >= 20 {
        voice.write(Array(repeating: 2, count: 240), frameCount: 240, by: .mesh, now: now)
      }
    }
    mixer.finish()
    let samples = gathered.samples
    let count = samples.count
    let heard = stride(from: 0, to: count, by: 240).map { Int(samples[$0]) }
    // The call is heard from then on, also when the relay is back: until the call ends.
    #expect(heard == Array(repeating: 1, count: 30) + Array(repeating: 2, count: 60))
  }

  @Test func `a way that falls silent gives way to one that has sound after 60 ms`() {
    let gathered = GatheredSound()
    let mixer = ChannelMix(gathered, hold: .milliseconds(300), now: start)
    let voice = ChannelVoice(mixer)
    for step in 0..<100 {
      let now = at(Int64(step * 5))
      let isLost = step >= 40
      voice.write(
        Array(repeating: isLost ? 0 : 1, count: 240), frameCount: 240, by: .relay, now: now)
      if step >= 20 {
        voice.write(Array(repeating: 2, count: 240), frameCount: 240, by: .mesh, now: now)
      }
    }
    mixer.finish()
    let samples = gathered.samples
    let count = samples.count
    let heard = stride(from: 0, to: count, by: 240).map { Int(samples[$0]) }
    #expect(heard.filter { $0 == 1 }.count == 40)
    #expect((10...12).contains(heard.filter { $0 == 0 }.count))
    #expect(heard.last == 2)
  }
}

/// A sink that keeps all that it gets.
final class GatheredSound: AudioSink {
  let channelCount: Int
  private let state = Mutex((samples: [Int16](), finishes: 0))

  init(channels: Int = 1) { channelCount = channels }

  var samples: [Int16] { state.withLock { $0.samples } }
  var finishes: Int { state.withLock { $0.finishes } }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    let new = Array(samples[0..<(frameCount * channelCount)])
    state.withLock { $0.samples += new }
  }

  func finish() { state.withLock { $0.finishes += 1 } }
}
